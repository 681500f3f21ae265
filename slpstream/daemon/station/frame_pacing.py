"""The pacing of a game, which is how evenly its frames arrive. We measure this while the game is received.

A source may deliver frames one by one, or several of them together. To find out how late a delivery is, we take the
time since the previous one and subtract the duration of its frames. A gap of more than a second doesn't count, because
it must be a pause of the game or of the connection.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from slpstream.model.setup import Pacing

_STUTTER_SECONDS = 0.05
_PAUSE_SECONDS = 1.0
_PERCENTILE = 0.99
_BUCKET_SECONDS = 0.005
_BUCKETS = round(_PAUSE_SECONDS / _BUCKET_SECONDS) + 1


class FramePacing:
    """Measures the pacing of one game."""

    def __init__(self, frame_seconds: float) -> None:
        """`frame_seconds` is the duration of a frame."""
        self._frame_seconds = frame_seconds
        self._last_at: float | None = None
        self._frames = self._stutters = 0
        self._seconds = 0.0
        self._late = [0] * _BUCKETS
        """The number of deliveries by how late they were, in steps of 5 ms."""

    def arrived(self, frames: int, at: float) -> None:
        """Record that new frames have arrived at the given time, in seconds on a steady clock."""
        last_at, self._last_at = self._last_at, at
        if last_at is None:
            return
        seconds = at - last_at
        late_seconds = seconds - frames * self._frame_seconds
        if late_seconds >= _PAUSE_SECONDS:
            return
        self._frames += frames
        self._seconds += seconds
        if late_seconds >= _STUTTER_SECONDS:
            self._stutters += 1
        self._late[int(late_seconds / _BUCKET_SECONDS) if late_seconds > 0 else 0] += 1

    def measured(self) -> Pacing | None:
        """Return the pacing so far, or `None` before frames were received for some time."""
        if self._seconds <= 0:
            return None
        percentile = bisect_left(list(accumulate(self._late)), _PERCENTILE * sum(self._late))
        return Pacing(
            frames_per_second=round(self._frames / self._seconds, 2),
            stutters=self._stutters,
            late_milliseconds=round(1000 * _BUCKET_SECONDS * percentile),
            seconds=round(self._seconds, 1),
        )
