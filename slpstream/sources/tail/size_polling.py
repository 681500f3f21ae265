"""Notice when open files grow, by polling their sizes every few milliseconds.

We need this because NTFS doesn't report appends while the writer has the file open, and some systems don't report
growth at all. A poll only costs a few microseconds for each file. Besides, we only poll often while a game is running:
the longer a file has not grown, the longer the pauses become. A game writes its frames at regular times, so we do most
polls around the time when we expect the next one.

The polls run in a separate thread. There are two reasons for this. On Windows, `time.sleep` is accurate to a
millisecond, while timeouts of the event loop can be 16 ms late. And if a file server hangs, it only blocks this thread.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

import trio

from slpstream.sources.tail.changes import ChangeListener, OpenFile

MIN_INTERVAL_SECONDS: Final = 0.004
MAX_INTERVAL_SECONDS: Final = 0.1
EXPECTING_INTERVAL_SECONDS: Final = 0.001
"""The pause while growth is expected at any moment."""
MAX_EXPECTING_SECONDS: Final = 0.016
"""The pause while growth is expected, but later. Unexpected growth is found with this delay at worst."""
EARLY_SECONDS: Final = 0.0025
LATE_SECONDS: Final = 0.004
"""How much earlier and later than expected the growth may come."""
_MIN_PERIOD_SECONDS: Final = 2 * MIN_INTERVAL_SECONDS
"""Shorter periods cannot be measured, since the file has grown at every poll."""
_MAX_PERIOD_SECONDS: Final = 0.1
_PHASE_SHARE: Final = 1 / 4
_PERIOD_SHARE: Final = 1 / 16
"""Shares of a deviation that correct the phase and the period. The rest counts as noise."""
# The pause between two polls is this fraction of the time without growth: 4 ms for the first half second, 100 ms after
# 12.
_PART_OF_QUIET_TIME: Final = 1 / 128
_STOP_SECONDS: Final = 1.0


if sys.platform == "win32":
    from slpstream.system.windows import size_of
else:

    def size_of(descriptor: int) -> int:
        """Return the size of an open file, in bytes."""
        return os.fstat(descriptor).st_size


def interval_seconds(quiet_seconds: float) -> float:
    """Return how long to wait before we poll a file again that has not grown for this long."""
    return min(max(quiet_seconds * _PART_OF_QUIET_TIME, MIN_INTERVAL_SECONDS), MAX_INTERVAL_SECONDS)


class Rhythm:
    """The rhythm in which a file grows: when it grew for the last time, and when we expect it to grow again.

    All times are in seconds, and must come from the same clock.
    """

    __slots__ = ("_expected_at", "_is_in_step", "_period_seconds", "grew_at")

    def __init__(self, now: float) -> None:
        self.grew_at = now
        self._expected_at: float | None = None
        self._period_seconds = 0.0
        self._is_in_step = False

    def grow(self, now: float, looked_at: float) -> None:
        """Note that the file has grown since the last poll, which was at `looked_at`."""
        period_seconds = now - self.grew_at
        self.grew_at = now
        if self._keep_step(now, now - looked_at):
            return
        is_regular = abs(period_seconds - self._period_seconds) <= LATE_SECONDS
        self._period_seconds = period_seconds
        self._is_in_step = is_regular and _MIN_PERIOD_SECONDS <= period_seconds <= _MAX_PERIOD_SECONDS
        self._expected_at = now + period_seconds if self._is_in_step else None

    def _keep_step(self, now: float, pause_seconds: float) -> bool:
        """Predict the next growth, given that a poll after a pause has found this one. Returns False if we have lost
        the step.

        A single frame can be early or late, but after a short delay, a game is on time again with the next frame. If
        there was a long pause before the poll, the growth might have happened long before we found it.
        """
        if self._expected_at is None:
            return False
        deviation_seconds = now - self._expected_at
        is_seen = pause_seconds < EARLY_SECONDS + EXPECTING_INTERVAL_SECONDS
        if abs(deviation_seconds) <= LATE_SECONDS and (is_seen or self._is_in_step):
            self._is_in_step = is_seen
            self._period_seconds += deviation_seconds * _PERIOD_SHARE
            self._expected_at += deviation_seconds * _PHASE_SHARE
        elif self._is_in_step and abs(deviation_seconds) < self._period_seconds:
            self._is_in_step = False
        else:
            return False
        self._expected_at += self._period_seconds
        return True

    def pause_seconds(self, now: float) -> float:
        """Return how long to wait before the next poll."""
        if self._expected_at is not None:
            remaining_seconds = self._expected_at - now
            if remaining_seconds > EARLY_SECONDS:
                pause_seconds = max(remaining_seconds - EARLY_SECONDS, EXPECTING_INTERVAL_SECONDS)
                return min(pause_seconds, MAX_EXPECTING_SECONDS if self._is_in_step else MIN_INTERVAL_SECONDS)
            if remaining_seconds > -LATE_SECONDS:
                return EXPECTING_INTERVAL_SECONDS
        return interval_seconds(now - self.grew_at)


class _Polled:
    """A file that we poll. It has a separate descriptor, so that the reader can close the file at any time."""

    __slots__ = ("descriptor", "due", "file", "listener", "looked_at", "rhythm", "size_bytes", "unchanged_at")

    def __init__(self, listener: ChangeListener, file: OpenFile, now: float) -> None:
        self.listener = listener
        self.file = file
        self.descriptor = os.dup(file.fileno())
        self.size_bytes = -1
        self.rhythm = Rhythm(now)
        self.looked_at = self.unchanged_at = now
        self.due = now

    def look(self, now: float) -> bool:
        """Whether the size has changed since the last poll. For the first poll, this is always true."""
        try:
            size_bytes = size_of(self.descriptor)
        except OSError:
            size_bytes = self.size_bytes  # a regular read will find and report the same error
        has_changed = size_bytes != self.size_bytes
        if has_changed:
            self.size_bytes, self.unchanged_at = size_bytes, self.looked_at
            self.rhythm.grow(now, self.looked_at)
        self.looked_at = now
        self.due = now + self.rhythm.pause_seconds(now)
        return has_changed


class SizePolling:
    """A `GrowthReader` that reports when the followed files have grown. Its thread starts with the first file."""

    def __init__(
        self,
        token: trio.lowlevel.TrioToken,
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._token = token
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._polled: dict[OpenFile, _Polled] = {}
        self._dropped: list[_Polled] = []
        """The thread closes their descriptors."""
        self._grown: dict[OpenFile, None] = {}
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def follow(self, listener: ChangeListener, file: OpenFile) -> None:
        """See `GrowthReader.follow`.

        If there's no descriptor or thread left, we don't notice the growth until the next regular poll.
        """
        with self._lock:
            if self._closed or file in self._polled:
                return
            try:
                self._polled[file] = _Polled(listener, file, self._clock())
            except OSError:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="slpstream growth", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    self._dropped.append(self._polled.pop(file))
                    self._close_dropped()
                    return
                self._thread = thread
        self._changed.set()

    def unfollow(self, file: OpenFile) -> None:
        """See `GrowthReader.unfollow`."""
        with self._lock:
            polled = self._polled.pop(file, None)
            if polled is not None:
                self._dropped.append(polled)
        self._changed.set()

    def close(self) -> None:
        """End the thread. This blocks, but if the thread hangs in a file server, it only waits for a moment."""
        with self._lock:
            self._closed = True
            self._dropped += self._polled.values()
            self._polled.clear()
            thread = self._thread
            if thread is None:
                self._close_dropped()
        self._changed.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while True:
            self._changed.clear()
            with self._lock:
                self._close_dropped()
                if self._closed:
                    return
                polled = list(self._polled.values())
            now = self._clock()
            grown = [each.file for each in polled if each.due <= now and each.look(now)]
            if grown and not self._report(grown):
                return
            pause_seconds = min([each.due for each in polled], default=now + 1e6) - self._clock()
            if pause_seconds > MAX_EXPECTING_SECONDS:
                self._changed.wait(pause_seconds)  # less exact, but ends when another file is followed
            else:
                # Files that are due in the same millisecond are polled together.
                self._sleep(max(pause_seconds, EXPECTING_INTERVAL_SECONDS))

    def _report(self, grown: list[OpenFile]) -> bool:
        """Hand over files to the event loop. Returns False if the event loop has ended."""
        with self._lock:
            self._grown.update(dict.fromkeys(grown))
        try:
            self._token.run_sync_soon(self._deliver, idempotent=True)
        except trio.RunFinishedError:
            self.close()
            self._close_dropped()
            return False
        return True

    def _deliver(self) -> None:
        with self._lock:
            grown, self._grown = self._grown, {}
            found = [self._polled[file] for file in grown if file in self._polled]
        offset_seconds = trio.current_time() - self._clock()
        for polled in found:
            polled.file.note_unchanged(polled.unchanged_at + offset_seconds)
            polled.listener.grew(polled.file.path)

    def _close_dropped(self) -> None:
        while self._dropped:
            os.close(self._dropped.pop().descriptor)
