"""Match a set that was played with a set of the bracket, and its sides with the entrants.

We compare people by their connect code, or by their name with and without the prefix. We never guess: if there are
several sets that it might be, or the names don't decide it, a person has to. This module doesn't do any I/O.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations
from types import MappingProxyType
from typing import Literal

import msgspec

from slpstream.parts.bracket.interface import BracketSet, BracketStation, Entrant, Participant
from slpstream.parts.bracket.played import Played, PlayedPlayer

Rule = Literal["players", "called"]
"""Which sets are considered: all without a result, or only those that are called or running or at the station."""


class Match(msgspec.Struct, frozen=True):
    """The result when we search for the set of the bracket."""

    found: BracketSet | None = None
    swapped: bool = False
    """The first side is the second entrant."""
    candidates: tuple[str, ...] = ()
    """Ids of sets among which a person has to choose."""
    why: str = ""
    """Why no set was found, for people."""


class KnownSets:
    """Those sets of a bracket that don't have a result.

    You can find them by the names of their players and by station.
    """

    def __init__(self, sets: Iterable[BracketSet], here: Mapping[str, str]) -> None:
        """`here` maps the bracket's ids of stations to our stations."""
        self._by_name: dict[str, list[BracketSet]] = {}
        self._by_station: dict[str, list[BracketSet]] = {}
        for each in sets:
            if each.state == "done" or not each.is_filled:
                continue
            for name in {name for entrant in each.entrants if entrant is not None for name in _names_of(entrant)}:
                self._by_name.setdefault(name, []).append(each)
            if each.station is not None and each.station.id in here:
                self._by_station.setdefault(here[each.station.id], []).append(each)

    def of_players(self, played: Played) -> list[BracketSet]:
        """Return those sets in which one of the entrants might be one of the players."""
        found = {each.id: each for name in names_in(played) for each in self._by_name.get(name, ())}
        return list(found.values())

    def at_station(self, station: str) -> Sequence[BracketSet]:
        """Return those sets that are assigned to our station."""
        return self._by_station.get(station, ())


def match(
    played: Played,
    known: KnownSets,
    station: str,
    taken: Collection[str],
    rule: Rule,
    *,
    elsewhere: Mapping[str, str] = MappingProxyType({}),
) -> Match:
    """Find the set that is played on a station.

    `taken` are the ids of sets that were already matched. `elsewhere` maps those of them that are in progress to their
    stations. If it is one of these, it might have been moved here, so a person has to decide.
    """
    at_station = [each for each in known.at_station(station) if each.id not in taken]
    considered = [
        each
        for each in known.of_players(played)
        if (each.id not in taken or each.id in elsewhere)
        and (rule == "players" or each.state != "open" or each in at_station)
    ]
    certain = [(each, swapped) for each in considered for swapped in (False, True) if _agree(played, each, swapped)]
    chosen = _only(certain, at_station)
    if chosen is not None and chosen[0].id in elsewhere:
        return Match(candidates=(chosen[0].id,), why=f"it began on {elsewhere[chosen[0].id]}")
    if chosen is not None:
        return Match(chosen[0], chosen[1])
    if certain:
        return Match(candidates=_ids(each for each, _ in certain), why="several sets of the bracket have these players")
    return _by_station(played, at_station)


def names_in(played: Played) -> set[str]:
    """Return all names that the bracket might use for the players of a set."""
    if played.crews is not None:
        return {_plain(crew) for crew in played.crews} - {""}
    return {name for side in played.players for player in side for name in _names(player)}


def sides_of(played: Played, entrants: tuple[Entrant, Entrant]) -> Literal["same", "swapped", "others", "unclear"]:
    """Use the names of the players to find out whether the sides of a set are two entrants, in the same or in the
    swapped order.

    You get `others` if the names don't fit either of them, and `unclear` if they fit both or we don't know them.
    """
    answers = [_answers(played, entrants, swapped) for swapped in (False, True)]
    certain = [swapped for swapped in (False, True) if all(answer is True for answer in answers[swapped])]
    possible = [swapped for swapped in (False, True) if True in answers[swapped] and False not in answers[swapped]]
    for fitting in (certain, possible):
        if len(fitting) == 1:
            return "swapped" if fitting[0] else "same"
        if fitting:
            return "unclear"
    return "others" if all(False in each for each in answers) else "unclear"


def _names(player: PlayedPlayer) -> set[str]:
    """Return the names that the bracket might use for the given player."""
    names = {_plain(player.connect_code), _plain(player.name), _plain(f"{player.sponsor} {player.name}")}
    return names - {""}


def _names_of(entrant: Entrant) -> set[str]:
    names = {_plain(entrant.name)}
    for each in entrant.participants:
        names |= {_plain(each.name), _plain(f"{each.prefix} {each.name}"), _plain(each.connect_code)}
    return names - {""}


