"""Turn the changes that an operator makes to the newest set into corrections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from slpstream.model.prepared import prepared
from slpstream.sets.corrections import (
    EMPTY,
    NO_DETAILS,
    NOTHING,
    Corrections,
    GameCorrection,
    PlayerDetails,
    Seat,
    SetCorrection,
)
from slpstream.sets.crews import CREWS, CrewBattle
from slpstream.sets.games import PlayedGame, PlayerIndex
from slpstream.sets.grouping import Member, Set

MAX_KEPT = 1000
"""Maximum number of corrections of games and of sets per station. The oldest are dropped first."""

MAX_NAME = 60
MAX_SHORT = 40
MAX_CASTERS = 8

_Key = Annotated[str, Meta(pattern="^[0-3]$")]
_Name = Annotated[str, Meta(max_length=MAX_NAME)]
_Short = Annotated[str, Meta(max_length=MAX_SHORT)]
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
    sides: Annotated[
        dict[_Key, Annotated[int, Meta(ge=0, le=3)]] | UnsetType | None,
        Meta(
            description="The place of players in the `sides` of the set, by player index in that game. Players who are "
            "left out get the places that remain."
        ),
    ] = UNSET

    stocks: Annotated[
        dict[_Key, Annotated[int, Meta(ge=0, le=99)] | None] | UnsetType | None,
        Meta(
            description="In a crew battle: the stocks that players leave the game with, by player index in that game. "
            "null withdraws the correction of a player."
        ),
    ] = UNSET


class PlayerPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A change to the details of one player; null removes a value."""

    sponsor: Annotated[
        _Short | UnsetType | None, Meta(description="The sponsor or team that goes before the name.")
    ] = UNSET
    pronouns: _Short | UnsetType | None = UNSET
    seed: Annotated[
        Annotated[int, Meta(ge=1, le=9999)] | UnsetType | None, Meta(description="Seed in the event, from 1.")
    ] = UNSET


class SeatPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """The person at a port, as entered by that person."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    sponsor: _Short | None = None
    pronouns: _Short | None = None


@prepared
class SetPatch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """A change to the newest set, as in RFC 7396: values of omitted keys stay, null removes a value."""

    names: Annotated[
        dict[_Key, _Name | None] | UnsetType | None, Meta(description="Names of players, by player index.")
    ] = UNSET
    score: Annotated[
        dict[_Key, Annotated[int, Meta(ge=0, le=999)] | None] | UnsetType | None,
        Meta(
            description="Games won as of now, by the player index of any member of the side; in a crew battle the "
            "stocks that its crew has left."
        ),
    ] = UNSET
    players: Annotated[
        dict[_Key, PlayerPatch | None] | UnsetType | None,
        Meta(description="Sponsor, pronouns and seed of players, by player index."),
    ] = UNSET
    seats: Annotated[
        dict[_Key, SeatPatch | None] | UnsetType | None,
        Meta(
            description="The people at the ports by their own account, as from their phones, by player index. The "
            "operator's `names` come before it."
        ),
    ] = UNSET
    best_of: Annotated[BestOf | UnsetType | None, Meta(description="Games of the set.")] = UNSET
    crew_battle: Annotated[
        CrewBattle | UnsetType | None,
        Meta(description="Makes the set a crew battle between two players at a time, from its first game on."),
    ] = UNSET
    round: Annotated[_Name | UnsetType | None, Meta(description="Round of the set, such as `Winners Final`.")] = UNSET
    event: Annotated[
        _Name | UnsetType | None, Meta(description="Event. It stays for all further sets of the station.")
    ] = UNSET
    casters: Annotated[
        Annotated[list[_Name], Meta(max_length=MAX_CASTERS)] | UnsetType | None,
        Meta(description="Commentators. They stay for all further sets of the station."),
    ] = UNSET
    swapped: Annotated[
        bool | UnsetType | None, Meta(description="Whether pictures show the sides in reverse order, left and right.")
    ] = UNSET
    games: Annotated[
        dict[_GameId, GamePatch | None] | UnsetType | None, Meta(description="Single games, by their ids.")
    ] = UNSET
    new_set: Annotated[
        bool,
        Meta(description="Begin a new set: with the game that is being played, or else with the next one."),
    ] = False


class ImpossibleCorrection(Exception):
    """Raised if a correction is about a player or a game that doesn't exist. You find its name in the message."""


