"""How one talks with a source that is far away: one attempt after the other, for ever.

What is said on a connection is the session's; what comes goes to the recorder. Between attempts it is waited longer and
longer, by chance a little more or less, so that fifty setups do not knock at the same moment when the network is back.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Never, Protocol

import trio

from slpstream.model.errors import FormatError
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.session import Arrived, Greeted, Lost, Said

_FIRST_WAIT_SECONDS, _MAX_WAIT_SECONDS = 0.25, 10.0


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


class Session(Protocol):
    """What is said on connections to one source."""

    greeted: bool
    """It has answered, on this connection."""


class Attempts:
    """All that is tried with one source."""

    def __init__(self, recorder: Recorder, watcher: Watcher, chance: random.Random | None = None) -> None:
        self._recorder = recorder
        self._watcher = watcher
        self._patience = Backoff(chance or random.Random())  # noqa: S311 -- waiting times, not secrets

    async def run(self, session: Session, converse: Callable[[], Awaitable[str]]) -> Never:
        """Until cancelled. `converse` is one connection; it returns why it is over, or raises `OSError`,
        `BrokenResourceError`, `TooSlowError` or `FormatError`."""
        while True:
            session.greeted = False
            makes_sense = True
            try:
                what = await converse()
            except trio.TooSlowError:
                what = "it says nothing" if session.greeted else "no answer"
            except (OSError, trio.BrokenResourceError) as error:
                what = str(error.__cause__ or error) or type(error).__name__
            except FormatError as error:
                makes_sense = False
                what = f"it says what cannot be: {error}"
            self._recorder.rest()
            if session.greeted:
                if makes_sense:
                    self._patience.renew()
                self._watcher.disconnected(what)
            else:
                self._watcher.unreachable(what)
            await trio.sleep(self._patience.wait_seconds())

    def take(self, all_said: Iterable[Said], *, token: int = 0) -> None:
        """What has come. `token` is that of who counts the cursors in it, where somebody does."""
        recorder = self._recorder
        for said in all_said:
            if isinstance(said, Arrived):
                self._watcher.received(len(said.data))
                recorder.receive(said.data, token=token, end_cursor=said.end_cursor)
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


class Backoff:
    """How long to wait before the next attempt: doubling, and three quarters of it to all of it by chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._next = _FIRST_WAIT_SECONDS

    def renew(self) -> None:
        """An attempt has succeeded."""
        self._next = _FIRST_WAIT_SECONDS

    def wait_seconds(self) -> float:
        """Until the next attempt."""
        seconds, self._next = self._next, min(self._next * 2, _MAX_WAIT_SECONDS)
        return seconds * self._chance.uniform(0.75, 1.0)
