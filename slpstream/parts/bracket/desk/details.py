"""Take the round, event and length of sets from the bracket, and pass these details to the stations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

import msgspec

from slpstream.parts.bracket.desk.entries import Entries, Key
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.interface import BracketSet
from slpstream.parts.bracket.queue import State

Describe = Callable[[str, str, BracketSet], Awaitable[None]]
"""Gives a set of a station its details. Takes the station, the id of the played set (empty for the next one), and the
set of the bracket."""

_FINISHED = (State.DONE, State.DROPPED)


class Details:
    """Passes on details, but only once for each set."""

    def __init__(self, entries: Entries, known: KnownBracket, describe: Describe | None) -> None:
        """If you don't pass `describe`, no details are passed on."""
        self._entries = entries
        self._known = known
        self._describe = describe
        self._upcoming: dict[str, str] = {}
        """The set of the bracket that each station got the details of before its first game."""

    async def give(self, key: Key) -> None:
        """Pass on the details about the set of an entry."""
        entry = self._entries.get(key)
        found = None if entry is None else self._known.sets.get(entry.set_id)
        if self._describe is None or entry is None or found is None:
            return
        if entry.detailed or entry.state in _FINISHED:
            return
        await self._describe(entry.station, entry.played_id, found)
        async with self._entries.changing:
            await self._entries.keep([msgspec.structs.replace(self._entries.get(key, entry), detailed=True)])

    async def give_upcoming(self, station: str) -> None:
        """Pass on the details about the next set of the given station."""
        found = expected_set(station, self._entries, self._known)
        if self._describe is not None and found is not None and self._upcoming.get(station) != found.id:
            self._upcoming[station] = found.id
            await self._describe(station, "", found)

    async def give_all(self, stations: Collection[str]) -> None:
        """Pass on all details that we didn't know before, and those of next sets that have changed."""
        for key, entry in list(self._entries.items()):
            if entry.set_id and not entry.detailed and entry.state not in _FINISHED:
                await self.give(key)
        for station in stations:
            if station in self._upcoming:
                await self.give_upcoming(station)


def expected_set(station: str, entries: Entries, known: KnownBracket) -> BracketSet | None:
    """Return the set that was called to a station or is being played there.

    If there is none, we use the next one in the queue of the station's stream, or else the only one that is assigned to
    the station.
    """
    here = known.here
    finished = {entry.set_id for entry in entries.values() if entry.state == State.DONE}
    coming = {
        id: each
        for id, each in known.sets.items()
        if each.state != "done" and each.is_filled and each.id not in finished
    }
    at_station = [e for e in coming.values() if e.station is not None and here.get(e.station.id) == station]
    begun = [each for each in at_station if each.state != "open"]
    queued = [coming[id] for id in known.queues.get(station, ()) if id in coming]
    return next((sets[0] for sets in (begun, queued[:1], at_station) if len(sets) == 1), None)
