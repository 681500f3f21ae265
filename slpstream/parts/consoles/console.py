"""Receives from a console on the network.

The session knows the protocol, and the task here connects and enforces timeouts.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import trio

from slpstream.parts.consoles import wire
from slpstream.parts.consoles.reconnect import ConnectionObserver, Reconnector
from slpstream.parts.consoles.recorder import Recorder
from slpstream.parts.consoles.session import ConsoleSession
from slpstream.parts.consoles.turns import SLICE_BYTES, Turns

_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 5.0
"""A console sends data at least twice a second. After this long without any data, we consider the connection broken."""
_BUSY_SECONDS = 25.0
"""The timeout for the handshake. If a console has another client, it accepts the connection, but only answers when the
other client leaves. A launcher's relay answers with its first events."""
_RAW_SILENCE_SECONDS = 60.0
"""This replaces `_SILENCE_SECONDS` for raw events, because a launcher's relay doesn't send anything between games."""
_IDLE_SECONDS = 0.3
"""A game that has ended is closed after this long without data."""

Connect = Callable[[], Awaitable[trio.abc.Stream]]


class ConsoleSource:
    """Records one console, or a relay with the same protocol. Call `run` once. It only ends by being cancelled."""

    def __init__(
        self,
        connect: Connect,
        recorder: Recorder,
        observer: ConnectionObserver,
        *,
        rng: random.Random | None = None,
        turns: Turns | None = None,
    ) -> None:
        """`connect` opens a connection, or raises `OSError`."""
        self._connect = connect
        self._recorder = recorder
        self._observer = observer
        self._session = ConsoleSession()
        self._reconnector = Reconnector(recorder, observer, rng, turns)

    async def run(self) -> None:
        """Receive until cancelled."""
        point = await self._recorder.prepare()
        if point is not None:
            self._session = ConsoleSession(point.token, point.base_cursor)
        await self._reconnector.run(self._session, self._run_connection)

    async def _run_connection(self) -> str:
        with trio.fail_after(_CONNECT_SECONDS):
            stream = await self._connect()
        session = self._session
        async with stream:
            # No timeout cancels `Reconnector.receive`, which must finish once the session has counted the bytes.
            deadline = trio.current_time() + wire.HANDSHAKE_SECONDS
            with trio.move_on_at(deadline):
                await stream.send_all(session.connect())
            await self._receive_handshake(stream, deadline)
            if not session.handshake_done:
                self._observer.unreachable("it accepts the connection but does not answer; it may have another client")
                await self._receive_handshake(stream, trio.current_time() + _BUSY_SECONDS)
            if not session.handshake_done:
                raise trio.TooSlowError
            silent_seconds = 0.0
            max_silent_seconds = _RAW_SILENCE_SECONDS if session.token == wire.NO_TOKEN else _SILENCE_SECONDS
            while silent_seconds < max_silent_seconds:
                with trio.move_on_after(_IDLE_SECONDS) as idle:
                    data = await stream.receive_some(SLICE_BYTES)
                if idle.cancelled_caught:
                    silent_seconds += _IDLE_SECONDS
                    self._recorder.close_ended_game()
                elif data:
                    silent_seconds = 0.0
                    await self._reconnector.receive(session, bytes(data))
                else:
                    return "the other end closed the connection"
            raise trio.TooSlowError

    async def _receive_handshake(self, stream: trio.abc.Stream, deadline: float) -> None:
        """Receive until the handshake is done or the deadline has passed."""
        while not self._session.handshake_done:
            with trio.move_on_at(deadline) as timeout:
                data = await stream.receive_some(SLICE_BYTES)
            if timeout.cancelled_caught:
                return
            if not data:
                raise trio.BrokenResourceError("the other end closed the connection")
            await self._reconnector.receive(self._session, bytes(data))
