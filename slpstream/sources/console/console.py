"""A console on the network as a source. All that is said is the session's; this task only connects and keeps the
times."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import trio

from slpstream.sources.console import wire
from slpstream.sources.console.reconnect import Attempts, Watcher
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.session import ConsoleSession

_READ_BYTES = 65536
_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 5.0
"""A console says something twice a second; after so long it is gone."""
_PATIENT_SECONDS = 25.0
"""A console that has another client takes the connection and answers when that one leaves; a launcher's relay answers
with the first events. So we stay for as long before we try again."""
_BARE_SILENCE_SECONDS = 60.0
"""Without messages there is nothing that must be said; a launcher's relay is silent between games."""
_REST_SECONDS = 0.3
"""After so long without events a game that has ended is closed."""

Connect = Callable[[], Awaitable[trio.abc.Stream]]


class ConsoleSource:
    """One console, or a relay that speaks like one. `run` it once; it ends only by cancellation."""

    def __init__(
        self,
        connect: Connect,
        recorder: Recorder,
        watcher: Watcher,
        *,
        chance: random.Random | None = None,
    ) -> None:
        """`connect` opens a connection, and raises `OSError`."""
        self._connect = connect
        self._recorder = recorder
        self._watcher = watcher
        self._session = ConsoleSession()
        self._attempts = Attempts(recorder, watcher, chance)

    async def run(self) -> None:
        """Receives until cancelled."""
        point = await self._recorder.prepare()
        if point is not None:
            self._session = ConsoleSession(point.token, point.base_cursor)
        await self._attempts.run(self._session, self._converse)

    async def _converse(self) -> str:
        with trio.fail_after(_CONNECT_SECONDS):
            stream = await self._connect()
        session = self._session
        async with stream:
            with trio.move_on_after(wire.HANDSHAKE_SECONDS):
                await stream.send_all(session.connect())
                await self._be_greeted(stream)
            if not session.greeted:
                self._watcher.unreachable("it takes the connection and says nothing; perhaps it has another client")
                with trio.fail_after(_PATIENT_SECONDS):
                    await self._be_greeted(stream)
            quiet_seconds = 0.0
            max_seconds = _BARE_SILENCE_SECONDS if session.token == wire.NO_TOKEN else _SILENCE_SECONDS
            while quiet_seconds < max_seconds:
                with trio.move_on_after(_REST_SECONDS) as resting:
                    data = await stream.receive_some(_READ_BYTES)
                    if not data:
                        return "the other end closed the connection"
                    quiet_seconds = 0.0
                    self._take(data)
                if resting.cancelled_caught:
                    quiet_seconds += _REST_SECONDS
                    self._recorder.rest()
            raise trio.TooSlowError

    async def _be_greeted(self, stream: trio.abc.Stream) -> None:
        while not self._session.greeted:
            data = await stream.receive_some(_READ_BYTES)
            if not data:
                raise trio.BrokenResourceError("the other end closed the connection")
            self._take(data)

    def _take(self, data: bytes | bytearray) -> None:
        said = self._session.receive(bytes(data))
        self._attempts.take(said, token=self._session.token)
