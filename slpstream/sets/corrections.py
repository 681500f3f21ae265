"""The corrections of an operator in the form in which they are stored. They refer to games, and not to times or the
numbers of sets.

For example, a name is given to the player at some port in a certain game. From then on, it follows the player, no
matter at which port. The same is true for a seat, which is the name that people have entered for themselves, but if
there is a name from the operator, it takes precedence. For a score, we store the difference to the score that was
counted at that time, so later games still add to it. If someone we don't know takes a seat after a game, this seat
only belongs to the set if the set continues. If the set that is corrected has not begun yet, the correction refers to
the game before it. All of this makes sure that corrections keep their meaning when we compute the sets again from the
files.
"""

from __future__ import annotations

import msgspec

from slpstream.model.prepared import prepared
from slpstream.sets.crews import CrewBattle


class GameCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The correction of one game, as it is stored."""

    counts: bool | None = None
    winner: int | None = None
    """Player index in that game."""
    begins_set: bool | None = None
    sides: tuple[int, ...] | None = None
    """The place in the set of each side of the game, in the order of `PlayedGame.sides`."""
    stocks: dict[int, int] = {}
    """In a crew battle: the stocks of the players at the end of the game, by player index in that game."""


class PlayerDetails(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The details that operators can enter about a player in addition to the name."""

    sponsor: str | None = None
    pronouns: str | None = None
    seed: int | None = None


class Seat(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The person at a port. People enter this themselves, for example on a phone."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None


class SetCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The correction of a set, as it is stored.

    It takes effect in a certain game. Keys are player indices in that game.
    """

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
    """Return the key for `Corrections.people` that belongs to a person who has this name in replays."""
    return f"{kind}:{' '.join(name.split()).casefold()}"
