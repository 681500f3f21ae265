"""A parsed query for situations, which consists of the players and of steps with conditions.

These are values without any behaviour.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from slpstream.formats.slippi.action_states import StateSet

FRAMES_PER_SECOND = 60
DEFAULT_WITHIN_FRAMES = 300
"""The default time limit between a step and the previous one, in frames."""
KILL_FRAMES = 600
"""A hit kills if the opponent begins to die at most this long after it."""

Whose = Literal["own", "opponent"]
PlaceName = Literal["ground", "air", "offstage", "onstage", "platform"]
Measure = Literal["percent", "stocks", "x", "y", "frame", "time", "swing"]


class Name(msgspec.Struct, frozen=True):
    """One way to name a player. This can be by `character` (external id), `port` (1 to 4), connect `code`, or `text`,
    which is a name, a tag or a code.

    All of them are optional. The code and the text are casefolded.
    """

    character: int | None = None
    port: int | None = None
    code: str | None = None
    text: str | None = None


Names = tuple[tuple[Name, ...], ...]
"""Alternatives. Each consists of names, all of which have to match. An empty one matches any player."""


class InStates(msgspec.Struct, frozen=True):
    """The player is in one of these action states."""

    states: StateSet


class Starts(msgspec.Struct, frozen=True):
    """The player begins one of these action states."""

    states: StateSet


class Lands(msgspec.Struct, frozen=True):
    """The player hits the opponent with one of these moves, or with any move (`None`)."""

    moves: frozenset[int] | None


class Grabs(msgspec.Struct, frozen=True):
    """The player grabs the opponent."""


class Kills(msgspec.Struct, frozen=True):
    """The player hits the opponent, who dies from it."""


class At(msgspec.Struct, frozen=True):
    """The player is at this place."""

    place: PlaceName


class Bound(msgspec.Struct, frozen=True):
    """A number is between two bounds, or beyond a single one."""

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
    """The condition doesn't hold."""

    part: Condition


class AnyOf(msgspec.Struct, frozen=True):
    """At least one of the conditions holds."""

    parts: tuple[Condition, ...]


class AllOf(msgspec.Struct, frozen=True):
    """All of the conditions hold."""

    parts: tuple[Condition, ...]


Condition = About | Not | AnyOf | AllOf


class Step(msgspec.Struct, frozen=True):
    """One step. It happens in the frame in which its condition has held for `held_frames` frames."""

    condition: Condition
    held_frames: int = 1
    within_frames: float = DEFAULT_WITHIN_FRAMES
    """The time limit since the previous step, in frames. If it is infinite, there is no limit. It isn't used in the
    first step."""


class Query(msgspec.Struct, frozen=True):
    """A query, consisting of the player, the opponent, and the steps."""

    player: Names
    opponent: Names
    steps: tuple[Step, ...]
    swing: Bound | None = None
    """By how many points the situation has to change the player's chance to win."""

    @property
    def asks_for_kills(self) -> frozenset[Whose]:
        """The players whose hits can only be judged once we know whether they kill."""
        abouts = (about for step in self.steps for about in terms_of(step.condition))
        return frozenset(about.whose for about in abouts if isinstance(about.term, Kills))


def terms_of(condition: Condition) -> list[About]:
    """Return all terms of a condition, in the order of the query."""
    if isinstance(condition, About):
        return [condition]
    if isinstance(condition, Not):
        return terms_of(condition.part)
    return [about for part in condition.parts for about in terms_of(part)]
