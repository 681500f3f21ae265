"""The transmission of reliable ENet commands, with a congestion window, timeouts and retransmission.

This doesn't do any I/O.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

DEAD_SECONDS = 30.0
"""If a client doesn't acknowledge anything or does not send anything for this long, it counts as gone."""

MIN_WINDOW_BYTES, MAX_WINDOW_BYTES = 4096, 65536
_FIRST_WINDOW_BYTES = 16 * 1024
_BANDWIDTH_PER_WINDOW = 65536
_MAX_UNACKNOWLEDGED = 1024
_MAX_SPAN = 2048
"""How far apart the numbers of the oldest unacknowledged command and the newest command may be. A receiver can only
tell a repeated command from a new one by its number, and only if they are at most 28,672 apart."""
_FIRST_TIMEOUT_SECONDS = 0.5
_MIN_TIMEOUT_SECONDS, _MAX_TIMEOUT_SECONDS = 0.2, 4.0
_MAX_PAUSE_SECONDS = 1.0
"""The limit for the timeout of a retransmission, which doubles each time. If it were longer, there would be too few
retransmissions in `DEAD_SECONDS` for a network that loses a third of all datagrams."""


class SentCommand(Struct):
    """A reliable command in its encoded form."""

    channel: int
    number: int
    data: bytes
    first_sent_at: float = 0.0
    sent_at: float = 0.0
    timeout_seconds: float = 0.0
    in_flight: bool = False


class Transmission:
    """The reliable commands for one client. It has a congestion window, timeouts and retransmission."""

    def __init__(self, mtu: int, window_bytes: int, bandwidth: int) -> None:
        """`window_bytes` is how many unacknowledged bytes the client allows, and `bandwidth` is how many bytes per
        second.
        """
        self.queued_bytes = 0
        """The number of bytes that haven't been acknowledged yet."""
        self.resent = 0
        """How many commands were sent again since the owner last reset this."""
        self.unacknowledged: dict[tuple[int, int], SentCommand] = {}
        """The commands that were sent, in the order of their first transmission."""
        self.waiting: deque[SentCommand] = deque()
        self._expired: deque[SentCommand] = deque()
        self._mtu = mtu
        self._max_window = min(max(window_bytes, MIN_WINDOW_BYTES), MAX_WINDOW_BYTES)
        self.limit_bandwidth(bandwidth)
        self._window = min(_FIRST_WINDOW_BYTES, self._max_window)
        self._in_flight_bytes = 0
        self._round_trip = _FIRST_TIMEOUT_SECONDS
        self._variance = 0.0
        self._slowed_at = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether every command was sent and acknowledged."""
        return not self.unacknowledged and not self.waiting

    def queue(self, channel: int, number: int, data: bytes) -> None:
        """Queue an encoded command."""
        self.waiting.append(SentCommand(channel, number, data))
        self.queued_bytes += len(data)

    def limit_bandwidth(self, bytes_per_second: int) -> None:
        """Make the largest window smaller, so that it fits the client's incoming bandwidth. 0 means that there's no
        limit.
        """
        if bytes_per_second:
            window = bytes_per_second // _BANDWIDTH_PER_WINDOW * MIN_WINDOW_BYTES
            self._max_window = min(max(window, MIN_WINDOW_BYTES), self._max_window)

    def acknowledge(self, channel: int, number: int, sent_clock: int, now: float) -> None:
        """Note that the client has received a command."""
        sent = self.unacknowledged.pop((channel, number), None)
        if sent is None:
            return
        self.queued_bytes -= len(sent.data)
        if sent.in_flight:
            self._in_flight_bytes -= len(sent.data)
            sent.in_flight = False
        self._window = min(self._window + len(sent.data), self._max_window)
        elapsed = ((clock_of(now) - sent_clock) & 0xFFFF) / 1000
        if elapsed <= DEAD_SECONDS:
            self._variance += (abs(elapsed - self._round_trip) - self._variance) / 4
            self._round_trip += (elapsed - self._round_trip) / 8

    def expire(self, now: float) -> None:
        """Find commands that were not acknowledged in time, and prepare to send them again."""
        for sent in self.unacknowledged.values():
            if sent.in_flight and now >= sent.sent_at + sent.timeout_seconds:
                sent.in_flight = False
                self._in_flight_bytes -= len(sent.data)
                sent.timeout_seconds = min(sent.timeout_seconds * 2, max(_MAX_PAUSE_SECONDS, self._timeout_seconds()))
                self._expired.append(sent)
                if now - self._slowed_at >= self._round_trip:  # once for all datagrams that were lost together
                    self._slowed_at = now
                    self._window = max(self._window // 2, 2 * self._mtu)

    def next_commands(self, now: float) -> Iterator[bytes]:
        """Yield those commands that we can send now because the window has room. The repeated ones come first."""
        while self._expired:
            if (self._expired[0].channel, self._expired[0].number) not in self.unacknowledged:
                self._expired.popleft()  # an earlier transmission was acknowledged in the meantime
                continue
            if not self._fits(self._expired[0]):
                return
            sent = self._expired.popleft()
            self.resent += 1
            yield self._transmit(sent, now)
        while self.waiting and self._may_begin(self.waiting[0]) and self._fits(self.waiting[0]):
            sent = self.waiting.popleft()
            sent.first_sent_at = now
            sent.timeout_seconds = self._timeout_seconds()
            self.unacknowledged[sent.channel, sent.number] = sent
            yield self._transmit(sent, now)

    def oldest(self) -> SentCommand | None:
        """Return the oldest command that hasn't been acknowledged, or `None` if all of them have."""
        return next(iter(self.unacknowledged.values()), None)

    def deadline(self) -> float:
        """Return when the next command expires."""
        return min(
            (sent.sent_at + sent.timeout_seconds for sent in self.unacknowledged.values() if sent.in_flight),
            default=math.inf,
        )

    def _timeout_seconds(self) -> float:
        """Return how long we expect to wait until a command is acknowledged."""
        expected = self._round_trip + 4 * self._variance
        return min(max(expected, _MIN_TIMEOUT_SECONDS), _MAX_TIMEOUT_SECONDS)

    def _fits(self, sent: SentCommand) -> bool:
        return not self._in_flight_bytes or self._in_flight_bytes + len(sent.data) <= self._window

    def _may_begin(self, sent: SentCommand) -> bool:
        if len(self.unacknowledged) >= _MAX_UNACKNOWLEDGED:
            return False
        oldest = self.oldest()
        if oldest is None or oldest.channel != sent.channel:
            return True
        return ((sent.number - oldest.number) & 0xFFFF) < _MAX_SPAN

    def _transmit(self, sent: SentCommand, now: float) -> bytes:
        sent.sent_at, sent.in_flight = now, True
        self._in_flight_bytes += len(sent.data)
        return sent.data


def clock_of(now: float) -> int:
    """Return the clock for the header of datagrams."""
    return int(now * 1000) & 0xFFFF
