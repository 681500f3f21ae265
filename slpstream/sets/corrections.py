"""An operator's corrections in the form in which they are stored: bound to games, not to times or numbers of sets.

A name is given to the player at a port in a certain game; from then on it follows the player to any port. So does a
seat, which is what people said about themselves; the operator's name comes before it. A score is stored as the
difference from the score counted at the time, so later games still add to it. Seats of people who were not known when a
game was over are those of its set only if that set goes on. A correction of a set that has not begun is bound to the
game before it. Corrections therefore keep their meaning when the sets are made again from the files.
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
    """In a crew battle: the stocks that a player leaves the game with, by player index in that game."""


class PlayerDetails(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Details of a player that operators give besides the name."""

    sponsor: str | None = None
    pronouns: str | None = None
    seed: int | None = None


class Seat(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The person at a port by their own account, for example from a phone."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None


class SetCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The stored correction of a set, in effect from a certain game on. Keys are player indices in that game."""

    names: dict[int, str] = {}
    score: dict[int, int] = {}
    """Points to add to the score of that player's side."""
    best_of: int | None = None
    details: dict[int, PlayerDetails] = {}
    round: str | None = None
    swapped: bool | None = None
    seats: dict[int, Seat] = {}
    crew_battle: CrewBattle | None = None
    seats_between: dict[int, Seat] = {}
    """Seats that players without one took after that game. If the next game begins another set by itself, they were
    those of people who came for that set."""


@prepared
class Corrections(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All stored corrections of one station."""

    games: dict[str, GameCorrection] = {}
    """By game id."""
    since: dict[str, SetCorrection] = {}
    """By the id of the newest game at the time of the correction."""
    after: dict[str, SetCorrection] = {}
    """A new set begins after the game with this id; the empty id stands for the beginning of the station."""
    people: dict[str, str] = {}
    """The operator's names for people who have a name in the replays, by the key that `person` returns."""
    details: dict[str, PlayerDetails] = {}
    """Details of those people, by the same key."""
    event: str | None = None
    casters: tuple[str, ...] = ()


NOTHING = GameCorrection()
EMPTY = SetCorrection()
NO_DETAILS = PlayerDetails()


def person(kind: str, name: str) -> str:
    """The key in `Corrections.people` of a person with a name in the replays."""
    return f"{kind}:{' '.join(name.split()).casefold()}"
