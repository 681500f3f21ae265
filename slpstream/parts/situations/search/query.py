"""A parsed query for situations: the players, and steps of conditions. Values without behaviour."""

from __future__ import annotations

from typing import Literal

import msgspec

from slpstream.formats.slippi.action_states import StateSet

FRAMES_PER_SECOND = 60
DEFAULT_WITHIN_FRAMES = 300
"""Default time limit between a step and the previous step, in frames."""
KILL_FRAMES = 600
"""A hit kills if the opponent begins to die at most this long after it."""

Whose = Literal["own", "opponent"]
PlaceName = Literal["ground", "air", "offstage", "onstage", "platform"]
Measure = Literal["percent", "stocks", "x", "y", "frame", "time"]


class Name(msgspec.Struct, frozen=True):
    """One way to name a player: by `character` (external id), `port` (1 to 4), connect `code` or `text`, which is a
    name, a tag or a code. All of them are optional; the code and the text are casefolded."""

    character: int | None = None
    port: int | None = None
    code: str | None = None
    text: str | None = None


Names = tuple[tuple[Name, ...], ...]
"""Alternatives. Each one has names that must all match. Empty matches any player."""


class InStates(msgspec.Struct, frozen=True):
    """The player is in one of these action states."""

    states: StateSet


class Starts(msgspec.Struct, frozen=True):
    """The player begins one of these action states."""

    states: StateSet


class Lands(msgspec.Struct, frozen=True):
    """The player hits the opponent, with one of these moves; `None` for any."""

    moves: frozenset[int] | None


class Grabs(msgspec.Struct, frozen=True):
    """The player grabs the opponent."""


class Kills(msgspec.Struct, frozen=True):
    """The player hits the opponent, and the opponent dies from it."""


class At(msgspec.Struct, frozen=True):
    """The player is at a place."""

    place: PlaceName


class Bound(msgspec.Struct, frozen=True):
    """A number is between two bounds, or beyond one bound."""

    measure: Measure
    low: float | None = None
    high: float | None = None
    low_included: bool = True
    high_included: bool = True


Term = InStates | Starts | Lands | Grabs | Kills | At | Bound


class About(msgspec.Struct, frozen=True):
    """A term about the player (`own`) or about the opponent."""

    whose: Whose
    term: Term


class Not(msgspec.Struct, frozen=True):
    """The condition does not hold."""

    part: Condition


class AnyOf(msgspec.Struct, frozen=True):
    """At least one of the conditions holds."""

    parts: tuple[Condition, ...]


class AllOf(msgspec.Struct, frozen=True):
    """All conditions hold."""

    parts: tuple[Condition, ...]


Condition = About | Not | AnyOf | AllOf


class Step(msgspec.Struct, frozen=True):
    """One step: it happens in the frame in which its condition has held for `held_frames` frames."""

    condition: Condition
    held_frames: int = 1
    within_frames: float = DEFAULT_WITHIN_FRAMES
    """Time limit since the previous step, in frames; infinite for no limit. Not used in the first step."""


class Query(msgspec.Struct, frozen=True):
    """A query: the player, the opponent, and the steps."""

    player: Names
    opponent: Names
    steps: tuple[Step, ...]

    @property
    def asks_for_kills(self) -> frozenset[Whose]:
        """The players whose hits can be judged only after their kills are decided."""
        abouts = (about for step in self.steps for about in terms_of(step.condition))
        return frozenset(about.whose for about in abouts if isinstance(about.term, Kills))


def terms_of(condition: Condition) -> list[About]:
    """All terms of a condition, in the order of the query."""
    if isinstance(condition, About):
        return [condition]
    if isinstance(condition, Not):
        return terms_of(condition.part)
    return [about for part in condition.parts for about in terms_of(part)]
