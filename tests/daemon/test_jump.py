"""Instant replay with a real daemon: a jump into a running game, and into the same game after it has ended.

The game was played online, so frames are revised. Nothing depends on timing: the file grows when the test writes to it,
and each reader knows the last message to expect.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_reader import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.model.delta import SUBPROTOCOL, DeltaDecoder
from slpstream.model.messages import FramesMode, LogMessage
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DEADLINE_SECONDS, STATUS_TYPES, DaemonProcess, running
from tests.synthetic.match import synthetic_match

STATION = "main"


class GameInProgress(PlayedGame):
    """A partly written game, and the daemon that reads it."""

    def __init__(self, daemon: DaemonProcess, path: Path, data: bytes) -> None:
        super().__init__(path, data)
        self.daemon = daemon
        self.write(len(data) * 3 // 5)
        self.logs = _logs(self.unfinished())
        self.whole_logs = _logs(data)
        daemon.until(lambda: self._newest() == self.newest)

    def _newest(self) -> int | None:
        stations = self.daemon.get("/v1/stations")["stations"]
        if stations[0].get("game", {}).get("gameId") != self.game_id:
            return None
        frames = self.daemon.get(f"/v1/games/{self.game_id}/frames?from={self.final}&fields=post.percent")["frames"]
        return self.newest if frames and frames[-1]["frame"] == self.final else None

    @property
    def newest(self) -> int:
        """Highest frame number in the live log so far."""
        return max(message.frame for message in self.logs["live"] if message.frame is not None)

    @property
    def final(self) -> int:
        """Highest frame number that is final so far."""
        return max(message.frame for message in self.logs["finalized"] if message.frame is not None)


def _logs(data: bytes) -> dict[FramesMode, list[LogMessage]]:
    return Pipeline(SlippiReader(), MODES).feed(data).logs


@contextmanager
def game_in_progress(data: bytes, folder: Path) -> Iterator[GameInProgress]:
    """A daemon with a game in progress."""
    folder.mkdir()
    with running(folder) as daemon:
        daemon.wait_ready()
        yield GameInProgress(daemon, folder / "Game_1.slp", data)


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GameInProgress]:
    data = synthetic_match(seed=8, frames=1500, rollbacks=True)
    with game_in_progress(data, tmp_path_factory.mktemp("jump") / STATION) as game:
        yield game


def jump(
    game: GameInProgress,
    cursor: str,
    until: Callable[[dict[str, Any]], bool],
    *,
    delta: bool = False,
    then: Callable[[], None] | None = None,
    **query: str,
) -> list[dict[str, Any]]:
    """The log messages from a cursor up to the one for which `until` is true. Calls `then` after the first message."""
    url = game.daemon.stream_url(station=STATION, cursor=cursor, **{"delivery": "lossless", **query})
    decoder, found = DeltaDecoder(), list[dict[str, Any]]()
    subprotocols = [Subprotocol(SUBPROTOCOL)] if delta else None
    deadline = time.monotonic() + DEADLINE_SECONDS
    with connect(url, max_size=None, subprotocols=subprotocols, close_timeout=0.2) as socket:
        while not found or not until(found[-1]):
            data = socket.recv(timeout=max(0.01, deadline - time.monotonic()), decode=False)
            message = decoder.decode(data) if delta else json.loads(data)
            if message["type"] not in STATUS_TYPES:
                found.append(message)
                if then is not None:
                    then()
                    then = None
    return found


def decoded(log: Sequence[LogMessage]) -> list[dict[str, Any]]:
    return [json.loads(message.json(STATION)) for message in log]


def from_frame(log: Sequence[LogMessage], number: int) -> Sequence[LogMessage]:
    """The messages that a jump to a frame delivers."""
    return log[next(index for index, m in enumerate(log) if m.frame is not None and m.frame >= number) :]


def is_at(message: LogMessage) -> Callable[[dict[str, Any]], bool]:
    return lambda received: received["cursor"] == message.cursor


@pytest.mark.slow
@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_lossless_jump_in_a_running_game(mode: FramesMode, delta: bool, game: GameInProgress) -> None:
    log = game.logs[mode]
    newest = game.newest if mode == "live" else game.final
    revised = next(m.frame or 0 for m in game.logs["live"] if b'"revision":1' in m.body[:60])
    for number in (-500, -123, 0, 300, revised, newest):
        cursor = f"{game.game_id}/frame:{number}"
        expected = from_frame(log, number)
        found = jump(game, cursor, is_at(log[-1]), delta=delta, frames=mode)
        assert found == decoded(expected)
        assert found[0]["frame"]["frame"] == max(number, -123)


def refusal(game: GameInProgress, **query: str) -> int:
    """The close code of a refused subscription."""
    with connect(game.daemon.stream_url(station=STATION, **query), close_timeout=0.2) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                socket.recv(timeout=DEADLINE_SECONDS)
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("delivery", ["lossless", "conflate"])
def test_jump_to_a_future_frame_or_an_unknown_game_is_refused(
    delivery: str, mode: FramesMode, game: GameInProgress
) -> None:
    beyond = game.newest + 1 if mode == "live" else game.final + 1
    for number in (beyond, beyond + 5000):
        cursor = f"{game.game_id}/frame:{number}"
        assert refusal(game, cursor=cursor, frames=mode, delivery=delivery) == 4410
    assert refusal(game, cursor=f"{'0' * 32}/frame:0", frames=mode, delivery=delivery) == 4404


@pytest.mark.slow
def test_jump_delivers_the_rest_of_the_game(tmp_path: Path) -> None:
    with game_in_progress(synthetic_match(seed=8, frames=1500, rollbacks=True), tmp_path / STATION) as game:
        for mode, then in (("live", game.end), ("finalized", None)):
            whole = game.whole_logs["live" if mode == "live" else "finalized"]
            cursor = f"{game.game_id}/frame:300"
            found = jump(game, cursor, is_at(whole[-1]), frames=mode, delta=True, then=then)
            assert found == decoded(from_frame(whole, 300))
        whole, later = game.whole_logs["live"], game.final + 50
        assert whole[-1].type == "metadata"
        found = jump(game, f"{game.game_id}/frame:{later}", is_at(whole[-1]), frames="live")
        assert found == decoded(from_frame(whole, later))
        assert refusal(game, cursor=f"{game.game_id}/frame:100000") == 4410
