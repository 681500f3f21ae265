"""The meaning of a query, which is a tree of conditions on `slpstream.model.game_facts.GameFacts`."""

from __future__ import annotations

from typing import Literal, NamedTuple

Scope = Literal["all", "names", "lost", "won"]
"""Which words are searched: all of them, or the names of all players, of losers, or of winners."""


class Has(NamedTuple):
    """The game has this term, or one that begins with it."""

    term: str


class Says(NamedTuple):
    """One of the lines of the words in the scope contains a text. With `whole`, it has to be equal to the text."""

    text: str
    scope: Scope = "all"
    whole: bool = False


class Between(NamedTuple):
    """A number is within bounds (both included), or isn't known."""

    column: Literal["frames", "began_ms"]
    low: int | None = None
    high: int | None = None


class Flagged(NamedTuple):
    """The game has one of these flags."""

    flags: int


class AllOf(NamedTuple):
    """All parts hold."""

    parts: tuple[Condition, ...]


class AnyOf(NamedTuple):
    """At least one part holds."""

    parts: tuple[Condition, ...]


class Not(NamedTuple):
    """The part doesn't hold."""

    part: Condition


Condition = Has | Says | Between | Flagged | AllOf | AnyOf | Not


def any_of(parts: list[Condition]) -> Condition:
    """Return the condition that one of the parts holds."""
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))
