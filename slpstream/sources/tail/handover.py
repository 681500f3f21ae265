"""Read growth as soon as it is reported, instead of waiting until the iteration gets its turn.

This saves a task switch for every frame.
"""

from __future__ import annotations

import contextvars
import functools
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import trio
from trio.abc import Clock

from slpstream.sources.tail.events import Grew, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.schedule import ReadSchedule
from slpstream.sources.tail.tailer import FileTail

Take: TypeAlias = Callable[[TailEvent], None]
"""Takes the events about growth."""


class GrowthHandover:
    """Passes appended bytes directly to the consumer, while the iteration of the tail is waiting."""

    def __init__(
        self,
        table: FileTable,
        schedule: ReadSchedule,
        read: Callable[[FileTail, float], bool],
        notifications: Notifications,
        events: deque[TailEvent],
        *,
        chunk_bytes: int,
    ) -> None:
        """`read` is `Reader.read_in_loop`, which adds its events to `events`."""
        self._table = table
        self._schedule = schedule
        self._read = read
        self._notifications = notifications
        self._events = events
        self._chunk_bytes = chunk_bytes
        self.is_waiting = False
        """Whether the iteration is waiting, so that no pass is half done."""
        self._failure: BaseException | None = None

    def start(self, take: Take) -> None:
        """Begin to hand over growth to `take`. It is called with the context variables that are set now."""
        # Log lines take their fields from the context.
        run: Callable[..., None] = contextvars.copy_context().run
        clock = trio.lowlevel.current_clock()
        self._notifications.read_now = functools.partial(self._read_now, functools.partial(run, take), clock)

    async def wait(self, deadline: Callable[[], float]) -> None:
        """Wait for notifications until the deadline, and hand over growth in the meantime.

        If the consumer raises an error, you get it from here.
        """
        self.is_waiting = True
        try:
            await self._notifications.wait(deadline(), deadline)
        finally:
            self.is_waiting = False
        if self._failure is not None:
            failure, self._failure = self._failure, None
            try:
                raise failure
            finally:
                del failure  # its traceback refers to this frame

    def _read_now(self, take: Take, clock: Clock, path: str, now: float | None) -> bool:
        """Read a file that has grown. `now` is the time on trio's clock, if the caller knows it.

        Returns whether that was possible, because sometimes other things have to be done first.
        """
        active = self._table.active
        if path not in active or not self.is_waiting:
            return False
        tail = active[path]
        if not tail.descriptor.nowait:
            return False
        schedule = self._schedule
        if self._events or schedule.due or schedule.waiting_for or tail.has_unread_bytes or tail.file.arrived_whole:
            return False
        try:
            now = clock.current_time() if now is None else now
            tail.notifications += 1
            if now - tail.read_at > schedule.poll_seconds:
                schedule.note_pause(tail, now)
            grew = tail.read_growth(self._chunk_bytes, now)
            if grew is not None:
                take(grew)
            elif not self._hand_over(tail, now, take):
                return False
        except BaseException as error:  # noqa: BLE001 -- the iteration raises it, not the task that reports all growth
            self._failure = error
            self._notifications.wake()
            return True
        if self._events or schedule.due or self._table.doubtful:
            self._notifications.wake()
        return True

    def _hand_over(self, tail: FileTail, now: float, take: Take) -> bool:
        """Read a file, whatever has happened to it, and hand over its growth. Returns False if that would block."""
        if not self._read(tail, now):
            return False
        events = self._events
        while events and type(events[0]) is Grew:
            take(events.popleft())
        return True
