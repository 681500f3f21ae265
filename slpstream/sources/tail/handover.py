"""Read growth as soon as it is reported, instead of waiting until the iteration gets its turn.

This saves a task switch for every frame.
"""

from __future__ import annotations

import contextvars
import functools
from collections import deque
from collections.abc import Callable

import trio

from slpstream.sources.tail.events import Grew, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.schedule import ReadSchedule
from slpstream.sources.tail.tailer import FileTail


class GrowthHandover:
    """Passes appended bytes directly to the consumer, while the iteration of the tail is waiting."""

    def __init__(
        self,
        table: FileTable,
        schedule: ReadSchedule,
        read: Callable[[FileTail, float], bool],
        notifications: Notifications,
        events: deque[TailEvent],
    ) -> None:
        """`read` is `Reader.read_in_loop`, which adds its events to `events`."""
        self._table = table
        self._schedule = schedule
        self._read = read
        self._notifications = notifications
        self._events = events
        self._take: Callable[[TailEvent], None] | None = None
        self.is_waiting = False
        """Whether the iteration is waiting, so that no pass is half done."""
        self._failure: BaseException | None = None

    def start(self, take: Callable[[TailEvent], None]) -> None:
        """Begin to hand over growth to `take`. It is called with the context variables that are set now."""
        # Log lines take their fields from the context.
        run: Callable[..., None] = contextvars.copy_context().run
        self._take = functools.partial(run, take)
        self._notifications.read_now = self._read_now

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

    def _read_now(self, path: str) -> bool:
        """Read a file that has grown.

        Returns whether that was possible, because sometimes other things have to be done first.
        """
        tail = self._table.active.get(path)
        if tail is None or self._take is None or not self.is_waiting or not tail.descriptor.nowait:
            return False
        schedule = self._schedule
        if self._events or schedule.due or schedule.waiting_for or tail.has_unread_bytes or tail.file.arrived_whole:
            return False
        try:
            return self._hand_over(tail, self._take)
        except BaseException as error:  # noqa: BLE001 -- the iteration raises it, not the task that reports all growth
            self._failure = error
            self._notifications.wake()
            return True

    def _hand_over(self, tail: FileTail, take: Callable[[TailEvent], None]) -> bool:
        now = trio.current_time()
        schedule, events = self._schedule, self._events
        schedule.note_notification(tail, now)
        if not self._read(tail, now):
            return False
        while events and type(events[0]) is Grew:
            take(events.popleft())
        if events or schedule.due or self._table.doubtful:
            self._notifications.wake()
        return True
