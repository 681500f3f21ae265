"""`context.json` describes a set in a zip of its replays. It has the same form as in replay-manager-for-slippi.

Among other things, it contains the score before each replay, so that a program can show this together with the replay.
This module doesn't do any I/O.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

FIRST_MEMBER = "context.json"
_FRAMES_PER_MS = 0.05994
_FRAMES_BEFORE_0 = 124


class Entrant(NamedTuple):
    """One of the two sides of a set. Each of the lists has one value for each player."""

    names: Sequence[str]
    sponsors: Sequence[str]
    pronouns: Sequence[str]
    characters: Sequence[Sequence[str]]
    """The characters of each player, in the order of their first use."""


class ReplayScore(NamedTuple):
    """Everything that the document tells you about one replay."""

    ports: Sequence[Sequence[int]]
    """For each side, the port of each player in this replay."""
    before: Sequence[int]
    """The score of each side before it."""
    last_frame: int


def duration_ms(last_frame: int) -> int:
    """Return how long a replay is, in the form in which it is written to the document."""
    return math.ceil((last_frame + _FRAMES_BEFORE_0) / _FRAMES_PER_MS)


def context(
    sides: Sequence[Entrant],
    replays: Sequence[ReplayScore],
    final: Sequence[int],
    *,
    start_ms: int,
    entrants: Sequence[int] = (0, 1),
    bracket: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the document. In `sides` and `final`, the side that had the lower port in the first game must come first.

    If the set belongs to a bracket, `entrants` tells us which of the `sides` are the bracket's first and second
    entrant. `bracket` contains all members that the bracket adds, such as `startgg`.
    """

    def slots(ports: Sequence[Sequence[int]], score: Sequence[int]) -> dict[str, Any]:
        return {
            "slots": [
                {
                    "displayNames": list(side.names),
                    "ports": list(ports[place]),
                    "prefixes": list(side.sponsors),
                    "pronouns": list(side.pronouns),
                    "score": score[place],
                }
                for place, side in enumerate(sides)
            ]
        }

    return {
        "bestOf": 2 * max(final) - 1,
        "durationMs": sum(duration_ms(replay.last_frame) for replay in replays),
        "startMs": start_ms,
        "scores": [slots(replay.ports, replay.before) for replay in replays],
        "finalScore": slots(replays[-1].ports, final),
        "players": {
            f"entrant{number}": [
                {"name": name, "characters": list(characters)}
                for name, characters in zip(sides[place].names, sides[place].characters, strict=True)
            ]
            for number, place in enumerate(entrants, 1)
        },
        **(bracket or {}),
    }
