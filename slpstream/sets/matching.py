"""Matches the players of one game with the members of a set.

People are recognised by their names, the most reliable kind first: connect code, netplay name, the name that the
operator or they themselves gave, tag. The others are matched by port, and then by their place in the score. All ways to
assign the sides of a game to the sides of the set are compared (at most 24); the first one that leaves the most people
in their old place wins. If even that one moves somebody to another side, the game belongs to another set.
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

    That is the case when the sides have other sizes, when somebody who is recognised has changed teams, and when a
    member's name would go to somebody with another name. `names` are those that were given for this game, by player
    index in it.
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
    members, players = [m for side in sides for m in side], [p for team in teams for p in team]
    people = _recognised(members, players, names)
    people |= _at_same_ports(members, players, names, people)
    for team, place, playing in zip(teams, best, paired(sides, teams, best, names), strict=True):
        for player, member in zip(team, playing, strict=True):
            if people.get(player.index, member) not in sides[place] or not is_same_person(member, player, names):
                return None
    return best


def paired(
    sides: Sequence[Sequence[AMember]],
    teams: Sequence[Sequence[Player]],
    order: Sequence[int],
    names: Mapping[int, str],
) -> list[list[AMember]]:
    """The member who each player of each team is. `order` has the place of each team, which is as large as its side.

    Those who are recognised by name are the same person, on whichever side they play now. The others are the members of
    their side who are left, arranged so that as few as possible get the name of somebody else, or change ports.
    """
    people = _recognised([m for side in sides for m in side], [p for team in teams for p in team], names)
    taken = {id(member) for member in people.values()}
    unknown = [[player for player in team if player.index not in people] for team in teams]
    left = [[member for member in sides[place] if id(member) not in taken] for place in order]
    spare = [member for members, players in zip(left, unknown, strict=True) for member in members[len(players) :]]
    for members, players in zip(left, unknown, strict=True):
        candidates = [*members[: len(players)], *(spare.pop(0) for _ in range(len(players) - len(members)))]
        best = min(permutations(candidates), key=lambda found: _changes(found, players, names))
        people |= {player.index: member for player, member in zip(players, best, strict=True)}
    return [[people[player.index] for player in team] for team in teams]


def _recognised(members: Sequence[AMember], players: Sequence[Player], names: Mapping[int, str]) -> dict[int, AMember]:
    """The members who are recognised by a name among the players of a game, by player index in it."""
    left, free = list(members), list(players)
    found: dict[int, AMember] = {}
    for of_member, of_player in _kinds_of_names(names):
        keys = [of_player(player) for player in free]
        for player, key in zip(list(free), keys, strict=True):
            same = [member for member in left if key is not None and key in of_member(member)]
            # A more reliable name may show that it is somebody else with the same one.
            if keys.count(key) == len(same) == 1 and is_same_person(same[0], player, names):
                found[player.index] = same[0]
                left.remove(same[0])
                free.remove(player)
    return found


def _at_same_ports(
    members: Sequence[AMember], players: Sequence[Player], names: Mapping[int, str], people: Mapping[int, AMember]
) -> dict[int, AMember]:
    """The further members who are recognised by their ports, by player index in a game.

    `people` are those who are recognised by name. Ports identify nobody if one of these has changed ports.
    """
    if any(member.index != index for index, member in people.items()):
        return {}
    at_ports = {member.index: member for member in members}
    return {
        player.index: member
        for player in players
        if player.index not in people
        and (member := at_ports.get(player.index)) is not None
        and is_same_person(member, player, names)
    }


def _changes(members: Sequence[Member], players: Sequence[Player], names: Mapping[int, str]) -> tuple[int, int]:
    """How many members would be other people, and how many would have changed ports."""
    pairs = list(zip(members, players, strict=True))
    strangers = sum(not is_same_person(member, player, names) for member, player in pairs)
    return strangers, sum(member.index != player.index for member, player in pairs)


def crew_places(
    members: Sequence[Member], stays: Sequence[bool], players: Sequence[Player], names: Mapping[int, str]
) -> tuple[int, ...]:
    """The crew of each player of a game. `members` played last, and `stays` has whether each of them has stocks left.

    A player who stays is recognised by name; without names by the port, which a player who stays keeps.
    """
    order = sorted(range(len(members)), key=lambda place: not stays[place])
    for of_member, of_player in _kinds(names):
        keys = [of_player(player) for player in players]
        for place in order:
            known = [key is not None and key in of_member(members[place]) for key in keys]
            if known.count(True) == 1:
                return (place, 1 - place) if known[0] else (1 - place, place)
    return (0, 1)


def is_same_person(member: Member, player: Player, names: Mapping[int, str]) -> bool:
    """Whether no name shows that a player is another person than a member.

    A name that was given for this game shows who somebody is, but not who somebody is not: it may replace another one.
    """
    given = folded(names.get(player.index, ""))
    for kind in REPLAY_NAMES:
        if kind == "tag" and given and given in _given_names(member):
            return True
        before, now = folded(getattr(member, kind)), folded(getattr(player, kind))
        if before and now:
            return before == now
    return True


_Keys = tuple[Sequence[set[str]], Sequence[Sequence[str]]]
"""For one kind of name: the names of each side of the set, and those of each side of the game."""

_Kind = tuple[Callable[[Member], set[str]], Callable[[Player], str | None]]
"""One kind of name: the names that a member is known by, and the name that a player has."""


def _kinds(names: Mapping[int, str]) -> Sequence[_Kind]:
    """All kinds by which players are matched, the most reliable first."""
    port: _Kind = (lambda m: {str(m.index)}), (lambda p: str(p.index))
    return *_kinds_of_names(names), port


def _kinds_of_names(names: Mapping[int, str]) -> Sequence[_Kind]:
    """The kinds of names, the most reliable first."""

    def in_replay(kind: str) -> _Kind:
        return (lambda m: {folded(getattr(m, kind))} - {""}), (lambda p: folded(getattr(p, kind)) or None)

    given: _Kind = _given_names, (lambda p: folded(names.get(p.index, "")) or None)
    return in_replay("connect_code"), in_replay("netplay_name"), given, in_replay("tag")


def _given_names(member: Member) -> set[str]:
    """The names by which somebody who gives a name can mean a member."""
    seat = member.seat.name if member.seat else ""
    return {folded(name) for name in (member.name, member.netplay_name, member.tag, seat)} - {""}


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
