"""Who of one game is who in the next.

People are known by what the replays say of them, the surest first: connect code, netplay name, the operator's name,
tag; what is left by port, and then by the place in the score. All ways to put the sides of a game to those of the set
are compared (there are at most 24), and the first one with the most people at their place wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Protocol, TypeVar

from slpstream.sets.games import Player

SAID = ("connect_code", "netplay_name", "tag")
"""What replays say of people."""

_SURE = ("connect_code", "netplay_name")


class Member(Protocol):
    """Somebody of a set."""

    index: int
    connect_code: str
    netplay_name: str
    tag: str
    name: str
    """Operator's."""


AMember = TypeVar("AMember", bound=Member)


@lru_cache(maxsize=1024)
def folded(name: str) -> str:
    """A name as it is compared."""
    return " ".join(name.split()).casefold()


def others(members: Sequence[Member], players: Sequence[Player]) -> bool:
    """Whether the players cannot be those members, by what is said of both. The surest names that all have decide."""
    count = len(players)
    for kind in SAID:
        before, now = _known(kind, members), _known(kind, players)
        # Whoever is named in one game must be among those who have no name in the other.
        if len(before - now) > count - len(now) or len(now - before) > count - len(before):
            return True
        if len(before) == count and before == now:
            return False
    return False


def places(
    sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], names: Mapping[int, str]
) -> tuple[int, ...] | None:
    """For each side of a game the place of that side in the set; `None` when it cannot be one of the set: other
    numbers, or other teams. `names` are the operator's for the player indices of this game."""
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
    best = max(fitting, key=lambda place: _fit(known, place))  # the first of equals
    for kind in _SURE:
        where = {key: at for at, side in enumerate(sides) for key in _known(kind, side)}
        for team, at in zip(teams, best, strict=True):
            if any(where.get(key, at) != at for key in _known(kind, team)):
                return None
    return best


def pair(
    members: Sequence[AMember], players: Sequence[Player], names: Mapping[int, str]
) -> list[tuple[AMember, Player]]:
    """Within a side: each member with who of the game that is."""
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


_Keys = tuple[Sequence[set[str]], Sequence[Sequence[str]]]
"""Of one kind: what those of each side of a set are known by, and those of each side of a game."""

_Of = tuple[Callable[[Member], set[str]], Callable[[Player], str | None]]


def _kinds(names: Mapping[int, str]) -> Sequence[_Of]:
    """What a member is known by and what a player has of it, the surest first."""

    def said(kind: str) -> _Of:
        return (lambda m: {folded(getattr(m, kind))} - {""}), (lambda p: folded(getattr(p, kind)) or None)

    by_operator: _Of = (
        lambda m: {folded(text) for text in (m.name, m.netplay_name, m.tag)} - {""},
        lambda p: folded(names[p.index]) or None if p.index in names else None,
    )
    port: _Of = (lambda m: {str(m.index)}), (lambda p: str(p.index))
    return said("connect_code"), said("netplay_name"), by_operator, said("tag"), port


def _fit(known: Sequence[_Keys], place: Sequence[int]) -> tuple[int, ...]:
    """How many of the players are where they were, by each kind of name."""
    return tuple(
        sum(key in of_sides[at] for keys, at in zip(of_teams, place, strict=True) for key in keys)
        for of_sides, of_teams in known
    )


def _same_sizes(sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], place: Sequence[int]) -> bool:
    return all(len(sides[at]) == len(team) for team, at in zip(teams, place, strict=True))


def _known(kind: str, people: Iterable[Member | Player]) -> set[str]:
    """What they are called; a name that two have tells nobody apart."""
    names = [folded(getattr(person, kind)) for person in people]
    return {name for name in names if name and names.count(name) == 1}
