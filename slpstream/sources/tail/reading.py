"""Read the files that are due, in the event loop if possible and otherwise in a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from slpstream.model.errors import Replaced, SourceError, Unreadable, Vanished
from slpstream.sources.tail.descriptor import ReadResult
from slpstream.sources.tail.events import Lost, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import PREFIX_BYTES
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.schedule import ReadSchedule
from slpstream.sources.tail.tailer import FileTail, source_error_of
from slpstream.sources.tail.threads import Threads

# Finished files are read one after the other, in parts of a chunk, so that growing files are checked often in between.
_PARTS_PER_CHUNK: Final = 8


class Reader:
    """Reads the files that are due, and appends the resulting events to a queue.

    It is the only user of the read buffers.
    """

    def __init__(
        self,
        table: FileTable,
        schedule: ReadSchedule,
        notifications: Notifications,
        threads: Threads,
        events: deque[TailEvent],
        *,
        chunk_bytes: int,
        rewritable_bytes: int,
    ) -> None:
        self._table = table
        self._schedule = schedule
        self._notifications = notifications
        self._threads = threads
        self._events = events
        self._chunk_bytes = chunk_bytes
        # Shared by the reads of all files: reads do not overlap, and the bytes are copied out immediately.
        self._chunk = memoryview(bytearray(chunk_bytes))
        self._head = memoryview(bytearray(rewritable_bytes + PREFIX_BYTES))
        self._in_thread = False
        self._closing: list[FileTail] = []
        """Files that were dropped while a thread may have been reading from them."""

    async def read_due(self, now: float) -> None:
        """Read the files that are due, in turn, until we have read about one chunk.

        Files that probably need just one read come first. This is the case for a game that is growing. Files that
        arrived whole come last, and only one at a time.
        """
        ready = self._schedule.ready()
        growing = [tail for tail in ready if not tail.file.arrived_whole]
        growing.sort(key=self._needs_many_reads)
        budget = await self._read_in_turn(growing, now, self._chunk_bytes, self._chunk_bytes)
        whole = next((tail for tail in ready if tail.file.arrived_whole and tail in self._schedule.due), None)
        if whole is not None and budget > 0 and self._schedule.may_read_part(now):
            part = max(1, self._chunk_bytes // _PARTS_PER_CHUNK)
            await self._read_in_turn([whole], now, part, part)

    def read_in_loop(self, tail: FileTail, now: float) -> bool:
        """Read one file in the event loop. If that would block, this returns False without doing anything."""
        result = tail.read_nowait(self._chunk, self._head)
        if result is None:
            return False
        self._apply(tail, result, now)
        return True

    def poll_unchanged(self, tails: Iterable[FileTail], now: float) -> None:
        """Poll some of the open files. Those that turn out to be unchanged need no turn."""
        for tail in tails:
            if tail.descriptor.nowait and tail.is_unchanged(now):
                tail.read_at = now

    def drop(self, tail: FileTail) -> None:
        """Stop following a file and close it."""
        connection = self._notifications.connection
        if connection is not None:
            connection.unfollow(tail)
        self._table.deactivate(tail)
        self._schedule.remove(tail)
        if self._in_thread:
            self._closing.append(tail)
        else:
            tail.descriptor.close()

    def _needs_many_reads(self, tail: FileTail) -> bool:
        return tail.has_unread_bytes and (tail.offset > 0 or tail.file.size_bytes > self._chunk_bytes)

    async def _read_in_turn(self, tails: Sequence[FileTail], now: float, budget: int, limit: int) -> int:
        """Read at most `limit` bytes of each file, until `budget` bytes are used up.

        Returns how much of the budget is left.
        """
        due = self._schedule.due
        blocking: list[FileTail] = []
        for tail in tails:
            if budget <= 0:
                return 0
            if tail not in due or tail not in self._table.open:
                continue  # lost or replaced in the meantime
            was_notified = due[tail]
            if tail.descriptor.nowait and not was_notified and tail.is_unchanged(now):
                tail.read_at = now
                del due[tail]
                continue
            result = tail.read_nowait(self._chunk[:limit], self._head) if tail.descriptor.nowait else None
            if result is None:
                blocking.append(tail)
                continue
            budget -= len(result.data)
            if result.data and not was_notified:
                self._schedule.note_missed_notification(tail)
            self._apply(tail, result, now)
        if blocking and budget > 0:
            budget -= await self._read_in_thread(blocking, now, budget, limit)
        return budget

    async def _read_in_thread(self, tails: list[FileTail], now: float, budget: int, limit: int) -> int:
        """Like `_read_in_turn`, but in a thread. Returns how many bytes were read."""
        due = self._schedule.due

        def read_all() -> list[ReadResult | OSError | None]:
            left = budget
            results: list[ReadResult | OSError | None] = []
            for tail in tails:
                if left <= 0:
                    break
                if not due.get(tail) and tail.is_unchanged(now):
                    results.append(None)
                    continue
                try:
                    result = tail.read(limit)
                except OSError as error:
                    results.append(error)
                else:
                    left -= len(result.data)
                    results.append(result)
            return results

        self._in_thread = True
        try:
            results = await self._threads.run(read_all)
        finally:
            self._in_thread = False
            while self._closing:
                self._closing.pop().descriptor.close()
        count = 0
        for tail, result in zip(tails, results, strict=False):
            if tail not in self._table.open:
                continue  # released in the meantime
            if isinstance(result, OSError):
                self._lose(tail, source_error_of(result, tail.path))
            elif result is not None:
                count += len(result.data)
                if result.data and not due.get(tail):
                    self._schedule.note_missed_notification(tail)
                self._apply(tail, result, now)
            else:
                tail.read_at = now
                due.pop(tail, None)
        return count

    def _apply(self, tail: FileTail, result: ReadResult, now: float) -> None:
        schedule = self._schedule
        schedule.end_turn(tail, len(result.data))
        try:
            self._events += tail.apply(result, now)
        except SourceError as error:
            self._lose(tail, error)
            return
        if tail.has_unread_bytes:
            schedule.queue_unread(tail)
            return
        if schedule.due or schedule.waiting_for:
            schedule.finish(tail)
        tail.at_start = False
        if tail.is_lost(result.status):
            if self._table.active.get(tail.path) is tail:
                self._table.doubtful.add(tail.path)  # lost once the path has been examined
            elif self._table.is_taken(tail.path):
                self._lose(tail, Replaced(tail.path, "another file has taken its name"))
            else:
                self._lose(tail, Vanished(tail.path, "it was deleted or moved away"))

    def _lose(self, tail: FileTail, error: SourceError) -> None:
        if self._table.active.get(tail.path) is tail and not isinstance(error, Unreadable):
            # Another file may have this path now, and is then opened immediately. After a read error the path waits
            # for the next scan instead, since the error is likely to happen again.
            self._table.doubtful.add(tail.path)
        self.drop(tail)
        self._events.append(Lost(tail.file, error))
