"""Poll a bracket to read its sets, and use them to update the entries of the queue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import msgspec
import trio

from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.changer import SetChanger
from slpstream.parts.bracket.desk.details import Details
from slpstream.parts.bracket.desk.entries import Entries, Key, rename_sets
from slpstream.parts.bracket.desk.foreign_changes import REREAD, ForeignChanges
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.link import PAUSING, Link
from slpstream.parts.bracket.desk.matcher import Matcher
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.desk.wakeup import Wakeup
from slpstream.parts.bracket.interface import Bracket, BracketSet, Refused
from slpstream.parts.bracket.matching import names_in
from slpstream.parts.bracket.queue import WAITING, Entry, State
from slpstream.system.logs import get_logger

_FULL_READ_SECONDS: Final = 900.0
_OVERLAP_SECONDS: Final = 90
"""Sets that changed this long before the last known change are read again: the clocks of servers differ."""
_LATELY_SECONDS: Final = 48 * 3600


class BracketReader:
    """Reads one bracket. You should call `run` once."""

    def __init__(
        self,
        bracket: Bracket,
        link: Link,
        entries: Entries,
        known: KnownBracket,
        matcher: Matcher,
        details: Details,
        changes: ForeignChanges,
        changer: SetChanger,
        policy: Policy,
        stations: Callable[[], Collection[str]],
        now_ms: Callable[[], int],
        work: Wakeup,
    ) -> None:
        """Each time the bracket was read, this sets `work`."""
        self._bracket = bracket
        self._link = link
        self._entries = entries
        self._known = known
        self._matcher = matcher
        self._details = details
        self._changes = changes
        self._changer = changer
        self._policy = policy
        self._stations = stations
        self._now_ms = now_ms
        self._work = work
        self._streams = _StreamQueues(bracket, policy.streams)
        self._progress = _Progress()
        self._early = Wakeup()

    def read_soon(self) -> None:
        """Read the bracket now, instead of waiting until it's time for the next poll."""
        self._early.set()

    async def run(self) -> None:
        """Read the bracket and do the chores in it, until cancelled."""
        while True:
            await trio.sleep_until(self._link.paused_until)
            self._early.clear()
            try:
                await self._refresh()
                await self._changer.do_chores()
            except Refused as refusal:
                await self._failed(refusal)
            else:
                self._link.worked()
            self._work.set()
            with trio.move_on_after(self._policy.poll_seconds):
                await self._early.wait()

    async def find_again(self, key: Key) -> None:
        """Read all sets again, including those that are complete, because a pool has got new ids.

        We notice this if the bracket doesn't have the set of the entry with this key any more.
        """
        self._progress.full_read_due = float("-inf")
        self._changes.missing.add(self._entries[key].set_id)
        try:
            await self._refresh()
            lately = await self._bracket.changed_sets(self._now_ms() // 1000 - _LATELY_SECONDS)
        except Refused as refusal:
            await self._failed(refusal)
            return
        self._known.update(lately)
        async with self._entries.changing:
            changed: list[Entry] = []
            places: dict[str, list[BracketSet]] = {}
            for each in self._known.sets.values():
                places.setdefault(each.place, []).append(each)
            for entry in self._entries.values():
                if not entry.set_id or entry.set_id in self._known.sets or entry.state in (State.DONE, State.DROPPED):
                    continue
                others = {each.set_id for each in changed}
                held = self._entries.held
                free = [e for e in places.get(entry.place, ()) if e.id not in held and e.id not in others]
                found = queue.found_again(entry, free)
                if found is not None:
                    changed.append(found)
                elif entry.key == key:
                    changed.append(queue.lost(entry))
            await self._entries.keep(changed)

    async def _failed(self, refusal: Refused) -> None:
        await rename_sets(refusal.renamed, self._entries, self._known)
        self._link.failed(refusal)

    async def _refresh(self) -> None:
        """Read those sets that have changed.

        From time to time, read all of them. Raises `Refused` if the bracket doesn't allow it.
        """
        began_ms, began = self._now_ms(), trio.current_time()
        unreported = {entry.key for entry in self._entries.values() if entry.state in WAITING}
        if began >= self._progress.full_read_due:
            read = await self._read_all()
            self._progress.full_read_due = began + _FULL_READ_SECONDS
        else:
            read = await self._bracket.changed_sets(max(0, self._progress.newest_change - _OVERLAP_SECONDS))
            self._known.update(read)
        if self._policy.streams:
            queues = await self._streams.read()
            if queues is not None:
                self._known.queues = queues
        self._progress.newest_change = max([self._progress.newest_change, *(each.updated_at for each in read)])
        await self._update_entries(began_ms, unreported)

    async def _read_all(self) -> Collection[BracketSet]:
        if not self._link.checked:
            self._link.passed_check(await self._bracket.check(), dry_run=self._policy.dry_run)
        stations = await self._bracket.stations()
        read = {each.id: each for each in await self._bracket.open_sets()}
        self._known.stations = stations
        self._changes.missing -= read.keys()
        self._changes.unread |= {
            entry.key for entry in self._entries.values() if entry.set_id not in read and self._may_be_done(entry)
        }
        self._known.replace_open(read.values())
        self._changer.retry_refused()
        return read.values()

    def _may_be_done(self, entry: Entry) -> bool:
        """Whether we have to read the set of the given entry if it isn't among the open ones."""
        if not entry.set_id or entry.state not in REREAD or entry.set_id in self._changes.missing:
            return False
        found = self._known.sets.get(entry.set_id)
        return found is None or found.state != "done" or self._changes.is_new(found)

    async def _update_entries(self, began_ms: int, unreported: Collection[Key]) -> None:
        """Match those entries that didn't have a match before, and note which sets were completed by others.

        `began_ms` is when we began to read, and `unreported` are the keys of the entries that were waiting at that
        time.
        """
        async with self._entries.changing:
            for entry in list(self._entries.values()):
                if not entry.set_id and not entry.settled and entry.state in (State.UNMATCHED, State.ASK):
                    await trio.lowlevel.checkpoint()
                    await self._entries.keep([self._matcher.matched(entry)])
                found = self._known.sets.get(entry.set_id)
                if found is None or found.state != "done" or entry.state not in REREAD:
                    continue
                if self._changes.is_new(found):
                    self._changes.note(found)
                    self._changes.unread.add(entry.key)
            # After all have been matched, because a set waits for those that its players come from.
            settled = [self._settled(entry, began_ms, unreported) for entry in self._entries.values()]
            await self._entries.keep(settled)
        await self._details.give_all(self._stations())

    def _settled(self, entry: Entry, began_ms: int, unreported: Collection[Key]) -> Entry:
        """Return the entry. It is settled if we have read the bracket after its end, and all earlier results were
        already in it.

        We have to be this careful because otherwise, we might take a friendly for the next set of the same players.
        """
        ended = entry.left_behind or (entry.played.over and entry.over_at_ms < began_ms)
        if entry.state != State.UNMATCHED or entry.set_id or entry.settled or not ended:
            return entry
        names = names_in(entry.played)
        for other in self._entries.values():
            waits = other.key != entry.key and (other.state in WAITING or other.key in unreported)
            if waits and (other.station == entry.station or not names.isdisjoint(names_in(other.played))):
                return entry
        return msgspec.structs.replace(entry, settled=True)


class _Progress(msgspec.Struct):
    """How much of a bracket was already read."""

    full_read_due: float = float("-inf")
    """When all sets are read again, on trio's clock."""
    newest_change: int = 0
    """The newest change that was read, by the bracket's clock, in Unix seconds."""


class _StreamQueues:
    """Finds out which sets come next on those streams that show our stations."""

    def __init__(self, bracket: Bracket, streams: Mapping[str, str]) -> None:
        """`streams` maps the name of each stream to our station."""
        self._bracket = bracket
        self._ours = {stream.casefold(): station for stream, station in streams.items()}
        self._refused = ""
        """Why the queues could not be read, or empty if they could."""
        self._log = get_logger()

    async def read(self) -> Mapping[str, Sequence[str]] | None:
        """Return the ids of the next sets for each station. If the bracket refuses to show them, this returns `None`.

        Raises `Refused` if it refuses for a reason that affects all requests.
        """
        try:
            queues = await self._bracket.stream_queues()
        except Refused as refusal:
            if refusal.kind in PAUSING:
                raise
            if refusal.what != self._refused:
                self._log.warning("the queues of streams cannot be read", what=refusal.what)
            self._refused = refusal.what
            return None
        self._refused = ""
        return {self._ours[name.casefold()]: ids for name, ids in queues.items() if name.casefold() in self._ours}
