"""The seats of one station: who has claimed which port, and which of these claims the station's set shows now.

If a phone does something, the function for it takes the seats and the current set, and returns the changed seats
together with a patch for the set. The set has the same form as the payload of `set` messages, and the patch is like a
correction, so there's no difference to changes by an operator.

You can claim a seat for the set that is being played or, if that is over, for the next one. If you do it between two
games, it is for the set of the next game, whichever this turns out to be. If you want to change ports, you have to wait
for that game, because the score belongs to the ports of the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from slpstream.model.prepared import prepared

PORTS = 4


class Person(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person in the form in which the set shows them."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """Someone's claim for the seat at a port."""

    phone: str
    """Digest of the random id that the phone sends."""
    person: Person
    at_ms: int
    """Unix time in milliseconds."""
    shown: bool = False
    """Whether the set shows this person at this port."""
    after_game: bool = False
    """Whether it was made after the newest game, while the set was not over."""


@prepared
class Seats(msgspec.Struct, frozen=True, omit_defaults=True):
    """The seats of one station."""

    claims: Mapping[int, Claim] = {}
    """By player index."""
    set_id: str | None = None
    """The set of the claims, or `None` for one that has not begun."""
    game_id: str | None = None
    """The newest game of that set at the last update."""
    over: bool = False
    """Whether that set was over."""
    active_ms: int = 0
    """Unix time of the last activity at the station, in milliseconds."""

    def seat_of(self, phone: str) -> int | None:
        """Return the player index of the seat that a phone has, or `None` if it doesn't have one."""
        return next((index for index, claim in self.claims.items() if claim.phone == phone), None)


class SetNow(NamedTuple):
    """Everything about the newest set of a station that matters for its seats."""

    set_id: str | None
    game_id: str | None
    state: Literal["upcoming", "running", "over"]
    playing: bool
    """Whether its newest game is being played."""
    members: Collection[int]
    """Player indices."""
    seated: Mapping[int, str]
    """Names of the seats, by player index."""
    named: Mapping[int, str]
    """Shown names, by player index."""
    crew_battle: bool
    """Whether it is a crew battle, in which the next player of a crew replaces one who has left."""

    @property
    def is_over(self) -> bool:
        """Whether the set is over and no one is playing another game."""
        return self.state == "over" and not self.playing


class Step(NamedTuple):
    """The result of something that a phone has done."""

    seats: Seats
    patch: Mapping[str, Any] | None = None
    """The correction of the set, or `None` if it stays the same."""


class SeatTaken(Exception):
    """Raised if another phone already has the seat, or the same name at another seat."""

    def __init__(self, name: str, port: int) -> None:
        super().__init__(f"{name} sits at port {port}")
        self.name = name
        self.port = port


class NoSeat(Exception):
    """Raised if the phone doesn't have a seat, or if its set is over."""


def set_now(payload: Mapping[str, Any]) -> SetNow:
    """Extract everything that matters for seats from the payload of a `set` message."""
    players = payload["players"]
    games = payload.get("games") or [{}]
    return SetNow(
        set_id=payload.get("setId"),
        game_id=payload.get("gameId"),
        state=payload["state"],
        playing=games[-1].get("verdict") == "playing",
        members=[player["playerIndex"] for player in players],
        seated={player["playerIndex"]: player["seatName"] for player in players if player.get("seatName")},
        named={player["playerIndex"]: player["name"] for player in players if player.get("name")},
        crew_battle=payload.get("crewBattle") is not None,
    )


def followed(seats: Seats, now: SetNow, now_ms: int) -> Seats:
    """Return the seats after the set has changed.

    If another set has begun, the seats of the old one become free. If it has begun with a game, then claims that were
    made after the last game of the old set are for the new one. If it is just a new game of the same set, and the set
    has recognised people at other ports, then their seats follow them. A claim isn't valid any more if its name was
    removed from the set, or if its player has left a crew battle.
    """
    new_game = now.game_id != seats.game_id
    claims = {
        index: msgspec.structs.replace(claim, shown=_is_shown(now, index, claim))
        for index, claim in seats.claims.items()
        if claim.shown or _is_shown(now, index, claim)
    }
    waiting = {index: claim for index, claim in seats.claims.items() if index not in claims}
    other_set = _is_other_set(seats, now)
    if other_set and seats.over:
        waiting = {}
    elif other_set and now.set_id is not None:
        waiting |= {index: claim for index, claim in claims.items() if claim.after_game}
    if new_game and now.state != "upcoming" and not other_set:
        claims = _moved(claims, waiting, now)
    else:
        claims = {index: claim for index, claim in claims.items() if claim.shown}
    active_ms = now_ms if new_game or now.playing else seats.active_ms
    claims |= waiting
    if new_game:
        claims = {index: msgspec.structs.replace(claim, after_game=False) for index, claim in claims.items()}
    return Seats(claims, now.set_id, now.game_id, now.is_over, active_ms)


