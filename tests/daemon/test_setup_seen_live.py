"""Only the daemon that sees a game arrive knows how evenly its frames came and how wrong the console's clock is."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
import trio

from slpstream.model.setup import Pacing
from slpstream.store import FILE_NAME, GameIndex, SetupRow, open_database
from tests.daemon.test_live_game import PlayedGame
from tests.daemons.station import running_station, until


async def rows(index: GameIndex) -> list[SetupRow]:
    await index.written()
    return await index.setups("setup", 5)


@pytest.mark.trio
async def test_pacing_of_a_game_that_was_seen_to_arrive(tmp_path: Path) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    index = GameIndex(open_database(tmp_path / FILE_NAME), None)
    played = PlayedGame(folder / "Game_1.slp", seed=5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        async with running_station(folder, index=index) as station:
            began = time.time()
            for _ in range(50):
                played.write(1500)
                await trio.sleep(0.03)
            played.end()
            await until(lambda: station.channel.current is not None and station.channel.current.ended)
            [row] = await rows(index)
            assert row.game_id == played.game_id
            assert row.arrived_at_ms is not None
            assert row.arrived_at_ms / 1000 >= began - 1
            pacing = msgspec.json.decode(row.pacing or "", type=Pacing)
            assert pacing.frames_per_second > 0
            assert 0.1 <= pacing.seconds < time.time() - began + 1
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_copied_game_has_no_pacing(tmp_path: Path) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    index = GameIndex(open_database(tmp_path / FILE_NAME), None)
    played = PlayedGame(tmp_path / "Game_1.slp", seed=6)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        async with running_station(folder, index=index) as station:
            (folder / "Game_1.slp").write_bytes(played.whole)
            await until(lambda: station.channel.current is not None and station.channel.current.ended)
            [row] = await rows(index)
            assert (row.game_id, row.pacing, row.arrived_at_ms) == (played.game_id, None, None)
        nursery.cancel_scope.cancel()
