"""What an operator says, and where it is kept: bound to games, never to times or to numbers of sets.

A name is given to who sits at a port in a certain game; from there on it follows the player, whatever the port. A score
is kept as the difference to what was counted when it was given, so games that follow still add to it. What is
said of a set that has not begun is bound to the game before it. So corrections mean the same when the sets are made
again from the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

if TYPE_CHECKING:
    from slpstream.sets.grouping import Set

MAX_KEPT = 1000
"""Games and sets of a station of which something is kept; what was said first goes first."""

MAX_NAME = 60


class ImpossibleCorrection(Exception):
    """What was said is about nothing that there is: the reason, for people."""


# -- as it is kept -----------------------------------------------------------------------------------------------------


class GameCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Of one game."""

    counts: bool | None = None
    winner: int | None = None
    """Player index in that game."""
    begins_set: bool | None = None


class SetCorrection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Of a set, from a game on. Keys are player indices in that game."""

    names: dict[int, str] = {}
    score: dict[int, int] = {}
    """What is added to the score of the side of that player."""
    best_of: int | None = None


class Corrections(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All of one station."""

    games: dict[str, GameCorrection] = {}
    """By game id."""
    since: dict[str, SetCorrection] = {}
    """By the id of the newest game when it was said."""
    after: dict[str, SetCorrection] = {}
    """A new set begins behind the game with this id; behind none when it is empty."""
    people: dict[str, str] = {}
    """Operators' names of people whom the replays name: see `person`."""


NOTHING = GameCorrection()
EMPTY = SetCorrection()


