"""An operator's corrections as they are stored: bound to games, not to times or numbers of sets.

A name is given to the player at a port in a certain game; from then on it follows the player to any port. So does a
seat, the name that people gave themselves; the operator's name takes precedence. A score is stored as the difference
from the score counted at the time, so later games still add to it. Seats that were taken after a game, by people who
were not known, belong to its set only if that set continues. A correction of a set that has not begun is bound to the
game before it. Corrections therefore keep their meaning when the sets are computed again from the files.
"""

from __future__ import annotations

import msgspec

from slpstream.model.prepared import prepared
from slpstream.sets.crews import CrewBattle


class GameCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The stored correction of one game."""

    counts: bool | None = None
    winner: int | None = None
    """Player index in that game."""
    begins_set: bool | None = None
    sides: tuple[int, ...] | None = None
    """The place in the set of each side of the game, in the order of `PlayedGame.sides`."""
    stocks: dict[int, int] = {}
    """In a crew battle: the stocks of the players at the end of the game, by player index in that game."""


class PlayerDetails(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Details of a player that operators enter in addition to the name."""

    sponsor: str | None = None
    pronouns: str | None = None
    seed: int | None = None


class Seat(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The person at a port, as entered by that person, for example on a phone."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None


class SetCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The stored correction of a set, in effect from a certain game on. Keys are player indices in that game."""

    names: dict[int, str] = {}
    score: dict[int, int] = {}
    """Points to add to the scores of the sides of these players."""
    best_of: int | None = None
    details: dict[int, PlayerDetails] = {}
    round: str | None = None
    swapped: bool | None = None
    seats: dict[int, Seat] = {}
    crew_battle: CrewBattle | None = None
    seats_between: dict[int, Seat] = {}
    """Seats that players without a seat took after that game. If the next game begins another set without an operator's
    decision, they belong to that set."""


@prepared
class Corrections(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All stored corrections of one station."""

    games: dict[str, GameCorrection] = {}
    """By game id."""
    since: dict[str, SetCorrection] = {}
    """By the id of the game that was newest when the correction was made."""
    after: dict[str, SetCorrection] = {}
    """A new set begins after the game with the id of the key. An empty id stands for the beginning of the station."""
    people: dict[str, str] = {}
    """The operator's names for people who have a name in the replays, by the keys that `person` returns."""
    details: dict[str, PlayerDetails] = {}
    """The details of these people, by the same keys."""
    event: str | None = None
    casters: tuple[str, ...] = ()


NOTHING = GameCorrection()
EMPTY = SetCorrection()
NO_DETAILS = PlayerDetails()


def person(kind: str, name: str) -> str:
    """Return the key in `Corrections.people` of a person with a name in the replays."""
    return f"{kind}:{' '.join(name.split()).casefold()}"