def corrected(corrections: Corrections, patch: SetPatch, newest: Callable[[Corrections], Set]) -> Corrections:
    """Return the corrections after a change. You have to pass a function `newest` that returns the newest set, given
    some corrections.

    Raises `ImpossibleCorrection` if the change is about a player or a game that doesn't exist.
    """
    return corrected_set(regrouped(corrections, patch, newest), patch, newest)


def regrouped(corrections: Corrections, patch: SetPatch, newest: Callable[[Corrections], Set]) -> Corrections:
    """Return the corrections after the first half of a change, which is about games and whether a new set begins.

    Raises `ImpossibleCorrection` if that isn't possible.
    """
    if patch.games is not UNSET:
        corrections = _with_games(corrections, newest(corrections), patch.games)
    if patch.new_set:  # after the games, so that removing their corrections does not remove the beginning of this set
        corrections = _with_new_set(corrections, newest(corrections))
    return _bounded(corrections)


def corrected_set(corrections: Corrections, patch: SetPatch, newest: Callable[[Corrections], Set]) -> Corrections:
    """Return the corrections after the second half of a change, which is about the set and its players.

    Raises `ImpossibleCorrection` if that isn't possible.
    """
    current = newest(corrections)
    if patch.crew_battle is not UNSET:
        if patch.crew_battle is not None and any(len(side.members) > 1 for side in current.sides):
            raise ImpossibleCorrection("the set has teams: in a crew battle one player of each crew plays at a time")
        if patch.crew_battle is not None and len(current.sides) != CREWS:
            raise ImpossibleCorrection(f"the set has {len(current.sides)} sides: a crew battle has two")
        corrections = _with_value(corrections, current, "crew_battle", patch.crew_battle)
        current = newest(corrections)
    if patch.names is not UNSET:
        corrections = _with_names(corrections, current, patch.names)
    if patch.players is not UNSET:
        corrections = _with_players(corrections, current, patch.players)
    if patch.seats is not UNSET:
        corrections = _with_seats(corrections, current, patch.seats)
    if patch.score is not UNSET:
        corrections = _with_score(corrections, current, patch.score)
    if patch.best_of is not UNSET:
        corrections = _with_value(corrections, current, "best_of", patch.best_of)
    if patch.round is not UNSET:
        corrections = _with_value(corrections, current, "round", _one_line(patch.round) or None)
    if patch.swapped is not UNSET:
        corrections = _with_value(corrections, current, "swapped", patch.swapped or None)
    if patch.event is not UNSET:
        corrections = msgspec.structs.replace(corrections, event=_one_line(patch.event) or None)
    if patch.casters is not UNSET:
        casters = tuple(text for name in patch.casters or () if (text := _one_line(name)))
        corrections = msgspec.structs.replace(corrections, casters=casters)
    return _bounded(corrections)


def _with_new_set(corrections: Corrections, current: Set) -> Corrections:
    """Begin a new set. It doesn't inherit any corrections from the set before it."""
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
        game_id = game.game_id  # the corrections of a sudden death belong to its game
        if patch is None:
            changed[game_id] = NOTHING
            continue
        if isinstance(patch.winner, int) and all(player.index != patch.winner for player in game.players):
            raise ImpossibleCorrection(f"no player {patch.winner} in the game {game_id}")
        changes: dict[str, Any] = {
            name: value for name in ("counts", "winner", "begins_set") if (value := getattr(patch, name)) is not UNSET
        }
        if patch.sides is not UNSET:
            changes["sides"] = None if patch.sides is None else _places(game, patch.sides)
        if patch.stocks is not UNSET:
            known_stocks = changed.get(game_id, corrections.games.get(game_id, NOTHING)).stocks
            changes["stocks"] = _stocks(game, known_stocks, patch.stocks)
        before = changed.get(game_id, corrections.games.get(game_id, NOTHING))
        changed[game_id] = msgspec.structs.replace(before, **changes)
    return _replace(corrections, games=changed)


