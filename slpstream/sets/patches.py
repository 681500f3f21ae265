"""Changes that an operator makes to the newest set, and the corrections that come of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from slpstream.sets.corrections import EMPTY, NOTHING, Corrections, GameCorrection, SetCorrection
from slpstream.sets.grouping import Set

MAX_KEPT = 1000
"""Corrections of games and of sets that are kept for each station. The oldest are dropped first."""

MAX_NAME = 60

PlayerIndex = Annotated[int, Meta(ge=0, le=3, description="Player index: the port, counted from 0.")]
_Key = Annotated[str, Meta(pattern="^[0-3]$")]
_Name = Annotated[str, Meta(max_length=MAX_NAME)]
_GameId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
BestOf = Annotated[int, Meta(ge=1, le=99)]


class GamePatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A change to the correction of one game; null removes a value."""

    counts: Annotated[bool | UnsetType | None, Meta(description="Whether the game counts, whatever the rules say.")] = (
        UNSET
    )
    winner: Annotated[
        PlayerIndex | UnsetType | None,
        Meta(description="The game counts for the side of this player: the port in that game, from 0."),
    ] = UNSET
    begins_set: Annotated[
        bool | UnsetType | None, Meta(description="Whether a set begins with the game, whatever the rules say.")
    ] = UNSET


class SetPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A change to the newest set, as in RFC 7396: keys that are left out stay, null removes a value."""

    names: Annotated[
        dict[_Key, _Name | None] | UnsetType | None, Meta(description="Names of players, by player index.")
    ] = UNSET
    score: Annotated[
        dict[_Key, Annotated[int, Meta(ge=0, le=99)] | None] | UnsetType | None,
        Meta(description="Games won as of now, by the player index of any member of the side."),
    ] = UNSET
    best_of: Annotated[BestOf | UnsetType | None, Meta(description="Games of the set.")] = UNSET
    games: Annotated[
        dict[_GameId, GamePatch | None] | UnsetType | None, Meta(description="Single games, by their ids.")
    ] = UNSET
    new_set: Annotated[
        bool,
        Meta(description="Begin a new set: with the game that is being played, or else with the next one."),
    ] = False


class ImpossibleCorrection(Exception):
    """A correction is about a player or a game that does not exist. The message names it."""


def corrected(corrections: Corrections, patch: SetPatch, newest: Callable[[Corrections], Set]) -> Corrections:
    """The corrections after a change. `newest` returns the newest set under some corrections.

    Raises `ImpossibleCorrection` when the change is about a player or a game that does not exist; then none of it is
    made.
    """
    if patch.games is not UNSET:
        corrections = _with_games(corrections, newest(corrections), patch.games)
    if patch.new_set:  # after the games, so that removing their corrections does not remove the beginning of this set
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
    """Begin a new set, which takes over no corrections of the set before it."""
    last = current.last
    if last is None:
        return _replace(corrections, after={current.previous_game_id: EMPTY})
    if not last.in_progress:
        return _replace(corrections, after={last.game_id: EMPTY})
    if len(current.games) == 1 and current.previous_game_id in corrections.after:
        corrections = _replace(corrections, after={current.previous_game_id: EMPTY})
    begins = msgspec.structs.replace(corrections.games.get(last.game_id, NOTHING), begins_set=True)
    return _replace(corrections, games={last.game_id: begins}, since={last.game_id: EMPTY})


def _with_games(corrections: Corrections, current: Set, patches: Mapping[str, GamePatch | None] | None) -> Corrections:
    known = {game_id: game for game in current.all_games for game_id in game.ids}
    if patches is None:
        return _replace(corrections, games={game.game_id: NOTHING for game in current.games})
    changed: dict[str, GameCorrection] = {}
    for patched_id, patch in patches.items():
        game = known.get(patched_id)
        if game is None:
            raise ImpossibleCorrection(f"there is no game {patched_id} in the newest sets of this station")
        game_id = game.game_id  # corrections of a sudden death are those of its game
        if patch is None:
            changed[game_id] = NOTHING
            continue
        if isinstance(patch.winner, int) and all(player.index != patch.winner for player in game.players):
            raise ImpossibleCorrection(f"no player {patch.winner} in the game {game_id}")
        changes = {
            name: value for name in ("counts", "winner", "begins_set") if (value := getattr(patch, name)) is not UNSET
        }
        before = changed.get(game_id, corrections.games.get(game_id, NOTHING))
        changed[game_id] = msgspec.structs.replace(before, **changes)
    return _replace(corrections, games=changed)


def _with_names(corrections: Corrections, current: Set, patch: Mapping[str, str | None] | None) -> Corrections:
    names: Mapping[int, str | None] = {int(key): name for key, name in (patch or {}).items()}
    if patch is None:
        names = dict.fromkeys(member.index for member in current.members)
    for index, name in names.items():
        member = current.member(index)
        text = " ".join((name or "").split())
        if member is None:
            raise ImpossibleCorrection(f"no player {index} in this set")
        identity = current.identity(member)
        if identity is not None:
            corrections = _replace(corrections, people={identity: text})
        if identity is not None or not text:
            corrections = _without(corrections, current, "names", member.indices)
        else:  # names from earlier games stay: they show which players have changed ports
            entry = _entry(corrections, current)
            entry = msgspec.structs.replace(entry, names={**entry.names, index: text})
            corrections = _with_entry(corrections, current, entry)
    return corrections


def _with_score(corrections: Corrections, current: Set, patch: Mapping[str, int | None] | None) -> Corrections:
    scores: Mapping[int, int | None] = {int(key): score for key, score in (patch or {}).items()}
    if patch is None:
        scores = dict.fromkeys(side.members[0].index for side in current.sides)
    for index, score in scores.items():
        side = current.side(index)
        if side is None:
            raise ImpossibleCorrection(f"no player {index} in this set")
        indices = {
            place: frozenset(i for member in side.members for i in member.indices.get(place, ()))
            for place in current.places
        }
        corrections = _without(corrections, current, "score", indices)
        if score is not None and score != side.won:
            entry = _entry(corrections, current)
            entry = msgspec.structs.replace(entry, score={**entry.score, index: score - side.won})
            corrections = _with_entry(corrections, current, entry)
    return corrections


def _with_best_of(corrections: Corrections, current: Set, best_of: int | None) -> Corrections:
    for kind, key in current.places:
        entry = getattr(corrections, kind).get(key, EMPTY)
        corrections = _replace(corrections, **{kind: {key: msgspec.structs.replace(entry, best_of=None)}})
    if best_of is not None:
        entry = msgspec.structs.replace(_entry(corrections, current), best_of=best_of)
        corrections = _with_entry(corrections, current, entry)
    return corrections


_Indices = Mapping[tuple[str, str], frozenset[int]]
"""Player indices by place in the set where corrections can be stored."""


def _without(corrections: Corrections, current: Set, field: str, indices: _Indices) -> Corrections:
    """Remove the `names` or the `score` of a player from the corrections of a set.

    `indices` are the indices that the player had in the games of the set.
    """
    for kind, key in current.places:
        entry = getattr(corrections, kind).get(key)
        if entry is not None:
            removed = indices.get((kind, key), frozenset())
            kept = {index: value for index, value in getattr(entry, field).items() if index not in removed}
            corrections = _replace(corrections, **{kind: {key: msgspec.structs.replace(entry, **{field: kept})}})
    return corrections


def _entry(corrections: Corrections, current: Set) -> SetCorrection:
    kind, key = current.place
    entry: SetCorrection = getattr(corrections, kind).get(key, EMPTY)
    return entry


def _with_entry(corrections: Corrections, current: Set, entry: SetCorrection) -> Corrections:
    kind, key = current.place
    return _replace(corrections, **{kind: {key: entry}})


def _replace(corrections: Corrections, **changes: Mapping[str, Any]) -> Corrections:
    """Replace the values of some keys.

    Empty values are dropped, except in `after`, where the key alone means that a set begins.
    """
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
