"""Growth of open files, found by looking at their sizes every few milliseconds.

NTFS notifies no appends while the writer has the file open, and some systems have no notifications about growth at all.
Looking costs a few microseconds for each file, and happens often only while a game runs: the longer a file has not
grown, the longer the pauses.

It happens in a thread of its own. Python's `time.sleep` keeps to a millisecond on Windows, where the event loop's
timeouts can be 16 ms late; and a file server that hangs stops only this thread.
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
# The pause between two looks is this part of the time without growth: 4 ms for the first half second, 100 ms after 12.
_PART_OF_QUIET_TIME: Final = 1 / 128
_STOP_SECONDS: Final = 1.0


if sys.platform == "win32":
    from slpstream.system.windows import size_of as _size_of
else:

    def _size_of(descriptor: int) -> int:
        return os.fstat(descriptor).st_size


def interval_seconds(quiet_seconds: float) -> float:
    """The pause before the next look at a file that has not grown for this long."""
    return min(max(quiet_seconds * _PART_OF_QUIET_TIME, MIN_INTERVAL_SECONDS), MAX_INTERVAL_SECONDS)


class _Polled:
    """A file with a descriptor of its own, so that the reader can close the file at any time."""

    __slots__ = ("descriptor", "due", "file", "grew_at", "listener", "looked_at", "size_bytes", "unchanged_at")

    def __init__(self, listener: ChangeListener, file: OpenFile, now: float) -> None:
        self.listener = listener
        self.file = file
        self.descriptor = os.dup(file.fileno())
        self.size_bytes = -1
        self.grew_at = now
        self.looked_at = self.unchanged_at = now
        self.due = now

    def look(self, now: float) -> bool:
        """Whether the size is another than at the last look. At the first look, it is."""
        try:
            size_bytes = _size_of(self.descriptor)
        except OSError:
            size_bytes = self.size_bytes  # a regular read will find and report the same error
        has_changed = size_bytes != self.size_bytes
        if has_changed:
            self.size_bytes, self.grew_at, self.unchanged_at = size_bytes, now, self.looked_at
        self.looked_at = now
        self.due = now + interval_seconds(now - self.grew_at)
        return has_changed


class SizePolling:
    """Reports growth of the followed files. A `GrowthReader`; its thread starts with the first file."""

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
        """See `GrowthReader.follow`. Without a descriptor or a thread left, only regular polls find the growth."""
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
        """End the thread, and wait for it only a moment, because a file server may hang. Blocks."""
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
            if pause_seconds > 2 * MIN_INTERVAL_SECONDS:
                self._changed.wait(pause_seconds)  # less exact, and ends when another file is followed
            elif pause_seconds > 0:
                self._sleep(pause_seconds)

    def _report(self, grown: list[OpenFile]) -> bool:
        """Hand files over to the event loop. Returns false if it has ended."""
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
