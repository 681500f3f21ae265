"""Turn sets that are played on the stations into entries of the queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.details import Details
from slpstream.parts.bracket.desk.entries import Entries, Key, StationSet, key_of
from slpstream.parts.bracket.desk.matcher import Matcher
from slpstream.parts.bracket.desk.wakeup import Wakeup
from slpstream.parts.bracket.played import Played, played_set
from slpstream.parts.bracket.queue import Entry, Rules, State
from slpstream.parts.bracket.reports import AtWork

SetsSince = Callable[[str | None, int], Awaitable[Sequence[StationSet]]]
"""Returns the sets of a station, or of all stations, whose last game is not older than a time (Unix time in
milliseconds), oldest first."""

EARLIER_MS: Final = 3_600_000
"""Sets whose last game began this long before the daemon stopped are caught up on."""
_DAY_MS: Final = 24 * 3_600_000
_MAX_PENDING: Final = 4096
_UNFINISHED: Final = frozenset({State.UNMATCHED, State.ASK, State.FOLLOWING, State.CONFIRM})


class Intake:
    """Makes sure that each entry knows the current state of its set. You should call `run` once, after `start`."""

    def __init__(
        self,
        entries: Entries,
        matcher: Matcher,
        details: Details,
        sets_since: SetsSince,
        rules: Rules,
        now_ms: Callable[[], int],
        work: Wakeup,
        *,
        reads: bool,
    ) -> None:
        """When entries have changed, this sets `work`.

        `reads` tells us whether it is possible to read the sets of the bracket.
        """
        self._entries = entries
        self._matcher = matcher
        self._details = details
        self._sets_since = sets_since
        self._rules = rules
        self._now_ms = now_ms
        self._work = work
        self._reads = reads
        self._since_ms = 0
        """Sets whose last game is older were over before slpstream could see them for this bracket."""
        self._pending: dict[Key, Mapping[str, Any]] = {}
        """The newest payloads of sets, until they are processed."""
        self._missed: set[Key] = set()
        """The keys of sets that were played while no daemon ran."""
        self._arrived = Wakeup()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note the payload of a `set` message of the given station, so that `run` can process it."""
        key = key_of(station, payload)
        self._pending.pop(key, None)
        self._pending[key] = payload
        while len(self._pending) > _MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._arrived.set()

    async def start(self, at_work: AtWork | None, *, damaged: bool) -> None:
        """Catch up with everything that has happened. `at_work` is when the bracket was at work before.

        Pass `None` if it never was, or if the queue was `damaged`. In the second case, we process the sets of the last
        day again.
        """
        now_ms = self._since_ms = self._now_ms()
        if at_work is not None:  # the clock may have been set back
            self._since_ms = max(min(at_work.until_ms, now_ms) - EARLIER_MS, at_work.since_ms)
        elif damaged:
            for station, payload in await self._sets_since(None, now_ms - _DAY_MS):
                self.set_changed(station, payload)
        await self.catch_up()

    async def catch_up(self) -> None:
        """Note which sets were played while there was no daemon. This needs to know their games first."""
        for station, payload in await self._sets_since(None, self._since_ms):
            key = key_of(station, payload)
            self._missed.add(key)
            self.set_changed(station, self._pending.get(key, payload))  # the pending payload is newer

    async def run(self) -> None:
        """Process payloads until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._pending:
                station, played_id = key = next(iter(self._pending))
                payload = self._pending.pop(key)
                if played_id:
                    await self._process(key, payload)
                elif self._reads:
                    await self._details.give_upcoming(station)
            self._work.set()

    async def _process(self, key: Key, payload: Mapping[str, Any]) -> None:
        played = played_set(payload)
        was_missed = key in self._missed
        self._missed.discard(key)
        if played is None:
            return
        if key in self._entries:
            await self._update(key, played)
        else:
            order = [key_of(*each) for each in await self._sets_since(key[0], self._oldest_ms())]
            is_late = not was_missed and not await self._is_known(key) and played.over
            later = set(order[order.index(key) + 1 :]) if key in order else set()
            await self._add(key, played, later, is_late=is_late)
        await self._details.give(key)

    def _oldest_ms(self) -> int:
        return min(self._since_ms, self._now_ms() - _DAY_MS)

    async def _update(self, key: Key, played: Played) -> None:
        async with self._entries.changing:
            entry = self._entries.get(key) or _new_entry(key, played)  # it may have been removed meanwhile
            await self._entries.keep([self._matcher.with_played(entry, played)])

    async def _add(self, key: Key, played: Played, later: set[Key], *, is_late: bool) -> None:
        """Add an entry. This also ends all earlier sets of the same station. If there are `later` ones, it ends too."""
        station = key[0]
        async with self._entries.changing:
            entry = self._matcher.with_played(_new_entry(key, played, is_late=is_late), played)
            others = [
                each
                for each in self._entries.values()
                if each.station == station and each.key not in later and each.state in _UNFINISHED
            ]
            changed = [queue.left_behind(entry, self._rules) if later else entry]
            changed += [queue.left_behind(each, self._rules) for each in others]
            await self._entries.keep(changed)
        if others:  # games may have moved from those sets to this one
            keys = {each.key for each in others}
            for other_station, older in await self._sets_since(station, self._now_ms() - _DAY_MS):
                if key_of(other_station, older) in keys:
                    self.set_changed(other_station, older)

    async def _is_known(self, key: Key) -> bool:
        """Whether a set that we see for the first time was played since the bracket has been at work.

        This processes the sets before it too.
        """
        known = False
        for station, payload in await self._sets_since(key[0], self._since_ms):
            other = key_of(station, payload)
            if other == key:
                known = True
            elif not known and other not in self._entries:
                self._missed.add(other)
                await self._process(other, self._pending.pop(other, payload))
        return known


def _new_entry(key: Key, played: Played, *, is_late: bool = False) -> Entry:
    station, played_id = key
    doubt = "it was over before slpstream saw it" if is_late else ""
    return Entry(station=station, played_id=played_id, played=played, doubt=doubt)
