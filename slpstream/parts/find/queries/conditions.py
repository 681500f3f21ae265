"""The meaning of a query: a tree of conditions on `slpstream.model.game_facts.GameFacts`."""

from __future__ import annotations

from typing import Literal, NamedTuple

Scope = Literal["all", "names", "lost", "won"]
"""The words that are searched: all of them, or the names of all players, of losers, or of winners."""


class Has(NamedTuple):
    """The game has a term, or one that begins with it."""

    term: str


class Says(NamedTuple):
    """A line of the words in the scope contains a text, or is equal to it (`whole`)."""

    text: str
    scope: Scope = "all"
    whole: bool = False


class Between(NamedTuple):
    """A number is within bounds, both included, or not known."""

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
    """The part does not hold."""

    part: Condition


Condition = Has | Says | Between | Flagged | AllOf | AnyOf | Not


def any_of(parts: list[Condition]) -> Condition:
    """The condition that one of the parts holds."""
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))
