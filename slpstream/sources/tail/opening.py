"""Open the files that were found.

If someone copies thousands of files into the folder, most of them were already read and released by the time when the
last one is opened.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import Final

from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import Opened, TailEvent
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.scan import Refusal
from slpstream.sources.tail.schedule import ReadSchedule
from slpstream.sources.tail.tailer import FileTail, IsFinished, open_arrival
from slpstream.sources.tail.threads import Threads

# At most this many files are opened in one call to a thread, and at most this many finished files have unread bytes.
_MAX_OPENING: Final = 16
# While this many unfinished files have unread bytes, only small files are opened.
_MAX_UNFINISHED: Final = 64


class Opener:
    """Opens arrivals, in the order in which they were found.

    Files that are finished come last, and only a few at a time.
    """

    def __init__(
        self,
        root: str,
        table: FileTable,
        schedule: ReadSchedule,
        notifications: Notifications,
        threads: Threads,
        *,
        rewritable_bytes: int,
        small_bytes: int,
        is_finished: IsFinished | None,
    ) -> None:
        """Files that have at most `small_bytes` are opened even if there are many others that we haven't read yet."""
        self._root = root
        self._table = table
        self._schedule = schedule
        self._notifications = notifications
        self._threads = threads
        self._rewritable_bytes = rewritable_bytes
        self._small_bytes = small_bytes
        self._is_finished = is_finished

    async def open_arrivals(self) -> list[TailEvent]:
        """If there is room, open the next arrivals.

        Returns `Opened` events, and `Refused` events for those that can't be opened.
        """
        table = self._table
        unread = [tail for tail in table.open if tail.has_unread_bytes]
        finished = sum(tail.file.arrived_whole for tail in unread)
        room = _MAX_OPENING - finished
        arrivals = self._next_arrivals(room, crowded=len(unread) - finished >= _MAX_UNFINISHED)
        if not arrivals:
            return []
        root, rewritable_bytes, is_finished = self._root, self._rewritable_bytes, self._is_finished

        def open_all() -> list[FileTail | Refusal | None]:
            real_root = os.path.realpath(root)
            return [open_arrival(arrival.path, real_root, rewritable_bytes, is_finished) for arrival in arrivals]

        events: list[TailEvent] = []
        for arrival, result in zip(arrivals, await self._threads.run(open_all), strict=True):
            if isinstance(result, FileTail) and result.file.arrived_whole:
                room -= 1
                if room < 0:
                    result.descriptor.close()
                    arrival.finished = True
                    continue
            if table.arrivals.get(arrival.path) is arrival:
                del table.arrivals[arrival.path]
            if isinstance(result, Refusal):
                events += table.refuse({arrival.path: result})
            elif result is not None:
                if self._is_worth_following(arrival, result) and table.activate(result):
                    connection = self._notifications.connection
                    if connection is not None:
                        connection.follow(result)
                    result.at_start = arrival.at_start
                    events.append(Opened(result.file, arrival.existed, arrival.changed))
                    self._schedule.admit(result)
                else:
                    result.descriptor.close()
        return events

    def _next_arrivals(self, room: int, *, crowded: bool) -> list[Arrival]:
        """Choose the files to open next.

        If we know that a file is finished, it comes last, and only if there is room for it.
        """
        found = [arrival for arrival in self._table.arrivals.values() if not arrival.finished]
        if crowded:
            found = [arrival for arrival in found if arrival.stat.size_bytes <= self._small_bytes]
        if found or room <= 0:
            return found[:_MAX_OPENING]
        return [arrival for arrival in islice(self._table.arrivals.values(), room) if arrival.finished]

    def _is_worth_following(self, arrival: Arrival, tail: FileTail) -> bool:
        """Whether we should follow a file that was just opened.

        This isn't the case for a new file that doesn't contain any bytes yet, because we can't tell whether it is a
        game or a copy of one. If someone copies a thousand files, all of them would be opened while they are empty, and
        stay open until it's their turn. When there's a notification about the first bytes, we get the file again.
        """
        if self._is_finished is None or not self._notifications.report_first_bytes:
            return True
        return arrival.existed or arrival.at_start or tail.file.size_bytes > 0
