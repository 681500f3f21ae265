"""Files with holes of any length, or damage: the station continues with its next game."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.station.context import Timing
from slpstream.game.log_reader import archived_game
from tests.daemons.played_game import game_id_of
from tests.daemons.station import running_station, until, whole_log
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio
TERABYTE = 1 << 40


def damaged(replay: bytes) -> bytes:
    """The first half of a running game, then an undeclared command."""
    return replay[:11] + bytes(4) + replay[15 : len(replay) // 2] + b"\0" * 100


@pytest.mark.parametrize("kind", ["only a hole", "after a finished game", "in a game", "in a file written in one go"])
async def test_next_game_is_streamed_after_a_file_with_a_hole(tmp_path: Path, kind: str) -> None:
    replay = synthetic_match(frames=130)
    contents = {"after a finished game": replay, "in a game": damaged(replay)}.get(kind, b"")
    path = tmp_path / ("race.gci" if kind == "in a file written in one go" else "Game_1.slp")
    async with running_station(tmp_path) as station:
        with path.open("wb") as file:
            file.write(contents)
            file.truncate(TERABYTE)
        following = synthetic_match(seed=2, frames=130)
        (tmp_path / "Game_2.slp").write_bytes(following)
        await until(lambda: any(game.ended and game.game_id == game_id_of(following) for game in station.channel.games))
        if path.suffix == ".slp":
            await until(lambda: len(station.files) == 0)
            assert station.files.lag_seconds == 0


async def test_diagnostic_after_the_end_of_the_game_is_not_lost(tmp_path: Path) -> None:
    replay = synthetic_match(frames=130)
    path = tmp_path / "Game_1.slp"
    async with running_station(tmp_path) as station:
        with path.open("wb") as file:
            file.write(replay)
            file.truncate(len(replay) + 300_000)
        await until(lambda: any(game.ended for game in station.channel.games) and len(station.files) == 0)
        (game,) = station.channel.games
        lines = [message.json() for message in await whole_log(game)]
    assert b"trailing_bytes" in lines[-1]
    assert lines == [message.json() for message in messages(path)]


@pytest.mark.slow
async def test_damaged_file_that_grows_is_kept_open_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "Game_1.slp"
    read: list[int] = []
    async with running_station(tmp_path, timing=Timing(tick_seconds=0.01, release_seconds=1.0)) as station:
        station.files.on_bytes = lambda followed, offset, data: read.append(len(data))
        path.write_bytes(damaged(synthetic_match(frames=130)))
        await until(lambda: any(game.ended for game in station.channel.games))
        count = len(read)
        end = trio.current_time() + 1.5
        while trio.current_time() < end:
            with path.open("ab") as file:
                file.write(bytes(100))
            await trio.sleep(0.02)
            assert station.followed == [path], "opening it again for each growth would cost more"
        assert len(read) == count
        await until(lambda: len(station.files) == 0)


async def test_log_of_an_archived_game_ends_at_the_hole(tmp_path: Path) -> None:
    path = tmp_path / "Game_1.slp"
    data = synthetic_match(frames=130)
    path.write_bytes(data)
    expected = [message.json() for message in messages(path)]
    os.truncate(path, TERABYTE)
    game = archived_game(lambda: path, 0, game_id_of(data), trio.CapacityLimiter(1))
    for _ in range(2):
        lines = [message.json() for message in await whole_log(game)]
        assert lines[:-1] == expected
        assert b"trailing_bytes" in lines[-1]