def wanted(seats: Seats, now: SetNow) -> Mapping[str, Any] | None:
    """Return a correction that makes the set show all claims it should show, or `None` if it already does."""
    return _patch(_missing(seats.claims, now))


def claimed(
    seats: Seats, now: SetNow, index: int, claim: Claim, *, take_over: bool = False, stay: bool = False
) -> Step:
    """Let a phone claim the seat at a port. If it has another seat, it loses that one.

    To take the seat away from someone else, pass `take_over=True`. If the set is over, the first claim by another
    phone begins a new set in which all seats are free. The same happens if a player of the set claims a seat with
    `stay`. Raises `SeatTaken` if that isn't possible.
    """
    mine = seats.claims.get(index)
    same_phone = mine is not None and mine.phone == claim.phone
    if same_phone and mine is not None and not (now.is_over and stay):
        if mine.person == claim.person:
            return Step(seats)
        others = {each: claim for each, claim in seats.claims.items() if each != index}
        _check_free(others, index, claim, take_over=take_over)
        kept = _without_namesakes(others, claim)
        renamed = {**kept, index: msgspec.structs.replace(claim, shown=mine.shown, after_game=mine.after_game)}
        said = {index: claim.person} if mine.shown else _missing(renamed, now)
        return _step(seats, renamed, now, claim.at_ms, said)
    if now.is_over:
        return _new_set(seats, {index: claim}, claim.at_ms)
    claim = msgspec.structs.replace(
        claim, shown=_is_shown(now, index, claim), after_game=now.state == "running" and not now.playing
    )
    _check_free(
        {each: other for each, other in seats.claims.items() if other.phone != claim.phone},
        index,
        claim,
        take_over=take_over,
    )
    others = {each: other for each, other in seats.claims.items() if other.phone != claim.phone and each != index}
    claims = {**_without_namesakes(others, claim), index: claim}
    if _are_all_replaced(claims, now):
        return _new_set(seats, claims, claim.at_ms)
    return _step(seats, claims, now, claim.at_ms, _missing(claims, now))


def swapped(seats: Seats, now: SetNow, index: int, phone: str, now_ms: int) -> Step:
    """Swap the seat of a phone with the one at a port, which can also be free.

    Raises `NoSeat` if that isn't possible.
    """
    mine = seats.seat_of(phone)
    if mine is None or now.is_over:
        raise NoSeat("only somebody with a seat in a set that goes on can swap")
    if mine == index:
        return Step(seats)
    places = {mine: index, index: mine}
    moved = {places.get(each, each): claim for each, claim in seats.claims.items()}
    claims = {each: msgspec.structs.replace(claim, shown=_is_shown(now, each, claim)) for each, claim in moved.items()}
    return _step(seats, claims, now, now_ms, _missing(claims, now))


def left(seats: Seats, now: SetNow, phone: str, now_ms: int) -> Step:
    """Let a phone give up its seat. Unless the set is over, this also removes the name from it."""
    index = seats.seat_of(phone)
    if index is None:
        return Step(seats)
    claims = {each: claim for each, claim in seats.claims.items() if each != index}
    name = seats.claims[index].person.name
    gone = {} if now.is_over else {each: None for each, seated in now.seated.items() if seated == name}
    return _step(seats, claims, now, now_ms, gone)


def expired(seats: Seats, now: SetNow, now_ms: int, after_ms: int) -> Step:
    """If nothing has happened for some time, free all seats. If the set has already begun, the names stay in it."""
    newest_ms = max((claim.at_ms for claim in seats.claims.values()), default=0)
    if not seats.claims or now.playing or now_ms - max(newest_ms, seats.active_ms) < after_ms:
        return Step(seats)
    gone = [index for index, claim in seats.claims.items() if claim.shown and now.state == "upcoming"]
    return _step(seats, {}, now, now_ms, dict.fromkeys(gone))


