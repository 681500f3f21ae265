"""Follow one folder: find its files, read them while they grow, and turn this into a stream of events.

There are three questions, and we keep them apart. *Which files are there?* To find out, we scan the tree every few
seconds in a thread (`scanning`, `file_table`). *Is this still the same file?* We check this with every read (`tailer`,
`identity`). *When should we read?* Usually when there's a notification. If there are none, then on ticks (`schedule`),
so that no open file goes unread for more than one and a half poll intervals. All work is done when the consumer asks
for the next event, so events can't pile up if it is slow. The cost of a wakeup only depends on how many files are open,
and not on how many are in the folder.

Whenever a change of state depends on an await, we make the change after it. This means that if a consumer is cancelled
and then iterates again, it hasn't lost anything. The wall clock is only used for one purpose, which is to decide which
of the files that were there from the start are still being written.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import trio

from slpstream.sources.tail.age import FirstLook
from slpstream.sources.tail.background_call import BackgroundCall
from slpstream.sources.tail.comparing import Comparisons
from slpstream.sources.tail.events import Settled, TailedFile, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.handover import GrowthHandover
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.opening import Opener
from slpstream.sources.tail.reading import Reader
from slpstream.sources.tail.scanning import Scans, ScanTimes, TreeScanner
from slpstream.sources.tail.schedule import ReadSchedule
from slpstream.sources.tail.tailer import FileTail, IsFinished
from slpstream.sources.tail.threads import Threads, TrioThreads

_CLOSE_SECONDS: Final = 5.0
# After this time, a consumer of events that were read together lets other tasks run.
_TURN_SECONDS: Final = 0.004


class FolderTail:
    """Follows all files with certain suffixes below one folder.

    Use this as an asynchronous context manager, and iterate over it to get `TailEvent`s. Only one task may iterate, but
    you can call `release` and `read_again` at any time.
    """

    def __init__(
        self,
        root: Path,
        *,
        suffixes: tuple[str, ...],
        rewritable_bytes: int,
        is_finished: IsFinished | None = None,
        notifications: Notifications | None,
        poll_seconds: float = 0.1,
        scan_seconds: float = 5.0,
        idle_seconds: float = 60.0,
        read_bytes: int = 65536,
        wall_clock: Callable[[], float] = time.time,
        threads: Threads | None = None,
    ) -> None:
        """`suffixes` must be in lower case. The first `rewritable_bytes` of a file are those that its writer can change
        at any time.

        If you pass `is_finished`, it is asked whether a file is finished, given these bytes. Files that are finished
        are read after all others. It is also asked about files whose modification times lie in the future, because
        these times don't tell us anything. It can be called in any thread.
        """
        name = os.fspath(root)
        if notifications is None:
            notifications = Notifications("polling was asked for")
        if threads is None:
            threads = TrioThreads()
        self._suffixes = suffixes
        self._notifications = notifications
        self._events: deque[TailEvent] = deque()
        self._table = FileTable()
        self._schedule = ReadSchedule(self._table.open, poll_seconds, scan_seconds, read_bytes)
        look = None if is_finished is None else FirstLook(name, rewritable_bytes, is_finished)
        self._scans = Scans(
            TreeScanner(name, suffixes, idle_seconds, look, wall_clock, notifications),
            self._table,
            self._schedule,
            threads,
            ScanTimes(name, scan_seconds),
            BackgroundCall(threads, self._on_scan_end),
        )
        self._comparisons = Comparisons(
            name, self._table, rewritable_bytes, BackgroundCall(threads, notifications.wake)
        )
        self._opener = Opener(
            name,
            self._table,
            self._schedule,
            notifications,
            threads,
            rewritable_bytes=rewritable_bytes,
            small_bytes=read_bytes,
            is_finished=is_finished,
        )
        self._reader = Reader(
            self._table,
            self._schedule,
            notifications,
            threads,
            self._events,
            chunk_bytes=read_bytes,
            rewritable_bytes=rewritable_bytes,
        )
        self._handover = GrowthHandover(
            self._table,
            self._schedule,
            self._reader.read_in_loop,
            notifications,
            self._events,
            chunk_bytes=read_bytes,
        )
        self._now = 0.0
        self._turn_began = 0.0
        self._settled = False

    @property
    def active(self) -> Sequence[TailedFile]:
        """The files that are open, in the order in which they were opened."""
        return [tail.file for tail in self._table.open]

    @property
    def listed(self) -> Sequence[TailedFile]:
        """The files that we know about but that aren't open, in no particular order.

        As long as none of them has changed, this is always the same tuple.
        """
        return self._table.listed_files

    def knows(self, file: TailedFile) -> bool:
        """Whether, as far as we know, a file still exists. It doesn't matter whether it is open or was renamed."""
        return self._table.knows(file)

    @property
    def searched(self) -> bool:
        """Whether the first scan is over. Before that, we don't even know whether the folder exists."""
        return self._scans.searched

    @property
    def root_present(self) -> bool:
        """Whether the folder was there during the last scan."""
        return self._scans.root_present

    @property
    def root_trouble(self) -> str | None:
        """The reason why we can't follow the folder right now. It might be missing, or the last scan might have failed.

        This is `None` if everything is fine.
        """
        return self._scans.root_trouble

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._table.closed = True
        self._notifications.read_now = None
        for tail in list(self._table.open):
            self._reader.drop(tail)
        self._events.clear()
        # The threads of a scan and of a comparison cannot be stopped. The wait for them is limited, because the folder
        # may be on a server that does not respond.
        if self._scans.call.is_running or self._comparisons.call.is_running:
            with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                await self._scans.call.wait()
                await self._comparisons.call.wait()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TailEvent:
        if self._events and trio.current_time() - self._turn_began > _TURN_SECONDS:
            await trio.lowlevel.checkpoint()
            self._turn_began = trio.current_time()
        while not self._events:
            if self._table.closed:
                raise StopAsyncIteration
            await self._wait()
            self._turn_began = trio.current_time()
            await self._advance(self._turn_began)
        return self._events.popleft()

    def hand_over_growth(self, take: Callable[[TailEvent], None]) -> None:
        """Get bytes as soon as they are reported. While the iteration is waiting, `take` is called with each event
        about bytes that were appended to a file.

        This saves a task switch, and these events aren't yielded any more. You still get all other events from the
        iteration, even if they result from the same read. It is fine to call `release` and `read_again` from `take`.
        """
        self._handover.start(take)

    async def step(self, now: float | None = None) -> list[TailEvent]:
        """Do everything that is due at `now`, once, and return the events. `now` is on trio's clock, and defaults to
        the current time.

        This reads at most one chunk of each file.
        """
        await self._advance(trio.current_time() if now is None else now)
        events = list(self._events)
        self._events.clear()
        return events

    def release(self, file: TailedFile) -> None:
        """Stop following a file, which means that it is closed and listed. If it isn't open, this does nothing.

        If the file changes later, it is opened again, and you get it as another `TailedFile`.
        """
        tail = self._open_tail(file)
        if tail is None:
            return
        self._reader.drop(tail)
        kept = [event for event in self._events if getattr(event, "file", None) is not file]
        self._events.clear()
        self._events.extend(kept)
        if not self._table.is_taken(tail.path):  # otherwise another file has its path now
            self._table.list_file(file, tail.delivered, exhausted=tail.exhausted)
            self._comparisons.add_released(file, max(self._now, tail.read_at))

    def stop_reading(self, file: TailedFile) -> None:
        """Stop reading a file, because you don't care about the rest of its bytes. It then counts as caught up.

        The file stays open until you release it. From now on, it doesn't matter if it grows. It is only read again if
        it is truncated or replaced, if its first bytes change, or, after its release, if any of the delivered bytes
        change. If the file isn't open, this does nothing.
        """
        tail = self._open_tail(file)
        if tail is not None and not tail.exhausted:
            tail.exhausted = True
            self._schedule.read_soon(tail)

    def read_again(self, file: TailedFile) -> None:
        """Read an open file from its beginning.

        You get it as another `TailedFile`. If the file isn't open, this does nothing.
        """
        if self._open_tail(file) is not None:
            self.release(file)
            self._table.reopen(file)
            self._notifications.wake()

    def _open_tail(self, file: TailedFile) -> FileTail | None:
        return next((tail for tail in self._table.open if tail.file is file), None)

    async def _wait(self) -> None:
        """Wait until there is something to do. This always executes a checkpoint."""
        now = trio.current_time()
        self._schedule.schedule_next_part(now)
        arrivals = self._table.arrivals
        ready = (
            self._scans.call.has_outcome
            or self._scans.has_paths_to_examine
            or self._comparisons.call.has_outcome
            or any(not arrival.finished for arrival in arrivals.values())
        )
        if ready or ((self._schedule.due or arrivals) and not self._schedule.is_paused(now)):
            await trio.lowlevel.checkpoint()
        else:
            await self._handover.wait(self._do_quiet_work)

    def _do_quiet_work(self) -> float:
        """Do what needs no pass of the iteration, and return the time when there will be more to do.

        As long as notifications work, most scans and polls find no news, so the iteration isn't woken for them.
        """
        now = trio.current_time()
        if self._handover.is_waiting and self._is_notified and not self._schedule.due:
            if self._scans.start(now, self._notifications.scan_thread):
                self._reader.poll_unchanged(self._table.open, now)  # all, so that polls need no wakeups of their own
            else:
                self._reader.poll_unchanged(self._schedule.to_poll(now), now)
        return min(self._scans.deadline(now), self._schedule.deadline(), self._comparisons.deadline())

    @property
    def _is_notified(self) -> bool:
        """Whether notifications work, and the iteration knows it."""
        return self._notifications.degraded is None and self._schedule.is_notified

    def _on_scan_end(self) -> None:
        """Apply the scan that has ended if nothing has changed, and otherwise wake the iteration to apply it."""
        if not (self._handover.is_waiting and self._is_notified and self._scans.apply_unchanged(trio.current_time())):
            self._notifications.wake()

    async def _advance(self, now: float) -> None:
        """Do everything that is due at `now`, once, and queue the events that result from it."""
        self._now = now
        self._schedule.schedule_next_part(now)
        self._take_notifications(now)
        self._schedule.is_notified = self._notifications.degraded is None
        if self._schedule.tick(now) and not self._schedule.is_notified:
            # Without notifications, this is the only way to notice in time that a file has left its path.
            self._table.doubtful.update(self._table.active)
        self._scans.start(now)
        if self._scans.call.has_outcome:
            self._events.extend(await self._scans.apply(now))
        if self._scans.has_paths_to_examine:
            self._events.extend(await self._scans.examine(now))
        if self._notifications.degraded is not None:
            await self._scans.check_folders(now)
        if self._table.touched:
            self._events.extend(self._comparisons.add_touched(now))
        if self._comparisons.call.has_outcome:
            self._comparisons.reopen_changed()
        self._comparisons.start_next(now)
        if self._table.arrivals:
            self._events.extend(await self._opener.open_arrivals())
        if self._schedule.due:
            await self._reader.read_due(now)
        if not self._settled and self.searched and not self._table.has_unread_start():
            self._settled = True
            self._events.append(Settled())

    def _take_notifications(self, now: float) -> None:
        paths, rescan = self._notifications.take()
        if rescan:
            self._scans.scan_soon(now)
        active = self._table.active
        for path in paths:
            tail = active.get(path)
            if tail is not None:
                self._schedule.note_notification(tail, now)
                self._schedule.read_soon(tail)
            elif path.lower().endswith(self._suffixes):
                self._table.doubtful.add(path)
