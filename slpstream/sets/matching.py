"""Match the players of a game with the members of a set.

We recognise people by their names, and we try the most reliable kind first: the connect code, then the netplay name,
then the name that was entered by the operator or by the people themselves, and finally the tag. If that doesn't work,
we use the port, and then the place in the score. To find out which side is which, we compare all ways to assign the
sides of the game to the sides of the set (there are at most 24), and choose the first one that leaves the most people
in their old place. If even this one moves someone to another side, then the game belongs to another set.
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
    """Return a name without differences in case and spaces, so that you can compare it with others."""
    return " ".join(name.split()).casefold()


def others(members: Sequence[Member], players: Sequence[Player]) -> bool:
    """Whether the names in the replays tell us that the players are not the same people as the members.

    To decide this, we use the most reliable kind of name that all players and members have.
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
    """Return the place in the set of each side of a game. If the game can't belong to the set, this returns `None`.

    This is the case if the sides don't have the same sizes, if a person that we recognise has changed teams, or if a
    player with another name would get the name of a member. `names` are the names that were entered for this game, by
    player index.
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
    """For each player of each team, return the member that this player is.

    `order` contains the place of each team, which must be as large as its side. If we recognise players by their names,
    they stay the same person no matter on which side. Everyone else becomes one of the remaining members of their
    side. We do this in such a way that as few of them as possible get the name of another person or change ports.
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
    """Return the members that we recognise by a name, by player index in the game."""
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
    """Return those other members that we recognise by their ports, by player index in the game.

    `people` are the members that we have recognised by their names. If one of them has changed ports, we can't trust
    the ports of anyone.
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
    """Return how many members would become other people, and how many would have changed ports."""
    pairs = list(zip(members, players, strict=True))
    strangers = sum(not is_same_person(member, player, names) for member, player in pairs)
    return strangers, sum(member.index != player.index for member, player in pairs)


def crew_places(
    members: Sequence[Member], stays: Sequence[bool], players: Sequence[Player], names: Mapping[int, str]
) -> tuple[int, ...]:
    """Return the crew of each player in a game.

    `members` are those who have played last, and `stays` tells us for each of them whether there are stocks left. A
    player who stays is recognised by name. If there are no names, we use the port, because it doesn't change.
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
    """Whether a player might be a member, because there's no name that shows that they are different people.

    If a name was entered for this game, it can confirm that it's the same person. It can't tell us the opposite,
    though, because it might have replaced another name.
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
    """Return all kinds of names that we use to match players, beginning with the most reliable."""
    port: _Kind = (lambda m: {str(m.index)}), (lambda p: str(p.index))
    return *_kinds_of_names(names), port


def _kinds_of_names(names: Mapping[int, str]) -> Sequence[_Kind]:
    """Return the kinds of names, beginning with the most reliable."""

    def in_replay(kind: str) -> _Kind:
        return (lambda m: {folded(getattr(m, kind))} - {""}), (lambda p: folded(getattr(p, kind)) or None)

    given: _Kind = _given_names, (lambda p: folded(names.get(p.index, "")) or None)
    return in_replay("connect_code"), in_replay("netplay_name"), given, in_replay("tag")


def _given_names(member: Member) -> set[str]:
    """Return the names that someone might use for the given member when entering a name."""
    seat = member.seat.name if member.seat else ""
    return {folded(name) for name in (member.name, member.netplay_name, member.tag, seat)} - {""}


def _fit(known: Sequence[_Keys], assignment: Sequence[int]) -> tuple[int, ...]:
    """For each kind of name, return how many players would stay in their old place with the given assignment."""
    return tuple(
        sum(key in of_sides[place] for keys, place in zip(of_teams, assignment, strict=True) for key in keys)
        for of_sides, of_teams in known
    )


def _same_sizes(
    sides: Sequence[Sequence[Member]], teams: Sequence[Sequence[Player]], assignment: Sequence[int]
) -> bool:
    return all(len(sides[place]) == len(team) for team, place in zip(teams, assignment, strict=True))


def _known(kind: str, people: Iterable[Member | Player]) -> set[str]:
    """Return all names of one kind.

    If two people share a name, it is left out, because it can't identify either of them.
    """
    names = [folded(getattr(person, kind)) for person in people]
    return {name for name in names if name and names.count(name) == 1}
