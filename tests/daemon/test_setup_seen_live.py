"""Only a daemon that receives a game live knows the pacing of its frames and the error of the console's clock."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
import trio

from slpstream.model.setup import Pacing
from slpstream.parts.audit.indexed_setups import newest_setups
from slpstream.store import FILE_NAME, GameIndex, open_database
from tests.daemons.played_game import PlayedGame
from tests.daemons.station import running_station, until
from tests.synthetic.match import synthetic_match


@pytest.mark.trio
async def test_only_a_game_that_was_seen_to_arrive_has_a_pacing(tmp_path: Path) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    index = GameIndex(open_database(tmp_path / FILE_NAME), None)
    copied = synthetic_match(seed=6, frames=600)
    played = PlayedGame(folder / "Game_1.slp", synthetic_match(seed=5, frames=600))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        async with running_station(folder, index=index) as station:
            (folder / "Game_0.slp").write_bytes(copied)
            await until(lambda: station.channel.current is not None and station.channel.current.ended)
            began = time.time()
            for _ in range(50):
                played.write(1500)
                await trio.sleep(0.03)
            played.end()
            await until(lambda: len(station.channel.games) == 2 and station.channel.games[-1].ended)
            await index.written()
            found = await index.read(lambda database: newest_setups(database, "setup", 5))
            rows = {row.game_id: row for row in found or []}
        nursery.cancel_scope.cancel()
    seen = rows.pop(played.game_id)
    [other] = rows.values()
    assert (other.pacing, other.arrived_at_ms) == (None, None)
    assert seen.arrived_at_ms is not None
    assert seen.arrived_at_ms / 1000 >= began - 1
    pacing = msgspec.json.decode(seen.pacing or "", type=Pacing)
    assert pacing.frames_per_second > 0
    assert 0.1 <= pacing.seconds < time.time() - began + 1
