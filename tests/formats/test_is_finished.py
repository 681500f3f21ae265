"""Whether the first bytes of a file show that it is finished, and a station in a folder of files from the future."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from slpstream.formats.registry import is_finished
from tests.daemons.station import running_station
from tests.formats.games import games
from tests.synthetic.match import synthetic_match

HEADER_BYTES = 15


def in_progress(replay: bytes) -> bytes:
    """The replay with the raw length of a running game, without its last bytes."""
    return replay[:11] + bytes(4) + replay[HEADER_BYTES : len(replay) // 2]


def test_raw_length_shows_a_finished_slippi_replay() -> None:
    replay = synthetic_match(frames=10)
    assert is_finished("Game.slp", replay[:HEADER_BYTES])
    assert not is_finished("Game.slp", in_progress(replay)[:HEADER_BYTES])
    assert not is_finished("Game.slp", replay[: HEADER_BYTES - 1])
    assert not is_finished("Game.slp", b"")
    assert not is_finished("Game.slp", b"x" * HEADER_BYTES)
    assert not is_finished("Game.txt", replay[:HEADER_BYTES])


def test_files_written_in_one_go_are_finished() -> None:
    assert all(is_finished(name, b"") for name in games())


@pytest.mark.trio
async def test_station_of_a_slow_clock_follows_only_the_running_game(tmp_path: Path) -> None:
    replay = synthetic_match(frames=60)
    running = tmp_path / "running.slp"
    for number in range(20):
        (tmp_path / f"{number}.slp").write_bytes(replay)
    for name in games():
        (tmp_path / f"other_{name}").write_bytes(games()[name])
    running.write_bytes(in_progress(synthetic_match(frames=60, seed=2)))
    ahead = time.time() + 365 * 86400
    for path in tmp_path.iterdir():
        os.utime(path, (ahead, ahead))
    async with running_station(tmp_path) as station:
        assert station.followed == [running]
        assert station.state == "playing"
        assert station.describe()["files"]["finished"] == 20 + len(games())