def _places(game: PlayedGame, sides: Mapping[str, int]) -> tuple[int, ...]:
    """Return the place of each side of a game in the set.

    Sides without a named player get those places that are left.
    """
    given: list[int | None] = []
    for team in game.sides():
        places = {place for player in team if (place := sides.get(str(player.index))) is not None}
        if len(places) > 1:
            raise ImpossibleCorrection(f"the players of a team in the game {game.game_id} are on different sides")
        given.append(places.pop() if places else None)
    remaining = [place for place in range(len(given)) if place not in given]
    found = tuple(place if place is not None else remaining.pop(0) if remaining else -1 for place in given)
    unknown = [key for key in sides if all(player.index != int(key) for player in game.players)]
    if unknown:
        raise ImpossibleCorrection(f"no player {unknown[0]} in the game {game.game_id}")
    if sorted(found) != list(range(len(found))):
        raise ImpossibleCorrection(
            f"expected a side of its own, from 0 to {len(found) - 1}, for each side of the game {game.game_id}"
        )
    return found


def _stocks(game: PlayedGame, known: Mapping[int, int], patch: Mapping[str, int | None] | None) -> dict[int, int]:
    """Return how many stocks players have left after a game, according to the operator.

    Raises `ImpossibleCorrection` if one of the players isn't in the game.
    """
    if patch is None:
        return {}
    unknown = [key for key in patch if all(player.index != int(key) for player in game.players)]
    if unknown:
        raise ImpossibleCorrection(f"no player {unknown[0]} in the game {game.game_id}")
    merged = {**known, **{int(key): stocks for key, stocks in patch.items()}}
    return {index: stocks for index, stocks in merged.items() if stocks is not None}


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _with_names(corrections: Corrections, current: Set, patch: Mapping[str, str | None] | None) -> Corrections:
    names: Mapping[int, str | None] = {int(key): name for key, name in (patch or {}).items()}
    if patch is None:
        names = dict.fromkeys(member.index for member in current.members)
    for index, name in names.items():
        member = _member(current, index)
        text = _one_line(name)
        if not text and not member.name:  # the seat's name is shown
            corrections = _without_seat(corrections, current, member)
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


def _member(current: Set, index: int) -> Member:
    """Return the member with this player index. If the set has not begun yet, there can be a player at any port.

    Otherwise, this raises `ImpossibleCorrection` if there's no such member.
    """
    member = current.member(index)
    if member is None and current.last is None:
        member = Member(index)
        member.indices[current.place] = frozenset({index})
    if member is None:
        raise ImpossibleCorrection(f"no player {index} in this set")
    return member


def _with_seats(corrections: Corrections, current: Set, patch: Mapping[str, SeatPatch | None] | None) -> Corrections:
    if patch is None:
        patch = {str(member.index): None for member in current.members}
    between = _takes_free_seats(corrections, current, patch)
    for key, said in patch.items():
        member = _member(current, int(key))
        name = _one_line(None if said is None else said.name)
        if said is None or not name:
            corrections = _without_seat(corrections, current, member)
        else:  # seats of earlier games stay, as names do
            seat = Seat(name, _one_line(said.sponsor) or None, _one_line(said.pronouns) or None)
            entry = _entry(corrections, current)
            others = {index: other for index, other in entry.seats_between.items() if index != member.index}
            if between:
                entry = msgspec.structs.replace(entry, seats_between={**others, member.index: seat})
            else:
                seats = {**entry.seats, member.index: seat}
                entry = msgspec.structs.replace(entry, seats=seats, seats_between=others)
            corrections = _with_entry(corrections, current, entry)
    return corrections


def _takes_free_seats(corrections: Corrections, current: Set, patch: Mapping[str, SeatPatch | None]) -> bool:
    """Whether the change does nothing except give seats, between two games, to players who had no seat in the newest
    game.
    """
    if current.last is None or current.last.in_progress:
        return False
    taken = _entry(corrections, current).seats_between
    had = {member.index for member in current.members if member.seat is not None and member.index not in taken}
    return not had & {int(key) for key, said in patch.items() if said is not None}


def _without_seat(corrections: Corrections, current: Set, member: Member) -> Corrections:
    corrections = _without(corrections, current, "seats", member.indices)
    return _without(corrections, current, "seats_between", member.indices)


