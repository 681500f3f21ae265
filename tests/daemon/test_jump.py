"""Instant replay with a real daemon: a jump into a running game, and into the same game after it has ended.

The game was played online, so frames are revised. Nothing depends on timing: the file grows when the test writes to it,
and each reader knows the last message to expect.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
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


def jump(
    daemon: DaemonProcess,
    cursor: str,
    expected: Sequence[LogMessage],
    mode: FramesMode,
    *,
    delta: bool = False,
    then: Callable[[], None] | None = None,
) -> None:
    """Check the log messages after a cursor. Calls `then` after the first one."""
    url = daemon.stream_url(station=STATION, cursor=cursor, delivery="lossless", frames=mode)
    decoder, found = DeltaDecoder(), list[dict[str, Any]]()
    subprotocols = [Subprotocol(SUBPROTOCOL)] if delta else None
    deadline = time.monotonic() + DEADLINE_SECONDS
    with connect(url, max_size=None, subprotocols=subprotocols, close_timeout=0.2) as socket:
        while not found or found[-1]["cursor"] != expected[-1].cursor:
            data = socket.recv(timeout=max(0.01, deadline - time.monotonic()), decode=False)
            message = decoder.decode(data) if delta else json.loads(data)
            if message["type"] not in STATUS_TYPES:
                found.append(message)
                if then is not None:
                    then()
                    then = None
    assert found == [json.loads(message.json(STATION)) for message in expected]


def from_frame(log: Sequence[LogMessage], number: int) -> Sequence[LogMessage]:
    """The messages that a jump to a frame delivers."""
    return log[next(index for index, m in enumerate(log) if m.frame is not None and m.frame >= number) :]


def refusal(daemon: DaemonProcess, **query: str) -> int:
    """The close code of a refused subscription."""
    with connect(daemon.stream_url(station=STATION, **query), close_timeout=0.2) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                socket.recv(timeout=DEADLINE_SECONDS)
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code


@pytest.mark.slow
def test_jumps_into_a_running_game_and_into_the_same_game_after_its_end(tmp_path: Path) -> None:
    folder = tmp_path / STATION
    folder.mkdir()
    game = PlayedGame(folder / "Game_1.slp", synthetic_match(seed=8, frames=1500, rollbacks=True))
    game.write(len(game.whole) * 3 // 5)
    logs = Pipeline(SlippiReader(), MODES).feed(game.unfinished()).logs
    newest = {mode: max(message.frame for message in log if message.frame is not None) for mode, log in logs.items()}
    revised = next(m.frame or 0 for m in logs["live"] if b'"revision":1' in m.body[:60])
    final = newest["finalized"]
    with running(folder) as daemon:
        daemon.wait_ready()
        frames = f"/v1/games/{game.game_id}/frames?from={final}&fields=post.percent"
        daemon.until(lambda: daemon.status(frames) == 200 and daemon.get(frames)["frames"][-1:])
        for mode, log in logs.items():
            for number in (-500, -123, 0, 300, revised, newest[mode]):
                for delta in (False, True):
                    jump(daemon, f"{game.game_id}/frame:{number}", from_frame(log, number), mode, delta=delta)
            for delivery in ("lossless", "conflate"):
                for number in (newest[mode] + 1, newest[mode] + 5000):
                    cursor = f"{game.game_id}/frame:{number}"
                    assert refusal(daemon, cursor=cursor, frames=mode, delivery=delivery) == 4410
                assert refusal(daemon, cursor=f"{'0' * 32}/frame:0", frames=mode, delivery=delivery) == 4404
        whole = Pipeline(SlippiReader(), MODES).feed(game.whole).logs
        assert whole["live"][-1].type == "metadata"
        jump(daemon, f"{game.game_id}/frame:300", from_frame(whole["live"], 300), "live", delta=True, then=game.end)
        for number in (300, final + 50):
            for mode, log in whole.items():
                jump(daemon, f"{game.game_id}/frame:{number}", from_frame(log, number), mode)
        assert refusal(daemon, cursor=f"{game.game_id}/frame:100000") == 4410