def _by_station(played: Played, at_station: Sequence[BracketSet]) -> Match:
    """Find a match among the sets that are assigned to the station. Here it is enough if we know one of the names."""
    if not at_station:
        return Match(why="no set of the bracket has these players")
    possible = [
        (each, swapped)
        for each in at_station
        for swapped in (False, True)
        if _possible(played, each, swapped) and not _possible(played, each, not swapped)
    ]
    if len(possible) == 1:
        return Match(possible[0][0], possible[0][1])
    return Match(
        candidates=_ids(at_station),
        why="a set of the bracket is at this station, but the names of the players do not say who is who",
    )


def _only(
    certain: Sequence[tuple[BracketSet, bool]], at_station: Collection[BracketSet]
) -> tuple[BracketSet, bool] | None:
    """If there's just one set, return it.

    If not, take the only one at this station, or else the only one that was called or has begun.
    """
    here = [each for each in certain if each[0] in at_station]
    begun = [each for each in certain if each[0].state != "open"]
    return next((found[0] for found in (certain, here, begun) if len(found) == 1), None)


def _ids(sets: Iterable[BracketSet]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.id for each in sets))


def _answers(played: Played, entrants: tuple[Entrant | None, Entrant | None], swapped: bool) -> Sequence[bool | None]:
    """For each entrant, return whether the side at its place is this entrant."""
    order = (1, 0) if swapped else (0, 1)
    return [
        _is_entrant(played, side, entrant) for side, entrant in zip(order, entrants, strict=True) if entrant is not None
    ]


def _agree(played: Played, found: BracketSet, swapped: bool) -> bool:
    """Whether all players on both sides are those of the entrants."""
    return all(answer is True for answer in _answers(played, found.entrants, swapped))


def _possible(played: Played, found: BracketSet, swapped: bool) -> bool:
    """Whether the players of one side are those of the entrant, and we don't know the players of the other side."""
    answers = _answers(played, found.entrants, swapped)
    return True in answers and False not in answers


def _is_entrant(played: Played, place: int, entrant: Entrant) -> bool | None:
    """Whether a side is an entrant. If it, or one of its players, doesn't have a name, this returns `None`."""
    if played.crews is not None:
        crew = _plain(played.crews[place])
        return crew == _plain(entrant.name) if crew else None
    side = played.players[place]
    participants = entrant.participants or (Participant(entrant.name),)
    if len(side) != len(participants):
        # An entrant can have more participants than play. Then its name decides.
        names = {_plain(player.name) for player in side}
        return names == {_plain(entrant.name)} if "" not in names else None
    unknown = any(not player.name and not player.connect_code for player in side)
    for order in permutations(participants):
        if all(_is_participant(player, participant) for player, participant in zip(side, order, strict=True)):
            return True
    return None if unknown else False


def _is_participant(player: PlayedPlayer, participant: Participant) -> bool:
    if player.connect_code and participant.connect_code:
        return _plain(player.connect_code) == _plain(participant.connect_code)
    name = _plain(player.name)
    if not name:
        return False
    prefixed = _plain(f"{player.sponsor} {player.name}")
    own = _plain(participant.name)
    with_prefix = _plain(f"{participant.prefix} {participant.name}")
    if player.sponsor and participant.prefix and _plain(player.sponsor) == _plain(participant.prefix):
        return name == own
    return own != "" and (name in (own, with_prefix) or prefixed == with_prefix)


def _plain(name: str) -> str:
    """Return a name without differences in case, spaces and separators."""
    return re.sub(r"[\s|]+", " ", name).strip().casefold()


def stations_here(
    stations: Iterable[BracketStation], ours: Mapping[str, str], configured: Mapping[str, str]
) -> dict[str, str]:
    """Return a mapping from the bracket's ids of stations to our stations.

    `ours` contains the names of our stations by id. `configured` maps the number or name of a station in the bracket to
    our station. All other stations match if our id or name ends with their number, or if their name is the same as our
    id or name. If a station matches none of ours, or several, it is left out.
    """
    by_number: dict[int, set[str]] = {}
    by_name: dict[str, set[str]] = {}
    for id, name in ours.items():
        for each in (id, name) if id not in configured.values() else ():
            by_name.setdefault(_plain(each), set()).add(id)
            if number := re.search(r"\d{1,6}\Z", each):
                by_number.setdefault(int(number[0]), set()).add(id)
    found: dict[str, str] = {}
    for station in stations:
        labels = [label for label in (str(station.number or ""), station.name) if label]
        named = [configured[label] for label in labels if label in configured]
        alike = set(by_number.get(station.number, ())) if station.number is not None else set()
        if station.name:
            alike |= by_name.get(_plain(station.name), set())
        if named:
            found[station.id] = named[0]
        elif len(alike) == 1:
            found[station.id] = alike.pop()
    return found
