"""Reconnects for ever, with exponential backoff and jitter.

The session interprets a connection, and its bytes go to the recorder. The jitter spreads the attempts of fifty consoles
when the network is back.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from time import thread_time
from typing import Never, Protocol

import trio

from slpstream.model.errors import FormatError
from slpstream.parts.consoles.recorder import Recorder
from slpstream.parts.consoles.session import BytesLost, EventBytes, HandshakeDone, SessionEvent
from slpstream.parts.consoles.turns import SLICE_BYTES, Pace, Turns

_FIRST_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.25, 10.0


class ConnectionObserver(Protocol):
    """Receives notices about the connection to a source."""

    def connected(self, nick: str, version: str) -> None:
        """Note that the source has answered."""

    def disconnected(self, reason: str) -> None:
        """Note that an established connection has ended. Another attempt will follow."""

    def unreachable(self, reason: str) -> None:
        """Note that the source doesn't answer. Another attempt will follow."""

    def received(self, size_bytes: int) -> None:
        """Note that event bytes have arrived."""


class Session(Protocol):
    """The protocol state of all connections to one source."""

    handshake_done: bool
    """Whether the source has answered on this connection."""
    token: int
    """The client token. For a source without tokens, this is `NO_TOKEN`."""

    def receive(self, data: bytes) -> list[SessionEvent]:
        """Take the next bytes or the next packet. Raises `FormatError` if it is invalid."""


class Reconnector:
    """Keeps one source connected, and forwards its session events."""

    def __init__(
        self,
        recorder: Recorder,
        observer: ConnectionObserver,
        rng: random.Random | None = None,
        turns: Turns | None = None,
    ) -> None:
        """All sources of the daemon share the same `turns`. Without it, the source has the event loop to itself."""
        self._recorder = recorder
        self._observer = observer
        self._pace = Pace(turns or Turns())
        self._backoff = Backoff(rng or random.Random())  # noqa: S311 -- delays, not secrets

    async def run(self, session: Session, connect: Callable[[], Awaitable[str]]) -> Never:
        """Connect, and connect again after each connection, until cancelled.

        `connect` makes one connection and serves it. It returns the reason why the connection has ended, or raises
        `OSError`, `BrokenResourceError`, `TooSlowError` or `FormatError`.
        """
        while True:
            session.handshake_done = False
            is_valid = True
            try:
                reason = await connect()
            except trio.TooSlowError:
                reason = "no data received" if session.handshake_done else "no answer"
            except (OSError, trio.BrokenResourceError) as error:
                reason = str(error.__cause__ or error) or type(error).__name__
            except FormatError as error:
                is_valid = False
                reason = f"protocol error: {error}"
            self._recorder.close_ended_game()
            if session.handshake_done:
                if is_valid:
                    self._backoff.reset()
                self._observer.disconnected(reason)
            else:
                self._observer.unreachable(reason)
            await trio.sleep(self._backoff.next_delay_seconds())

    async def receive(self, session: Session, data: bytes) -> None:
        """Decode `data`, and pass the session events to the recorder and the observer.

        Raises `FormatError` if it is invalid. Other tasks can run in between. If the call is cancelled, a part of the
        events is lost, although the session has already counted them. Because of this, it must not be cancelled by a
        timeout, but only when the source ends.
        """
        began = thread_time()
        for event in session.receive(data):
            if isinstance(event, EventBytes):
                began = await self._receive_events(event, session.token, began)
            else:
                self._take(event)
        await self._pace.spend(thread_time() - began, 0)

    async def _receive_events(self, event: EventBytes, token: int, began: float) -> float:
        """Pass event bytes to the recorder, in slices.

        Returns the thread time up to which the source has been charged.
        """
        size_bytes = len(event.data)
        self._observer.received(size_bytes)
        for start in range(0, max(1, size_bytes), SLICE_BYTES):
            part = event.data[start : start + SLICE_BYTES]
            end_cursor = None if event.end_cursor is None else event.end_cursor - size_bytes + start + len(part)
            self._recorder.receive(part, token=token, end_cursor=end_cursor)
            now = thread_time()
            await self._pace.spend(now - began, len(part))
            began = thread_time()
        return began

    def _take(self, event: SessionEvent) -> None:
        recorder = self._recorder
        if isinstance(event, BytesLost):
            recorder.gap(event.size_bytes)
        elif isinstance(event, HandshakeDone):
            if event.restarted:
                recorder.restart()
            if event.nick:
                recorder.nick = event.nick
            self._observer.connected(event.nick, event.version)
        else:
            recorder.close_ended_game()


class Backoff:
    """The delays between attempts.

    Each base delay is twice the previous one, and up to a quarter is subtracted at random.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next = _FIRST_DELAY_SECONDS

    def reset(self) -> None:
        """Begin again with the shortest delay, after a successful attempt."""
        self._next = _FIRST_DELAY_SECONDS

    def next_delay_seconds(self) -> float:
        """Return the delay before the next attempt."""
        seconds, self._next = self._next, min(self._next * 2, _MAX_DELAY_SECONDS)
        return seconds * self._rng.uniform(0.75, 1.0)
