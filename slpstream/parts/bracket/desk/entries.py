"""The queue of a desk, in memory and on disk. If something changes, it is stored before you can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import trio

from slpstream.model.errors import SinkError, StoreError
from slpstream.model.foreign_data import read_json
from slpstream.model.prepared import prepared
from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.queue import WAITING, Entry, State
from slpstream.parts.bracket.reports import AtWork, ReportEntry, ReportStore
from slpstream.system.logs import get_logger

Key = tuple[str, str]
"""A station, and the id of a played set."""
StationSet = tuple[str, Mapping[str, Any]]
"""A station and the payload of one of its sets."""

_STORE_PAUSE_SECONDS: Final = 5.0
MAX_FINISHED: Final = 2000

Result = TypeVar("Result")


class _BySet(NamedTuple):
    """Those entries that have a set of the bracket."""

    held: Mapping[str, Sequence[Entry]]
    """By the id of the set."""
    in_progress: Mapping[str, str]
    """The stations of those whose set is not over, by the id of the set."""


class Entries(Mapping[Key, Entry]):
    """The entries of one bracket, beginning with the oldest."""

    def __init__(self, bracket: str, store: ReportStore, now_ms: Callable[[], int]) -> None:
        """`now_ms` returns the Unix time in milliseconds."""
        self._bracket = bracket
        self._store = store
        self._now_ms = now_ms
        self._limiter = trio.CapacityLimiter(1)
        self._entries: dict[Key, Entry] = {}
        self._by_set: _BySet | None = None
        """`None` after entries have changed."""
        self._log = get_logger()
        self.changing = trio.Lock()
        """Hold it from reading an entry until its changed form is kept."""
        self.trouble: str | None = None
        """Why changes cannot be stored, or `None` while they can."""

    def __getitem__(self, key: Key) -> Entry:
        return self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def waiting(self) -> int:
        """Number of pending entries."""
        return sum(entry.state in WAITING for entry in self._entries.values())

    @property
    def held(self) -> Mapping[str, Sequence[Entry]]:
        """Those entries that have a set of the bracket, by the id of this set."""
        return self._found_by_set().held

    def in_progress_elsewhere(self, station: str) -> Mapping[str, str]:
        """Return those sets of the bracket that are in progress at other stations.

        The keys are the ids of the sets, and the values are their stations.
        """
        return {id: other for id, other in self._found_by_set().in_progress.items() if other != station}

    def _found_by_set(self) -> _BySet:
        if self._by_set is None:
            held: dict[str, list[Entry]] = {}
            for entry in self._entries.values():
                if entry.set_id and entry.state != State.DROPPED:
                    held.setdefault(entry.set_id, []).append(entry)
            in_progress = {
                set_id: entry.station
                for set_id, (entry, *_) in held.items()
                if not entry.played.over and entry.state != State.DONE
            }
            self._by_set = _BySet(held, in_progress)
        return self._by_set

    async def load(self) -> AtWork | None:
        """Load all entries. Returns when the bracket was at work before, or `None` if it never was."""
        for body in await self._call_store(lambda: self._store.entries(self._bracket)):
            try:
                entry = _decode(body)
            except StoreError as error:
                self._log.error("an entry in the queue of the bracket cannot be read", what=str(error))
            else:
                self._entries[entry.key] = entry
        self._by_set = None
        return await self._call_store(lambda: self._store.at_work(self._bracket))

    async def keep(self, entries: Iterable[Entry]) -> None:
        """Store those entries that are different from the ones we know.

        You have to hold `changing` when you call this.
        """
        changed = [entry for entry in entries if self._entries.get(entry.key) != entry]
        if not changed:
            return
        rows = [ReportEntry(*entry.key, _is_kept(entry), _encode(entry)) for entry in changed]
        now_ms = self._now_ms()
        await self._call_store(lambda: self._store.keep(self._bracket, rows, now_ms))
        for entry in changed:
            self._entries[entry.key] = entry
        self._by_set = None

    async def rename(self, ids: Mapping[str, str]) -> None:
        """Replace the ids of sets. `ids` maps the old ones to the new ones."""
        async with self.changing:
            await self.keep([queue.renamed(entry, ids) for entry in self._entries.values()])

    async def note_alive(self) -> None:
        """Store the fact that the bracket is at work."""
        await self._call_store(partial(self._store.note_alive, self._bracket, self._now_ms()))

    async def forget_finished(self) -> Sequence[Key]:
        """Remove the oldest of those entries that are finished. Returns their keys."""
        await self._call_store(partial(self._store.remove_finished, self._bracket, MAX_FINISHED))
        async with self.changing:
            finished = [key for key, entry in self._entries.items() if not _is_kept(entry)]
            removed = finished[: max(0, len(finished) - MAX_FINISHED)]
            for key in removed:
                del self._entries[key]
            self._by_set = None
        return removed

    async def _call_store(self, operation: Callable[[], Result]) -> Result:
        """Run an operation of the store in a worker thread.

        If the store fails (for example, because the disk is full), try it again.
        """
        while True:
            try:
                result = await trio.to_thread.run_sync(operation, limiter=self._limiter)
            except SinkError as error:
                if self.trouble is None:
                    self._log.error("the queue of the bracket cannot be stored; trying again", what=error.what)
                self.trouble = error.what
                await trio.sleep(_STORE_PAUSE_SECONDS)
            else:
                self.trouble = None
                return result


async def rename_sets(ids: Mapping[str, str], entries: Entries, known: KnownBracket) -> None:
    """Replace the ids of sets, both in the queue and in the known bracket. `ids` maps the old ones to the new ones."""
    if ids:
        await entries.rename(ids)
        known.rename(ids)


def key_of(station: str, payload: Mapping[str, Any]) -> Key:
    """Return the key of the set that has this payload. Before the first game, the id in it is empty."""
    return station, str(payload.get("setId") or "")


def _is_kept(entry: Entry) -> bool:
    """Whether we must not remove an entry, because it is pending or its set is being played."""
    return entry.state in WAITING or entry.state == State.FOLLOWING


@prepared
class _Stored(msgspec.Struct):
    entry: Entry


def _encode(entry: Entry) -> bytes:
    return msgspec.json.encode(_Stored(entry))


def _decode(body: bytes) -> Entry:
    """Decode an entry. Raises `StoreError` if it is damaged."""
    return read_json(body, _Stored, StoreError).entry
