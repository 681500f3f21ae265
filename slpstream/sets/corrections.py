"""An operator's corrections, as they are kept: bound to games, never to times or to the numbers of sets.

A name is given to the player at a port in a certain game; from there on it follows the player, whatever the port. A
score is kept as the difference to the score that was counted at the time, so later games still add to it. A correction
of a set that has not begun is bound to the game before it. This way corrections keep their meaning when the sets are
made again from the files.
"""

from __future__ import annotations

import msgspec


class GameCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The correction of one game, as it is kept."""

    counts: bool | None = None
    winner: int | None = None
    """Player index in that game."""
    begins_set: bool | None = None


class SetCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The correction of a set from a certain game on, as it is kept. Keys are player indices in that game."""

    names: dict[int, str] = {}
    score: dict[int, int] = {}
    """Points to add to the score of that player's side."""
    best_of: int | None = None


class Corrections(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All corrections of one station, as they are kept."""

    games: dict[str, GameCorrection] = {}
    """By game id."""
    since: dict[str, SetCorrection] = {}
    """By the id of the newest game at the time of the correction."""
    after: dict[str, SetCorrection] = {}
    """A new set begins after the game with this id; the empty id stands for the beginning of the station."""
    people: dict[str, str] = {}
    """The operator's names for people whom the replays name; the keys are made by `person`."""


NOTHING = GameCorrection()
EMPTY = SetCorrection()


def decode(document: bytes) -> Corrections:
    """Decode corrections that were kept. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(document, type=Corrections)


def encode(corrections: Corrections) -> bytes:
    """Encode corrections in the form in which they are kept."""
    return msgspec.json.encode(corrections)


def person(kind: str, name: str) -> str:
    """The key in `Corrections.people` of a person whom the replays name."""
    return f"{kind}:{' '.join(name.split()).casefold()}"
