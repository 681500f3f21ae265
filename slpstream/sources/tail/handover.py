"""Read growth as soon as it is reported, instead of waiting until the iteration gets its turn.

This saves a task switch for every frame.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable

import trio
from outcome import Error, capture

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
        self._is_open = False
        """Whether the iteration is waiting, so that no pass is half done."""
        self._failure: Error | None = None

    def start(self, take: Callable[[TailEvent], None]) -> None:
        """Begin to hand over growth to `take`. It is called with the context variables that are set now."""
        context = contextvars.copy_context()

        def take_in_context(event: TailEvent) -> None:
            context.run(take, event)  # log lines take their fields from the context

        self._take = take_in_context
        self._notifications.read_now = self._read_now

    async def wait(self, deadline: Callable[[], float]) -> None:
        """Wait for notifications until the deadline, and hand over growth in the meantime.

        If the consumer raises an error, you get it from here.
        """
        self._is_open = True
        try:
            await self._notifications.wait(deadline(), deadline)
        finally:
            self._is_open = False
        if self._failure is not None:
            failure, self._failure = self._failure, None
            failure.unwrap()

    def _read_now(self, path: str) -> bool:
        """Read a file that has grown.

        Returns whether that was possible, because sometimes other things have to be done first.
        """
        tail = self._table.active.get(path)
        if tail is None or self._take is None or not self._is_open or not tail.descriptor.nowait:
            return False
        if self._events or not self._schedule.is_idle() or tail.has_unread_bytes or tail.file.arrived_whole:
            return False
        # An error is raised by the iteration, not by the task that reports the growth of all files.
        outcome = capture(self._hand_over, tail, self._take)
        if isinstance(outcome, Error):
            self._failure = outcome
            self._notifications.wake()
            return True
        return outcome.value

    def _hand_over(self, tail: FileTail, take: Callable[[TailEvent], None]) -> bool:
        now = trio.current_time()
        self._schedule.note_notification(tail, now)
        if not self._read(tail, now):
            return False
        while self._events and isinstance(self._events[0], Grew):
            take(self._events.popleft())
        if self._events or self._schedule.due or self._table.doubtful:
            self._notifications.wake()
        return True
