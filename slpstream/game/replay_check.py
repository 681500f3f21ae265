"""The assert mode of the daemon: each finished game is read again, and compared with what was said live.

What is published is remembered as a chain of hashes for each `frames` mode. When a game is over and its file closed,
the file is decoded once more, in slices in a worker thread, one game at a time; the first message that differs is
logged, and the outcome counted. Nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary

import trio

from slpstream.formats.registry import of_name
from slpstream.formats.slplog.chain import Chain, Rereading
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import FramesMode, LogMessage
from slpstream.system.files import open_regular
from slpstream.system.logs import get_logger

_SLICE_BYTES = 64 * 1024
_FRAMES_AT_ONCE = 512
_MAX_WAITING = 32
_SHOWN_BYTES = 300

Count = Callable[[str, str], None]
"""(station, result): a game was verified. `equal`, `different`, `unreadable`, or `skipped` when too many wait."""


class Proof(Protocol):
    """Who is told what a station says, and when it is done with a file. Both return at once."""

    def published(self, pipeline: Pipeline, logs: Sequence[Sequence[LogMessage]]) -> None:
        """New messages of a game, for each of the pipeline's modes."""

    def released(self, station: str, path: Path, pipeline: Pipeline) -> None:
        """A file that is not followed any more."""


class Unproven:
    """Nobody verifies."""

    def published(self, pipeline: Pipeline, logs: Sequence[Sequence[LogMessage]]) -> None:
        """As in `Proof`."""

    def released(self, station: str, path: Path, pipeline: Pipeline) -> None:
        """As in `Proof`."""


class _Finished:
    """A game that is to be read again."""

    def __init__(self, station: str, path: Path, pipeline: Pipeline, chains: Sequence[Chain]) -> None:
        self.station = station
        self.path = path
        self.game_id = pipeline.game_id
        self.modes: tuple[FramesMode, ...] = pipeline.modes
        self.chains = chains


class FinishedGames:
    """Verifies games as they finish. `run` it once; it ends only by cancellation."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._chains: WeakKeyDictionary[Pipeline, list[Chain]] = WeakKeyDictionary()
        self._send, self._receive = trio.open_memory_channel[_Finished](_MAX_WAITING)
        self._log = get_logger()

    def published(self, pipeline: Pipeline, logs: Sequence[Sequence[LogMessage]]) -> None:
        """As in `Proof`."""
        chains = self._chains.get(pipeline)
        if chains is None:
            chains = self._chains[pipeline] = [Chain() for _ in pipeline.modes]
        for chain, messages in zip(chains, logs, strict=True):
            for message in messages:
                chain.add(message.json())

    def released(self, station: str, path: Path, pipeline: Pipeline) -> None:
        """As in `Proof`."""
        chains = self._chains.pop(pipeline, None)
        if chains is None or not pipeline.ended:
            return
        try:
            self._send.send_nowait(_Finished(station, path, pipeline, chains))
        except trio.WouldBlock:
            self._count(station, "skipped")

    async def run(self) -> None:
        """Reads finished games again, one after the other, until cancelled."""
        async for game in self._receive:
            await self._verify(game)

    async def _verify(self, game: _Finished) -> None:
        readings = [Rereading(chain) for chain in game.chains]
        format_ = of_name(game.path.name)
        pipeline = Pipeline(format_.new_reader(game.path.name), game.modes)

        def feed(logs: Sequence[Sequence[LogMessage]]) -> None:
            for reading, messages in zip(readings, logs, strict=True):
                reading.feed(message.json() for message in messages)

        try:
            with await trio.to_thread.run_sync(open_regular, game.path) as file:
                while data := await trio.to_thread.run_sync(file.read, _SLICE_BYTES):
                    await trio.to_thread.run_sync(lambda data=data: feed(pipeline.feed(data)))  # type: ignore[misc]
        except OSError as error:
            self._tell(game, "unreadable", error.strerror or "cannot be read")
            return
        if format_.written_whole:
            await trio.to_thread.run_sync(lambda: feed(pipeline.finish()))
            while pipeline.pending:
                await trio.to_thread.run_sync(lambda: feed(pipeline.more(_FRAMES_AT_ONCE)))
        for mode, reading in zip(game.modes, readings, strict=True):
            reading.finish()
            if reading.divergence is not None:
                place, line = reading.divergence
                says = line[:_SHOWN_BYTES].decode(errors="replace") or "nothing more"
                self._tell(game, "different", f"message {place + 1} of the {mode} log: the file says {says}")
                return
        self._tell(game, "equal", f"{sum(reading.count for reading in readings)} messages")

    def _tell(self, game: _Finished, result: str, what: str) -> None:
        self._count(game.station, result)
        say = self._log.info if result == "equal" else self._log.warning
        say("game verified", station=game.station, game_id=game.game_id, file=game.path.name, result=result, what=what)
