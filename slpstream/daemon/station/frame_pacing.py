"""How evenly the frames of a game arrive, measured while it is received.

A source may deliver frames one by one or several at once. So what counts is how much more time than its frames take has
passed since the previous delivery. A gap of more than a second is a pause of the game, or of the connection, and counts
for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from slpstream.model.setup import Pacing

_STUTTER_SECONDS = 0.05
_PAUSE_SECONDS = 1.0
_PERCENTILE = 0.99
_BUCKET_SECONDS = 0.005
_BUCKETS = round(_PAUSE_SECONDS / _BUCKET_SECONDS) + 1


class FramePacing:
    """The pacing of one game."""

    def __init__(self, frame_seconds: float) -> None:
        """`frame_seconds` is how long a frame takes."""
        self._frame_seconds = frame_seconds
        self._last_at: float | None = None
        self._frames = self._stutters = 0
        self._seconds = 0.0
        self._late = [0] * _BUCKETS
        """Number of deliveries by how late they were, in steps of 5 ms."""

    def arrived(self, frames: int, at: float) -> None:
        """New frames came at a time, in seconds on a steady clock."""
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
        self._late[max(0, int(late_seconds / _BUCKET_SECONDS))] += 1

    def measured(self) -> Pacing | None:
        """The pacing so far; `None` before frames were received over some time."""
        if self._seconds <= 0:
            return None
        return Pacing(
            frames_per_second=round(self._frames / self._seconds, 2),
            stutters=self._stutters,
            late_milliseconds=round(1000 * _BUCKET_SECONDS * _bucket_of(self._late, _PERCENTILE)),
            seconds=round(self._seconds, 1),
        )


def _bucket_of(counts: Sequence[int], part: float) -> int:
    """The number of the bucket below whose upper end this part of all counts is."""
    wanted, seen = part * sum(counts), 0
    for number, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return number
    return len(counts) - 1
