"""Decide when each open file should be read.

A file is *due* after a notification about it, and on ticks. Changes that other machines make on a file server aren't
notified, so the ticks come often. Once we have had many notifications about a file, and haven't missed any, its ticks
become rare, because then they only matter if a notification gets lost.

Files that grow take turns. A file that arrived whole is read in small parts, and as long as other files are followed
too, there are pauses between these parts. This way, a pile of copied files doesn't delay a game. A new game has to wait
until the older ones were read to their end.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from slpstream.sources.tail.tailer import FileTail

_MAX_PAUSE_SECONDS: Final = 0.02
# A new file waits until at most this many chunks have been read, about a second's worth.
_MAX_WAIT_CHUNKS: Final = 64
# After this many notifications about a file in a row, we rely on them. A game gives as many within a second.
_RELIABLE_NOTIFICATIONS: Final = 60


class ReadSchedule:
    """The files that are due, in the order of their turns. This doesn't do any I/O."""

    def __init__(
        self, open_files: Collection[FileTail], poll_seconds: float, notified_poll_seconds: float, chunk_bytes: int
    ) -> None:
        """A file is polled every `notified_poll_seconds` while notifications about it are reliable."""
        self.due: dict[FileTail, bool] = {}
        """In the order of their turns. False: skip the read if the file's status is unchanged."""
        self.waiting_for: dict[FileTail, tuple[int, set[FileTail]]] = {}
        """New files, each with the older files that must be read to their end first, and the value of `_bytes_read` at
        which it stops waiting.

        A setup finishes one game before it begins the next, and the games are delivered in that order. Files that
        arrived whole neither wait nor are waited for.
        """
        self._open = open_files
        self.poll_seconds = poll_seconds
        """The time between two polls of a file without reliable notifications."""
        self._notified_poll_seconds = max(poll_seconds, notified_poll_seconds)
        self.is_notified = False
        """Whether notifications are working at all."""
        self._chunk_bytes = chunk_bytes
        self._bytes_read = 0
        self._next_tick = 0.0
        self._part_read_at: float | None = None
        """When the last part of a finished file was read, until the consumer has processed its events."""
        self._next_part_at = 0.0
        """Not before this time is another part read. The pause is as long as the last part took."""

    def read_soon(self, tail: FileTail) -> None:
        """Read a file when it's its turn, even if its status hasn't changed."""
        self.due[tail] = True

    def check_soon(self, tail: FileTail) -> None:
        """Read a file when it's its turn, but only if its status has changed."""
        self.due.setdefault(tail, False)

    def admit(self, tail: FileTail) -> None:
        """Add a file that was just opened. It has to wait for older games, unless it was there at the start."""
        if not tail.at_start and not tail.file.arrived_whole:
            older = {other for other in self._open if other is not tail and not other.file.arrived_whole}
            if older:
                self.waiting_for[tail] = (self._bytes_read + _MAX_WAIT_CHUNKS * self._chunk_bytes, older)
                self.due |= dict.fromkeys(older, True)
        self.due[tail] = True

    def remove(self, tail: FileTail) -> None:
        """Forget a file, because it isn't followed any more."""
        self.due.pop(tail, None)
        self.waiting_for.pop(tail, None)
        self._stop_waiting_for(tail)

    def tick(self, now: float) -> bool:
        """Once per poll interval, make those files due that have not been read recently.

        Returns whether it was time to do so.
        """
        if now < self._next_tick:
            return False
        self._next_tick = now + self.poll_seconds
        for tail in self.to_poll(now):
            self.check_soon(tail)
        return True

    def to_poll(self, now: float) -> list[FileTail]:
        """Return the files that have not been read recently."""
        early_seconds = self.poll_seconds / 2
        return [tail for tail in self._open if tail.read_at <= now - self._seconds_between_polls(tail) + early_seconds]

    def note_notification(self, tail: FileTail, now: float) -> None:
        """Note that a notification about a file has come."""
        tail.notifications += 1
        if now - tail.read_at > self.poll_seconds:
            self.note_pause(tail, now)

    def note_pause(self, tail: FileTail, now: float) -> None:
        """Note that the notification about a file comes more than `poll_seconds` after its last read."""
        if self._is_reliable(tail):
            tail.note_unchanged(now - self.poll_seconds)  # a notification would have come

    def note_missed_notification(self, tail: FileTail) -> None:
        """Note that a file has grown without a notification."""
        tail.notifications = 0

    def _is_reliable(self, tail: FileTail) -> bool:
        """Whether the growth of a file is always notified."""
        return self.is_notified and tail.notifications >= _RELIABLE_NOTIFICATIONS

    def _seconds_between_polls(self, tail: FileTail) -> float:
        return self._notified_poll_seconds if self._is_reliable(tail) else self.poll_seconds

    def ready(self) -> list[FileTail]:
        """Return the files to read now, in the order of their turns.

        If a file has waited too long, it doesn't have to wait any more.
        """
        for tail, (limit, _) in list(self.waiting_for.items()):
            if limit <= self._bytes_read:
                del self.waiting_for[tail]
        return [tail for tail in self.due if tail not in self.waiting_for]

    def end_turn(self, tail: FileTail, byte_count: int) -> None:
        """Note that bytes of a file were read. If the file is growing, the next one gets its turn."""
        self._bytes_read += byte_count
        if self.due and not tail.file.arrived_whole:
            self.due.pop(tail, None)

    def queue_unread(self, tail: FileTail) -> None:
        """Give a file another turn, because it has more bytes to read."""
        self.due[tail] = True
        if self.waiting_for and tail.file.arrived_whole:
            self._stop_waiting_for(tail)

    def finish(self, tail: FileTail) -> None:
        """Note that a file was read to its end."""
        self.due.pop(tail, None)
        if self.waiting_for:
            self._stop_waiting_for(tail)

    def may_read_part(self, now: float) -> bool:
        """Whether you can read another part of a finished file now. If this returns True, you have to do so."""
        if now < self._next_part_at:
            return False
        self._part_read_at = now
        return True

    def schedule_next_part(self, now: float) -> None:
        """If the consumer has processed the last part, decide when to read the next one."""
        if self._part_read_at is not None:
            self._next_part_at = now + min(now - self._part_read_at, _MAX_PAUSE_SECONDS)
            self._part_read_at = None
            if all(tail.file.arrived_whole for tail in self._open):
                self._next_part_at = now

    def is_paused(self, now: float) -> bool:
        """Whether we have to wait because only finished files are due, and it's too early to read another part of
        them.
        """
        return now < self._next_part_at and all(tail.file.arrived_whole for tail in self.due)

    def deadline(self) -> float:
        """Return the time of the next tick, or of the next part, whichever comes first."""
        deadline = self._next_part_at if self.due else math.inf
        if self._open:
            # Files that notifications report are read all the time, and need no wakeup for a tick.
            poll_at = min([tail.read_at + self._seconds_between_polls(tail) for tail in self._open])
            deadline = min(deadline, max(poll_at, self._next_tick))
        return deadline

    def _stop_waiting_for(self, older: FileTail) -> None:
        for tail, (_, waiting_for) in list(self.waiting_for.items()):
            waiting_for.discard(older)
            if not waiting_for:
                del self.waiting_for[tail]
