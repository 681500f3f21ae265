"""Unfinished games: their resources are released soon, and a game that resumes continues its log."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.formats.interface import REST_SECONDS
from slpstream.model.messages import Position
from slpstream.system.ticks import SharedTicks
from tests.daemons.played_game import PlayedGame
from tests.daemons.station import log_of, running_station, until
from tests.formats.games import games
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio
IDLE_SECONDS = 0.3


quick_station = partial(running_station, stalled_seconds=0.1, idle_seconds=IDLE_SECONDS)


def middle_of(data: bytes) -> int:
    return len(data) // 2


async def test_left_game_is_released_and_can_continue(tmp_path: Path) -> None:
    left, other = (
        PlayedGame(tmp_path / f"Game_{seed}.slp", synthetic_match(seed=seed, frames=300, rollbacks=True))
        for seed in (5, 6)
    )
    async with quick_station(tmp_path) as station, log_of(station) as received:
        left.write(len(left.whole) // 2)
        await until(lambda: station.channel.current is not None)
        game = station.channel.current
        assert game is not None
        await trio.sleep(3 * IDLE_SECONDS)
        assert station.followed == [left.path], "the current game may be paused"

        other.write(len(other.whole) // 2)
        await until(lambda: station.channel.current is not game)
        await until(lambda: station.followed == [other.path])
        assert all(log.size_bytes == 0 for log in game.logs.values())
        assert not game.in_progress

        left.end()
        expected = [message.json() for message in messages(left.path)]
        mark = f'"gameId":"{game.game_id}"'.encode()
        await until(lambda: game.ended and sum(mark in line for line in received) >= len(expected))
        assert [line for line in received if mark in line] == expected
        assert [known.game_id for known in station.channel.games].count(game.game_id) == 1


class RecordedTicks(SharedTicks):
    """Notes the phase of each wait."""

    def __init__(self) -> None:
        super().__init__()
        self.phases: list[str] = []

    async def wait(
        self, period_seconds: float, name: str, is_needed: Callable[[float], bool] = lambda now: True
    ) -> None:
        self.phases.append(name)
        await super().wait(period_seconds, name, is_needed)


async def test_stations_share_one_timer_while_no_file_grows(tmp_path: Path) -> None:
    """While one does, the upkeep is staggered by the names of the stations."""
    ticks = RecordedTicks()
    game = PlayedGame(tmp_path / "Game_1.slp", synthetic_match(seed=5, frames=300))
    async with quick_station(tmp_path, ticks=ticks) as station:
        await until(lambda: ticks.phases)
        shared = ticks.phases[0]
        assert shared != station.id
        game.write()
        await until(lambda: ticks.phases[-1] == station.id)
        await until(lambda: ticks.phases[-1] == shared)
        assert station.followed == [game.path], "the game is paused"
        game.write()
        await until(lambda: ticks.phases[-1] == station.id)


async def test_files_without_game_start_are_released(tmp_path: Path) -> None:
    data = synthetic_match(seed=7, frames=130)
    async with quick_station(tmp_path) as station:
        for number in range(20):
            (tmp_path / f"Game_{number}.slp").write_bytes(data[: 40 + number])
        await until(lambda: len(station.files) > 0)
        await until(lambda: len(station.files) == 0)
        assert not station.channel.games


@pytest.mark.slow
async def test_log_stays_readable_while_its_file_is_read_again(tmp_path: Path) -> None:
    left, other = (synthetic_match(seed=8, frames=4000), synthetic_match(seed=9, frames=200))
    path = tmp_path / "Game_1.slp"
    async with quick_station(tmp_path) as station:
        path.write_bytes(left[: middle_of(left)])
        await until(lambda: station.channel.current is not None)
        game = station.channel.current
        assert game is not None
        (tmp_path / "Game_2.slp").write_bytes(other[: middle_of(other)])
        await until(lambda: game.stopped == "left")
        known = game.logs["live"].head
        seen = 0
        with path.open("ab") as file:
            file.write(left[middle_of(left) :])
        while not game.ended:
            if game.stopped != "left":
                assert await game.log_reader.messages("live", Position(known.offset - 5000, 0))
                seen += 1
            await trio.sleep(0)
        assert seen


async def test_dropped_game_that_continues_is_an_old_game(tmp_path: Path) -> None:
    """A station drops the log of an unfinished game after many later ones."""
    left = PlayedGame(tmp_path / "Game_00.slp", synthetic_match(seed=10, frames=300))
    others = [tmp_path / f"Game_{number:02}.slp" for number in range(1, 20)]
    async with quick_station(tmp_path) as station, log_of(station) as received:
        left.write(len(left.whole) // 2)
        await until(lambda: station.channel.current is not None)
        game = station.channel.current
        assert game is not None
        following = PlayedGame(others[0], synthetic_match(seed=11, frames=300))
        following.write(len(following.whole) // 2)
        await until(lambda: game.stopped == "left")
        following.end()
        for number, path in enumerate(others[1:], 12):
            path.write_bytes(synthetic_match(seed=number, frames=130))
        await until(lambda: game not in station.channel.games)
        left.end()
        await until(lambda: game.ended)
        expected = [message.json() for path in (left.path, *others) for message in messages(path)]
        await until(lambda: len(received) >= len(expected))
        assert sorted(received) == sorted(expected)
        assert station.channel.games[0] is game, "it is an old game, not the newest"


@pytest.mark.slow
async def test_file_that_waits_for_a_thread_is_not_released(tmp_path: Path) -> None:
    limiter = trio.CapacityLimiter(1)
    async with quick_station(tmp_path, limiter=limiter) as station:
        limiter.acquire_on_behalf_of_nowait("another task")
        (tmp_path / "race.gci").write_bytes(games()["race.gci"])
        await trio.sleep(REST_SECONDS + 3 * IDLE_SECONDS)
        assert len(station.files) == 1
        limiter.release_on_behalf_of("another task")
        await until(lambda: station.channel.current is not None and station.channel.current.ended)


async def test_unwritten_files_are_limited(tmp_path: Path) -> None:
    async with quick_station(tmp_path) as station:
        for number in range(20):
            data = synthetic_match(seed=100 + number, frames=130)
            station.following.feed_unwritten(tmp_path / f"Game_{number}.slp", 0, data)
        assert len(station.files) == 20
        await until(lambda: len(station.files) <= 9)
        assert all(game.ended for game in station.channel.games)
