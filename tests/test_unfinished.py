"""Games that never end: nothing is kept open for them for long, and should one go on, so does its log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.metrics import Metrics
from slpstream.simulate.match import synthetic_match
from slpstream.station import Station
from slpstream.stream import Tap

pytestmark = pytest.mark.trio
IDLE_SECONDS = 0.3
TIMEOUT_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.station._TICK_SECONDS", 0.01)


@asynccontextmanager
async def following(folder: Path) -> AsyncIterator[Station]:
    station = Station(
        "setup",
        folder,
        name="",
        hints=None,
        metrics=Metrics().station("setup"),
        limiter=trio.CapacityLimiter(4),
        poll_seconds=0.01,
        scan_seconds=0.02,
        stalled_seconds=0.1,
        idle_seconds=IDLE_SECONDS,
        ring_bytes=1 << 20,
    )
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(station.run)
            await until(lambda: station.channel.settled)
            yield station
            nursery.cancel_scope.cancel()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await trio.sleep(0.005)


def half(data: bytes) -> int:
    return len(data) // 2


async def test_a_game_that_was_left_is_given_back_and_can_go_on(tmp_path: Path) -> None:
    left, other = (synthetic_match(seed=seed, frames=300, rollbacks=True) for seed in (5, 6))
    path = tmp_path / "Game_1.slp"
    got: list[bytes] = []
    async with following(tmp_path) as station, trio.open_nursery() as nursery:

        async def listen() -> None:
            async for batch in Tap(station.channel, frames="live", collect_seconds=0.01):
                got.extend(message.json() for message in batch.messages if batch.game_id == game_id)

        path.write_bytes(left[: half(left)])
        await until(lambda: station.channel.current is not None)
        game = station.channel.current
        assert game is not None
        game_id = game.game_id
        nursery.start_soon(listen)
        await trio.sleep(3 * IDLE_SECONDS)
        assert station.followed == [path], "the current game may be paused"

        (tmp_path / "Game_2.slp").write_bytes(other[: half(other)])
        await until(lambda: station.channel.current is not game)
        await until(lambda: station.followed == [tmp_path / "Game_2.slp"])
        assert all(log.size_bytes == 0 for log in game.logs.values())
        assert not game.in_progress

        with path.open("ab") as file:
            file.write(left[half(left) :])
        expected = [message.json() for message in messages(path)]
        await until(lambda: len(got) >= len(expected) and game.ended)
        assert got == expected
        assert [known.game_id for known in station.channel.games].count(game.game_id) == 1
        nursery.cancel_scope.cancel()


async def test_what_never_becomes_a_game_is_given_back(tmp_path: Path) -> None:
    data = synthetic_match(seed=7, frames=130)
    async with following(tmp_path) as station:
        for number in range(20):
            (tmp_path / f"Game_{number}.slp").write_bytes(data[: 40 + number])
        await until(lambda: station.active_files > 0)
        await until(lambda: station.active_files == 0)
        assert not station.channel.games
