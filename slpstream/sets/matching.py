"""Matches the players of one game with the members of a set.

People are recognised by their names, the most reliable kind first: connect code, netplay name, the name entered by the
operator or by themselves, tag. Other players are matched by port, then by their place in the score. All assignments of
the sides of a game to the sides of the set are compared (at most 24). The first assignment that leaves the most people
in their old place is chosen. If even this assignment moves a person to another side, the game belongs to another set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Protocol, TypeVar

from slpstream.sets.corrections import Seat
from slpstream.sets.games import Player

REPLAY_NAMES = ("connect_code", "netplay_name", "tag")
"""The kinds of names in replays, the most reliable first."""


class Member(Protocol):
    """A member of a set."""

    index: int
    connect_code: str
    netplay_name: str
    tag: str
    name: str
    """The operator's name."""
    seat: Seat | None
    """The name that the member entered."""


AMember = TypeVar("AMember", bound=Member)


@lru_cache(maxsize=1024)
def folded(name: str) -> str:
    """Return a name without differences in case and spaces, for comparisons."""
    return " ".join(name.split()).casefold()


def others(members: Sequence[Member], players: Sequence[Player]) -> bool:
    """Whether the names in the replays show that the players are not the members.

    The most reliable kind of name that all players and members have decides.
    """
    count = len(players)
    for kind in REPLAY_NAMES:
        before, now = _known(kind, members), _known(kind, players)
        # A person who is named in only one game must be a person without a name in the other.
        if len(before - now) > count - len(now) or len(now - before) > count - len(before):
            return True
        if len(before) == count and before == now:
            return False
    return False


def places(
    sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], names: Mapping[int, str]
) -> tuple[int, ...] | None:
    """Return the place in the set of each side of a game; `None` if the game cannot belong to the set.

    The game cannot belong to the set if the sides have other sizes, if a recognised person has changed teams, or if a
    player with another name would get a member's name. `names` are the names entered for this game, by player index.
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
    best = max(fitting, key=lambda assignment: _fit(known, assignment))  # the first of equal assignments
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
    """Return the member for each player of each team. `order` has the place of each team, which is as large as its
    side.

    Players who are recognised by name stay the same person on any side. The other players become the remaining members
    of their side, arranged so that as few as possible get another person's name or change ports.
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
    """Return the members who are recognised by a name, by player index in the game."""
    left, free = list(members), list(players)
    found: dict[int, AMember] = {}
    for of_member, of_player in _kinds_of_names(names):
        keys = [of_player(player) for player in free]
        for player, key in zip(list(free), keys, strict=True):
            same = [member for member in left if key is not None and key in of_member(member)]
            # A more reliable name can show that another person has the same name.
            if keys.count(key) == len(same) == 1 and is_same_person(same[0], player, names):
                found[player.index] = same[0]
                left.remove(same[0])
                free.remove(player)
    return found


def _at_same_ports(
    members: Sequence[AMember], players: Sequence[Player], names: Mapping[int, str], people: Mapping[int, AMember]
) -> dict[int, AMember]:
    """Return the further members who are recognised by their ports, by player index in the game.

    `people` are the members who are recognised by name. If one of them has changed ports, ports identify no one.
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
    """Return the number of members who would be other people, and the number who would have changed ports."""
    pairs = list(zip(members, players, strict=True))
    strangers = sum(not is_same_person(member, player, names) for member, player in pairs)
    return strangers, sum(member.index != player.index for member, player in pairs)


def crew_places(
    members: Sequence[Member], stays: Sequence[bool], players: Sequence[Player], names: Mapping[int, str]
) -> tuple[int, ...]:
    """Return the crew of each player of a game. `members` played last, and `stays` tells for each whether stocks are
    left.

    A player who stays is recognised by name, or without names by the port, which does not change.
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
    """Whether a player can be a member: no name shows that they are different people.

    A name that was entered for this game can confirm a person but not exclude one, because it can replace another name.
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
"""For one kind of name: the names of each side of the set, and the names of each side of the game."""

_Kind = tuple[Callable[[Member], set[str]], Callable[[Player], str | None]]
"""One kind of name: functions that return a member's names and a player's name."""


def _kinds(names: Mapping[int, str]) -> Sequence[_Kind]:
    """All kinds of names by which players are matched, the most reliable first."""
    port: _Kind = (lambda m: {str(m.index)}), (lambda p: str(p.index))
    return *_kinds_of_names(names), port


def _kinds_of_names(names: Mapping[int, str]) -> Sequence[_Kind]:
    """The kinds of names, the most reliable first."""

    def in_replay(kind: str) -> _Kind:
        return (lambda m: {folded(getattr(m, kind))} - {""}), (lambda p: folded(getattr(p, kind)) or None)

    given: _Kind = _given_names, (lambda p: folded(names.get(p.index, "")) or None)
    return in_replay("connect_code"), in_replay("netplay_name"), given, in_replay("tag")


def _given_names(member: Member) -> set[str]:
    """Return the names that can refer to a member when a name is entered."""
    seat = member.seat.name if member.seat else ""
    return {folded(name) for name in (member.name, member.netplay_name, member.tag, seat)} - {""}


def _fit(known: Sequence[_Keys], assignment: Sequence[int]) -> tuple[int, ...]:
    """Return the number of players that an assignment leaves in their old place, for each kind of name."""
    return tuple(
        sum(key in of_sides[place] for keys, place in zip(of_teams, assignment, strict=True) for key in keys)
        for of_sides, of_teams in known
    )


def _same_sizes(
    sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], assignment: Sequence[int]
) -> bool:
    return all(len(sides[place]) == len(team) for team, place in zip(teams, assignment, strict=True))


def _known(kind: str, people: Iterable[Member | Player]) -> set[str]:
    """Return the names of one kind without the names that two people share, which identify neither."""
    names = [folded(getattr(person, kind)) for person in people]
    return {name for name in names if name and names.count(name) == 1}
