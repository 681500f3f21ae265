"""Checks each finished game by reading its file again and comparing the result with the messages that were published
live.

While messages are published, we record them as a chain of hashes for each `frames` mode. When the game is over and its
file is closed, we decode the file again. This happens in a worker thread, slice by slice and one game at a time, so
publishing never has to wait for it. If there's a difference, we log the first message that differs. In any case, the
result is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import trio

from slpstream.formats.registry import of_name
from slpstream.formats.slplog.hash_chain import Chain, ReplayedLog
from slpstream.game.log_writer import Batch
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import FramesMode
from slpstream.system.files import open_regular
from slpstream.system.logs import get_logger

_SLICE_BYTES = 64 * 1024
_FRAMES_PER_BATCH = 512
_MAX_WAITING = 32
_SHOWN_BYTES = 300

Count = Callable[[str, str], None]
"""Called with a station and a result. This is `equal`, `different`, `unreadable`, or `skipped` if too many games are
waiting."""


class _FinishedGame(NamedTuple):
    """A finished game that is waiting to be checked."""

    station: str
    path: Path
    game_id: str | None
    chains: dict[FramesMode, Chain]


class ReplayCheck:
    """Checks finished games. Call `run` in one task, and call it again after a bug."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._chains: WeakKeyDictionary[Pipeline, dict[FramesMode, Chain]] = WeakKeyDictionary()
        self._send, self._receive = trio.open_memory_channel[_FinishedGame](_MAX_WAITING)
        self._log = get_logger()

    def published(self, pipeline: Pipeline, batch: Batch) -> None:
        """Record the messages of a game that were just published. This doesn't block."""
        chains = self._chains.get(pipeline)
        if chains is None:
            chains = self._chains[pipeline] = {mode: Chain() for mode in pipeline.modes}
        for mode, chain in chains.items():
            for message in batch.messages(mode):
                chain.add(message.json())

    def released(self, station: str, path: Path, pipeline: Pipeline) -> None:
        """Queue a game to be checked, because its file isn't followed any more.

        If the game has not ended, this does nothing. This does not block.
        """
        chains = self._chains.pop(pipeline, None)
        if chains is None or not pipeline.ended:
            return
        try:
            self._send.send_nowait(_FinishedGame(station, path, pipeline.game_id, chains))
        except trio.WouldBlock:
            self._count(station, "skipped")

    async def run(self) -> None:
        """Check finished games, one after the other, until cancelled."""
        async for game in self._receive:
            await self._check(game)

    async def _check(self, game: _FinishedGame) -> None:
        replayed = {mode: ReplayedLog(chain) for mode, chain in game.chains.items()}
        format_ = of_name(game.path.name)
        pipeline = Pipeline(format_.new_reader(game.path.name), tuple(game.chains))

        def compare(batch: Batch) -> None:
            for mode, log in replayed.items():
                log.feed(message.json() for message in batch.messages(mode))

        try:
            with await trio.to_thread.run_sync(open_regular, game.path) as file:
                while not pipeline.exhausted and (data := await trio.to_thread.run_sync(file.read, _SLICE_BYTES)):
                    await trio.to_thread.run_sync(lambda data=data: compare(pipeline.feed(data)))  # type: ignore[misc]
        except OSError as error:
            self._report(game, "unreadable", error.strerror or "cannot be read")
            return
        if format_.written_whole:
            await trio.to_thread.run_sync(lambda: compare(pipeline.finish()))
            while pipeline.pending:
                await trio.to_thread.run_sync(lambda: compare(pipeline.more(_FRAMES_PER_BATCH)))
        for mode, log in replayed.items():
            log.finish()
            if log.divergence is not None:
                place, line = log.divergence
                found = line[:_SHOWN_BYTES].decode(errors="replace") or "no more messages"
                self._report(game, "different", f"message {place + 1} of the {mode} log: the file has {found}")
                return
        self._report(game, "equal", f"{sum(log.count for log in replayed.values())} messages")

    def _report(self, game: _FinishedGame, result: str, what: str) -> None:
        self._count(game.station, result)
        log = self._log.info if result == "equal" else self._log.warning
        log("game verified", station=game.station, game_id=game.game_id, file=game.path.name, result=result, what=what)