def _with_players(
    corrections: Corrections, current: Set, patch: Mapping[str, PlayerPatch | None] | None
) -> Corrections:
    removed = PlayerPatch(sponsor=None, pronouns=None, seed=None)
    if patch is None:
        patch = {str(member.index): None for member in current.members}
    for key, change in patch.items():
        member = _member(current, int(key))
        for field in PlayerDetails.__struct_fields__:
            value = getattr(change or removed, field)
            if value is not UNSET:
                value = _one_line(value) or None if isinstance(value, str) else value
                corrections = _with_detail(corrections, current, member, field, value)
    return corrections


def _with_detail(corrections: Corrections, current: Set, member: Member, field: str, value: Any) -> Corrections:
    """Set or remove a detail of a player.

    If the replays name the person, it belongs to the person, and otherwise to this set.
    """
    for kind, key in current.places:
        entry = getattr(corrections, kind).get(key)
        if entry is not None:
            indices = member.indices.get((kind, key), frozenset())
            details = {
                index: msgspec.structs.replace(of_player, **{field: None}) if index in indices else of_player
                for index, of_player in entry.details.items()
            }
            kept = {index: of_player for index, of_player in details.items() if of_player != NO_DETAILS}
            corrections = _replace(corrections, **{kind: {key: msgspec.structs.replace(entry, details=kept)}})
    identity = current.identity(member)
    if identity is not None:
        details_of_person = corrections.details.get(identity, NO_DETAILS)
        changed = msgspec.structs.replace(details_of_person, **{field: value})
        return _replace(corrections, details={identity: changed})
    if value is None:
        return corrections
    entry = _entry(corrections, current)
    changed = msgspec.structs.replace(entry.details.get(member.index, NO_DETAILS), **{field: value})
    return _with_entry(
        corrections, current, msgspec.structs.replace(entry, details={**entry.details, member.index: changed})
    )


def _with_score(corrections: Corrections, current: Set, patch: Mapping[str, int | None] | None) -> Corrections:
    scores: Mapping[int, int | None] = {int(key): score for key, score in (patch or {}).items()}
    if patch is None:
        scores = dict.fromkeys(side.members[0].index for side in current.sides)
    for index, score in scores.items():
        side = current.side(index)
        if side is None:
            raise ImpossibleCorrection(f"no player {index} in this set")
        corrections = _without(corrections, current, "score", side.indices)
        if score is not None and score != side.won:
            entry = _entry(corrections, current)
            entry = msgspec.structs.replace(entry, score={**entry.score, index: score - side.won})
            corrections = _with_entry(corrections, current, entry)
    return corrections


def _with_value(corrections: Corrections, current: Set, field: str, value: Any) -> Corrections:
    """Set or remove a value that belongs to the set itself."""
    for kind, key in current.places:
        entry = getattr(corrections, kind).get(key, EMPTY)
        corrections = _replace(corrections, **{kind: {key: msgspec.structs.replace(entry, **{field: None})}})
    if value is not None:
        entry = msgspec.structs.replace(_entry(corrections, current), **{field: value})
        corrections = _with_entry(corrections, current, entry)
    return corrections


_Indices = Mapping[tuple[str, str], frozenset[int]]
"""The player indices at each place where corrections of the set can be stored."""


def _without(corrections: Corrections, current: Set, field: str, indices: _Indices) -> Corrections:
    """Remove the `names`, `seats`, `seats_between` or `score` of a player from the corrections of a set.

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

    If a value is empty, it is dropped. The only exception is `after`, because there the key itself means that a set
    begins.
    """
    new: dict[str, dict[str, Any]] = {}
    for name, entries in changes.items():
        merged = {**getattr(corrections, name), **entries}
        new[name] = {
            key: value
            for key, value in merged.items()
            if (name == "after" and key) or value not in (NOTHING, EMPTY, NO_DETAILS, "")
        }
    return msgspec.structs.replace(corrections, **new)


def _bounded(corrections: Corrections) -> Corrections:
    kept: dict[str, Any] = {
        name: dict(list(entries.items())[-MAX_KEPT:])
        for name in ("games", "since", "after", "people", "details")
        if len(entries := getattr(corrections, name)) > MAX_KEPT
    }
    return msgspec.structs.replace(corrections, **kept)
