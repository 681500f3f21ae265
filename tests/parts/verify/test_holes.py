"""The check of a file with a hole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from slpstream.formats.registry import of_name
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.parts.verify.replay_check import ReplayCheck
from tests.daemons.station import until
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio
TERABYTE = 1 << 40


async def test_check_of_a_finished_game_ends_at_the_hole(tmp_path: Path) -> None:
    results: list[str] = []
    check = ReplayCheck(lambda station, result: results.append(result))
    replay = synthetic_match(frames=130) + bytes(300_000)
    path = tmp_path / "Game_1.slp"
    path.write_bytes(replay)
    os.truncate(path, TERABYTE)
    pipeline = Pipeline(of_name(path.name).new_reader(path.name), MODES)
    check.published(pipeline, pipeline.feed(replay))
    check.released("setup", path, pipeline)
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(check.run)
            await until(lambda: bool(results))
            nursery.cancel_scope.cancel()
    assert results == ["equal"]