def decode(document: bytes) -> Corrections:
    """As it was kept. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(document, type=Corrections)


def encode(corrections: Corrections) -> bytes:
    """To be kept."""
    return msgspec.json.encode(corrections)


# -- as it is said -----------------------------------------------------------------------------------------------------

PlayerIndex = Annotated[int, Meta(ge=0, le=3, description="Player index: the port, counted from 0.")]
_Key = Annotated[str, Meta(pattern="^[0-3]$")]
_Name = Annotated[str, Meta(max_length=MAX_NAME)]
_GameId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
BestOf = Annotated[int, Meta(ge=1, le=99)]


class GamePatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """What to say of one game; null takes it back."""

    counts: Annotated[bool | UnsetType | None, Meta(description="Whether it counts, whatever the rules say.")] = UNSET
    winner: Annotated[
        PlayerIndex | UnsetType | None, Meta(description="For whose side it counts; the port in that game, from 0.")
    ] = UNSET
    begins_set: Annotated[
        bool | UnsetType | None, Meta(description="Whether a set begins with it, whatever the rules say.")
    ] = UNSET


class SetPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """What to say of the newest set, in the manner of RFC 7396: what is left out stays, null takes it back."""

    names: Annotated[
        dict[_Key, _Name | None] | UnsetType | None, Meta(description="Names of players, by player index.")
    ] = UNSET
    score: Annotated[
        dict[_Key, Annotated[int, Meta(ge=0, le=99)] | None] | UnsetType | None,
        Meta(description="Games won as of now, by the player index of anybody of the side."),
    ] = UNSET
    best_of: Annotated[BestOf | UnsetType | None, Meta(description="Games of the set.")] = UNSET
    games: Annotated[
        dict[_GameId, GamePatch | None] | UnsetType | None, Meta(description="Single games, by their ids.")
    ] = UNSET
    new_set: Annotated[
        bool,
        Meta(description="A new set begins: with the game that is played, or else with the next one."),
    ] = False


def person(kind: str, name: str) -> str:
    """The key of somebody whom the replays name, in `Corrections.people`."""
    return f"{kind}:{' '.join(name.split()).casefold()}"


# -- what is said to what is kept ------------------------------------------------------------------------------------


def corrected(corrections: Corrections, patch: SetPatch, newest: Callable[[Corrections], Set]) -> Corrections:
    """The corrections with what was said now. `newest` answers with the newest set under some corrections.

    Raises `ImpossibleCorrection` when it is about a player or a game that is not there; then nothing of it holds.
    """
    if patch.games is not UNSET:
        corrections = _with_games(corrections, newest(corrections), patch.games)
    if patch.new_set:  # behind the games, so that what is taken back there is not the beginning of this set
        corrections = _with_new_set(corrections, newest(corrections))
    current = newest(corrections)
    if patch.names is not UNSET:
        corrections = _with_names(corrections, current, patch.names)
    if patch.score is not UNSET:
        corrections = _with_score(corrections, current, patch.score)
    if patch.best_of is not UNSET:
        corrections = _with_best_of(corrections, current, patch.best_of)
    return _bounded(corrections)


def _with_new_set(corrections: Corrections, current: Set) -> Corrections:
    """What was said of the set that would go on is not said of the new one."""
    last = current.last
    if last is None:
        return _replace(corrections, after={current.behind: EMPTY})
    if not last.in_progress:
        return _replace(corrections, after={last.game_id: EMPTY})
    if len(current.games) == 1 and current.behind in corrections.after:
        corrections = _replace(corrections, after={current.behind: EMPTY})
    said = msgspec.structs.replace(corrections.games.get(last.game_id, NOTHING), begins_set=True)
    return _replace(corrections, games={last.game_id: said}, since={last.game_id: EMPTY})


def _with_games(corrections: Corrections, current: Set, said: Mapping[str, GamePatch | None] | None) -> Corrections:
    known = {game.game_id: game for game in current.all_games}
    if said is None:
        return _replace(corrections, games={game.game_id: NOTHING for game in current.games})
    changed: dict[str, GameCorrection] = {}
    for game_id, patch in said.items():
        game = known.get(game_id)
        if game is None:
            raise ImpossibleCorrection(f"there is no game {game_id} in the newest sets of this station")
        if patch is None:
            changed[game_id] = NOTHING
            continue
        if isinstance(patch.winner, int) and all(player.index != patch.winner for player in game.players):
            raise ImpossibleCorrection(f"no player {patch.winner} in the game {game_id}")
        given = {
            name: value for name in ("counts", "winner", "begins_set") if (value := getattr(patch, name)) is not UNSET
        }
        changed[game_id] = msgspec.structs.replace(corrections.games.get(game_id, NOTHING), **given)
    return _replace(corrections, games=changed)


def _with_names(corrections: Corrections, current: Set, said: Mapping[str, str | None] | None) -> Corrections:
    given: Mapping[int, str | None] = {int(key): name for key, name in (said or {}).items()}
    if said is None:
        given = dict.fromkeys(member.index for member in current.members)
    for index, name in given.items():
        member = current.member(index)
        text = " ".join((name or "").split())
        if member is None:
            raise ImpossibleCorrection(f"no player {index} in this set")
        identity = current.identity(member)
        if identity is not None:
            corrections = _replace(corrections, people={identity: text})
        if identity is not None or not text:
            corrections = _without(corrections, current, "names", member.indices)
        else:  # what was said in earlier games stays: it tells who has changed ports
            entry = _entry(corrections, current)
            entry = msgspec.structs.replace(entry, names={**entry.names, index: text})
            corrections = _with_entry(corrections, current, entry)
    return corrections


def _with_score(corrections: Corrections, current: Set, said: Mapping[str, int | None] | None) -> Corrections:
    given: Mapping[int, int | None] = {int(key): score for key, score in (said or {}).items()}
    if said is None:
        given = dict.fromkeys(side.members[0].index for side in current.sides)
    for index, score in given.items():
        side = current.side(index)
        if side is None:
            raise ImpossibleCorrection(f"no player {index} in this set")
        sat = {
            place: frozenset(i for member in side.members for i in member.indices.get(place, ()))
            for place in current.places
        }
        corrections = _without(corrections, current, "score", sat)
        if score is not None and score != side.won:
            entry = _entry(corrections, current)
            entry = msgspec.structs.replace(entry, score={**entry.score, index: score - side.won})
            corrections = _with_entry(corrections, current, entry)
    return corrections


def _with_best_of(corrections: Corrections, current: Set, said: int | None) -> Corrections:
    for kind, key in current.places:
        entry = getattr(corrections, kind).get(key, EMPTY)
        corrections = _replace(corrections, **{kind: {key: msgspec.structs.replace(entry, best_of=None)}})
    if said is not None:
        entry = msgspec.structs.replace(_entry(corrections, current), best_of=said)
        corrections = _with_entry(corrections, current, entry)
    return corrections


Positions = Mapping[tuple[str, str], frozenset[int]]


def _without(corrections: Corrections, current: Set, what: str, indices: Positions) -> Corrections:
    """Takes back what was said of a player in this set: `indices` is where the player sat, at each place of it."""
    for kind, key in current.places:
        entry = getattr(corrections, kind).get(key)
        if entry is not None:
            sat = indices.get((kind, key), frozenset())
            left = {index: value for index, value in getattr(entry, what).items() if index not in sat}
            corrections = _replace(corrections, **{kind: {key: msgspec.structs.replace(entry, **{what: left})}})
    return corrections


def _entry(corrections: Corrections, current: Set) -> SetCorrection:
    kind, key = current.place
    entry: SetCorrection = getattr(corrections, kind).get(key, EMPTY)
    return entry


def _with_entry(corrections: Corrections, current: Set, entry: SetCorrection) -> Corrections:
    kind, key = current.place
    return _replace(corrections, **{kind: {key: entry}})


def _replace(corrections: Corrections, **changes: Mapping[str, Any]) -> Corrections:
    """With other values under some keys; what says nothing goes, but for the places where a set begins."""
    new: dict[str, dict[str, Any]] = {}
    for name, entries in changes.items():
        merged = {**getattr(corrections, name), **entries}
        new[name] = {
            key: value for key, value in merged.items() if name == "after" or value not in (NOTHING, EMPTY, "")
        }
    return msgspec.structs.replace(corrections, **new)


Value = TypeVar("Value")


def _bounded(corrections: Corrections) -> Corrections:
    def newest(entries: dict[str, Value]) -> dict[str, Value]:
        return dict(list(entries.items())[-MAX_KEPT:])

    return Corrections(*(newest(getattr(corrections, name)) for name in Corrections.__struct_fields__))