def _is_shown(now: SetNow, index: int, claim: Claim) -> bool:
    return now.seated.get(index) == claim.person.name


def _is_other_set(seats: Seats, now: SetNow) -> bool:
    """Whether the claims belong to an older set.

    If the id is different but the newest game is the same, the games were only divided in another way.
    """
    if seats.set_id is None or now.set_id == seats.set_id:
        return False
    return now.set_id is None or now.game_id != seats.game_id


def _moved(claims: Mapping[int, Claim], waiting: Collection[int], now: SetNow) -> dict[int, Claim]:
    """Return the claims at those ports where a new game has their people. Claims that wait for this game come first.

    In a crew battle, people who aren't in the set any more have left it, unless they have come after the last game.
    """
    ports = {name: index for index, name in now.seated.items()}
    moved: dict[int, Claim] = {}
    for index, claim in claims.items():
        port = ports.get(claim.person.name)
        if port is not None and port not in waiting:
            moved[port] = msgspec.structs.replace(claim, shown=True)
        elif port is None and index not in waiting and (claim.after_game or not now.crew_battle):
            moved.setdefault(index, claim)
    return moved


def _missing(claims: Mapping[int, Claim], now: SetNow) -> dict[int, Person | None]:
    """Return those people who should be in the set but aren't yet, by player index.

    Between games, we only do this for players who don't have a name. Any other difference might mean that they have
    changed ports, and we will know this when the next game begins.
    """
    if now.is_over:
        return {}
    missing = {index: claim.person for index, claim in claims.items() if not _is_shown(now, index, claim)}
    if now.state == "upcoming":
        return {**missing}
    if now.playing:
        return {index: person for index, person in missing.items() if index in now.members}
    known = set(now.seated.values())
    return {
        index: person
        for index, person in missing.items()
        if index in now.members and index not in now.seated and person.name not in known
    }


def _step(
    seats: Seats, claims: Mapping[int, Claim], now: SetNow, at_ms: int, said: Mapping[int, Person | None]
) -> Step:
    """Return the seats with other claims, and a patch for the set.

    It contains people, and ports that have become free.
    """
    left_behind: dict[int, Person | None] = {}
    if now.state == "upcoming" or now.playing:
        left_behind = {index: None for index, claim in seats.claims.items() if claim.shown and index not in claims}
    after = msgspec.structs.replace(seats, claims=dict(sorted(claims.items())), active_ms=at_ms)
    return Step(after, _patch({**left_behind, **said}))


def _new_set(seats: Seats, claims: Mapping[int, Claim], at_ms: int) -> Step:
    people = _patch({index: claim.person for index, claim in claims.items()}) or {}
    begun = {index: msgspec.structs.replace(claim, shown=False) for index, claim in sorted(claims.items())}
    return Step(Seats(begun, active_ms=at_ms), {"newSet": True, **people})


def _patch(people: Mapping[int, Person | None]) -> Mapping[str, Any] | None:
    if not people:
        return None
    return {"seats": {str(index): person and msgspec.to_builtins(person) for index, person in people.items()}}


def _are_all_replaced(claims: Mapping[int, Claim], now: SetNow) -> bool:
    """Whether, between two games, all ports of the set have been taken by other people.

    To be sure about this, we need to know all names in the set.
    """
    if now.state != "running" or now.playing or not set(now.members) <= claims.keys() & now.named.keys():
        return False
    known = {folded(name) for name in (*now.named.values(), *now.seated.values())}
    return all(folded(claim.person.name) not in known for claim in claims.values())


def _check_free(others: Mapping[int, Claim], index: int, claim: Claim, *, take_over: bool) -> None:
    """Make sure that no other phone has the seat or the name. Otherwise, this raises `SeatTaken`."""
    if take_over:
        return
    if index in others:
        raise SeatTaken(others[index].person.name, index + 1)
    for each, other in others.items():
        if folded(other.person.name) == folded(claim.person.name):
            raise SeatTaken(other.person.name, each + 1)


def _without_namesakes(others: Mapping[int, Claim], claim: Claim) -> dict[int, Claim]:
    name = folded(claim.person.name)
    return {index: other for index, other in others.items() if folded(other.person.name) != name}


def folded(name: str) -> str:
    """Return a name without differences in case and spaces, so that you can compare it with others."""
    return " ".join(name.split()).casefold()
