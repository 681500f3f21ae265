"""Reconnect for ever, with exponential backoff and jitter.

The session interprets a connection; its bytes go to the recorder. The jitter keeps fifty consoles from being contacted
at the same moment when the network is back.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Never, Protocol

import trio

from slpstream.model.errors import FormatError
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.session import BytesLost, EventBytes, HandshakeDone, SessionEvent

_FIRST_DELAY_SECONDS, _MAX_DELAY_SECONDS = 0.25, 10.0


class ConnectionObserver(Protocol):
    """Receives notices about the connection to a source."""

    def connected(self, nick: str, version: str) -> None:
        """The source has answered."""

    def disconnected(self, reason: str) -> None:
        """An established connection has ended. Another attempt follows."""

    def unreachable(self, reason: str) -> None:
        """The source does not answer. Another attempt follows."""

    def received(self, size_bytes: int) -> None:
        """Event bytes have arrived."""


class Session(Protocol):
    """The protocol state of the connections to one source."""

    handshake_done: bool
    """Whether the source has answered on this connection."""


class Reconnector:
    """Keeps one source connected, and passes its session events on."""

    def __init__(self, recorder: Recorder, observer: ConnectionObserver, rng: random.Random | None = None) -> None:
        self._recorder = recorder
        self._observer = observer
        self._backoff = Backoff(rng or random.Random())  # noqa: S311 -- delays, not secrets

    async def run(self, session: Session, connect: Callable[[], Awaitable[str]]) -> Never:
        """Connect again and again, until cancelled.

        `connect` makes one connection and serves it. It returns the reason why the connection ended, or raises
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

    def process(self, events: Iterable[SessionEvent], *, token: int = 0) -> None:
        """Pass session events to the recorder and the observer. `token` is the client token, if the source has one."""
        recorder = self._recorder
        for event in events:
            if isinstance(event, EventBytes):
                self._observer.received(len(event.data))
                recorder.receive(event.data, token=token, end_cursor=event.end_cursor)
            elif isinstance(event, BytesLost):
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
    """Delays between attempts: each twice the one before, reduced by up to a quarter at random."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next = _FIRST_DELAY_SECONDS

    def reset(self) -> None:
        """Begin again with the shortest delay, after a successful attempt."""
        self._next = _FIRST_DELAY_SECONDS

    def next_delay_seconds(self) -> float:
        """The delay before the next attempt."""
        seconds, self._next = self._next, min(self._next * 2, _MAX_DELAY_SECONDS)
        return seconds * self._rng.uniform(0.75, 1.0)
