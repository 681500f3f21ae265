"""Matches the players of one game with the members of a set.

People are recognised by their names, the most reliable kind first: connect code, netplay name, the name that the
operator or they themselves gave, tag. The others are matched by port, and then by their place in the score. All ways to
assign the sides of a game to the sides of the set are compared (at most 24); the first one that leaves the most people
in their old place wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Protocol, TypeVar

from slpstream.sets.corrections import Seat
from slpstream.sets.games import Player

REPLAY_NAMES = ("connect_code", "netplay_name", "tag")
"""The kinds of names that replays have, the most reliable first."""

_RELIABLE = ("connect_code", "netplay_name")


class Member(Protocol):
    """A member of a set."""

    index: int
    connect_code: str
    netplay_name: str
    tag: str
    name: str
    """The operator's name."""
    seat: Seat | None
    """The member's own account."""


AMember = TypeVar("AMember", bound=Member)


@lru_cache(maxsize=1024)
def folded(name: str) -> str:
    """A name without differences in case and spaces, for comparisons."""
    return " ".join(name.split()).casefold()


def others(members: Sequence[Member], players: Sequence[Player]) -> bool:
    """Whether the names in the replays show that the players are not the members.

    The most reliable kind of name that all of them have decides.
    """
    count = len(players)
    for kind in REPLAY_NAMES:
        before, now = _known(kind, members), _known(kind, players)
        # A person who is named in one game must be among those without a name in the other.
        if len(before - now) > count - len(now) or len(now - before) > count - len(before):
            return True
        if len(before) == count and before == now:
            return False
    return False


def places(
    sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], names: Mapping[int, str]
) -> tuple[int, ...] | None:
    """The place in the set of each side of a game; `None` when the game cannot belong to the set.

    That is the case when the sides have other sizes, or when players have changed teams. `names` are those that were
    given for this game, by player index in it.
    """
    if len(sides) != len(teams):
        return None
    fitting = [p for p in permutations(range(len(sides))) if _same_sizes(sides, teams, p)]
    if not fitting:
        return None
    known = [
        (
            [{key for member in side for key in of_member(member)} for side in sides],
            [[key for player in team if (key := of_player(player)) is not None] for team in teams],
        )
        for of_member, of_player in _kinds(names)
    ]
    best = max(fitting, key=lambda assignment: _fit(known, assignment))  # the first of equals
    for kind in _RELIABLE:
        where = {key: place for place, side in enumerate(sides) for key in _known(kind, side)}
        for team, place in zip(teams, best, strict=True):
            if any(where.get(key, place) != place for key in _known(kind, team)):
                return None
    return best


def pair(
    members: Sequence[AMember], players: Sequence[Player], names: Mapping[int, str]
) -> list[tuple[AMember, Player]]:
    """Pair each member of a side with the same person among the players of a game."""
    if len(members) == len(players) == 1:
        return [(members[0], players[0])]
    left, free = list(members), list(players)
    pairs: list[tuple[AMember, Player]] = []
    for of_member, of_player in _kinds(names):
        for player in list(free):
            key = of_player(player)
            found = next((member for member in left if key is not None and key in of_member(member)), None)
            if found is not None:
                pairs.append((found, player))
                left.remove(found)
                free.remove(player)
    return [*pairs, *zip(left, free, strict=True)]


def crew_places(members: Sequence[Member], stays: Sequence[bool], players: Sequence[Player]) -> tuple[int, ...]:
    """The crew of each player of a game. `members` played last, and `stays` has whether each of them has stocks left.

    A player who stays is recognised by name; without names by the port, which a player who stays keeps.
    """
    order = sorted(range(len(members)), key=lambda place: not stays[place])
    for kind in REPLAY_NAMES:
        names = [folded(getattr(player, kind)) for player in players]
        for place in order:
            name = folded(getattr(members[place], kind))
            if name and names.count(name) == 1:
                return (place, 1 - place) if names.index(name) == 0 else (1 - place, place)
    for place in order:
        for team, player in enumerate(players):
            if player.index == members[place].index:
                return (place, 1 - place) if team == 0 else (1 - place, place)
    return (0, 1)


def is_same_person(member: Member, player: Player) -> bool:
    """Whether no name shows that a player is another person than a member."""
    for kind in REPLAY_NAMES:
        before, now = folded(getattr(member, kind)), folded(getattr(player, kind))
        if before and now:
            return before == now
    return True


_Keys = tuple[Sequence[set[str]], Sequence[Sequence[str]]]
"""For one kind of name: the names of each side of the set, and those of each side of the game."""

_Kind = tuple[Callable[[Member], set[str]], Callable[[Player], str | None]]
"""One kind of name: the names that a member is known by, and the name that a player has."""


def _kinds(names: Mapping[int, str]) -> Sequence[_Kind]:
    """The kinds of names, the most reliable first."""

    def in_replay(kind: str) -> _Kind:
        return (lambda m: {folded(getattr(m, kind))} - {""}), (lambda p: folded(getattr(p, kind)) or None)

    given: _Kind = (
        lambda m: {folded(text) for text in (m.name, m.netplay_name, m.tag, m.seat.name if m.seat else "")} - {""},
        lambda p: folded(names[p.index]) or None if p.index in names else None,
    )
    port: _Kind = (lambda m: {str(m.index)}), (lambda p: str(p.index))
    return in_replay("connect_code"), in_replay("netplay_name"), given, in_replay("tag"), port


def _fit(known: Sequence[_Keys], assignment: Sequence[int]) -> tuple[int, ...]:
    """How many players an assignment leaves in their old place, for each kind of name."""
    return tuple(
        sum(key in of_sides[place] for keys, place in zip(of_teams, assignment, strict=True) for key in keys)
        for of_sides, of_teams in known
    )


def _same_sizes(
    sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], assignment: Sequence[int]
) -> bool:
    return all(len(sides[place]) == len(team) for team, place in zip(teams, assignment, strict=True))


def _known(kind: str, people: Iterable[Member | Player]) -> set[str]:
    """The names of one kind, without those that two people have: they identify neither."""
    names = [folded(getattr(person, kind)) for person in people]
    return {name for name in names if name and names.count(name) == 1}
