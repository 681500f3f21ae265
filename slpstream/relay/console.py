"""A console on the network as a source: one connection after the other, for ever.

All that is said is the session's; what comes goes to the recorder. This task only connects, keeps the times, and
waits longer and longer between attempts, by chance a little more or less, so that fifty setups do not knock at the
same moment when the network is back.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Protocol

import trio

from slpstream.errors import FormatError
from slpstream.logs import get_logger
from slpstream.relay import wire
from slpstream.relay.recorder import Recorder
from slpstream.relay.session import Arrived, ConsoleSession, Greeted, Lost

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
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.25, 10.0

Connect = Callable[[], Awaitable[trio.abc.Stream]]


class Watcher(Protocol):
    """Who is told how it goes with a source."""

    def connected(self, nick: str, version: str) -> None:
        """It answers."""

    def disconnected(self, what: str) -> None:
        """The connection broke; it is tried again."""

    def unreachable(self, what: str) -> None:
        """It does not answer; it is tried again."""

    def received(self, size_bytes: int) -> None:
        """Bytes of events came."""


class Patience:
    """How long to wait before the next attempt: doubling, and three quarters of it to all of it by chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._next = _FIRST_WAIT_SECONDS

    def renew(self) -> None:
        """An attempt has succeeded."""
        self._next = _FIRST_WAIT_SECONDS

    def wait_seconds(self) -> float:
        """Until the next attempt."""
        seconds, self._next = self._next, min(self._next * 2, _LONGEST_WAIT_SECONDS)
        return seconds * self._chance.uniform(0.75, 1.0)


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
        self._patience = Patience(chance or random.Random())  # noqa: S311 -- waiting times, not secrets
        self._session = ConsoleSession()
        self._log = get_logger()

    async def run(self) -> None:
        """Receives until cancelled."""
        point = await self._recorder.prepare()
        if point is not None:
            self._session = ConsoleSession(point.token, point.base_cursor)
        while True:
            self._session.greeted = False
            makes_sense = True
            try:
                await self._converse()
                what = "the other end closed the connection"
            except trio.TooSlowError:
                what = "it says nothing" if self._session.greeted else "no answer"
            except (OSError, trio.BrokenResourceError) as error:
                what = str(error.__cause__ or error) or type(error).__name__
            except FormatError as error:
                makes_sense = False
                what = f"it says what cannot be: {error}"
            self._recorder.rest()
            if self._session.greeted:
                if makes_sense:
                    self._patience.renew()
                self._watcher.disconnected(what)
            else:
                self._watcher.unreachable(what)
            await trio.sleep(self._patience.wait_seconds())

    async def _converse(self) -> None:
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
            longest_seconds = _BARE_SILENCE_SECONDS if session.token == wire.NO_TOKEN else _SILENCE_SECONDS
            while quiet_seconds < longest_seconds:
                with trio.move_on_after(_REST_SECONDS) as resting:
                    data = await stream.receive_some(_READ_BYTES)
                    if not data:
                        return
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
        recorder = self._recorder
        for said in self._session.receive(bytes(data)):
            if isinstance(said, Arrived):
                self._watcher.received(len(said.data))
                recorder.receive(said.data, token=self._session.token, end_cursor=said.end_cursor)
            elif isinstance(said, Lost):
                recorder.gap(said.size_bytes)
            elif isinstance(said, Greeted):
                if said.restarts:
                    recorder.restart()
                if said.nick:
                    recorder.nick = said.nick
                self._watcher.connected(said.nick, said.version)
            else:
                recorder.rest()
