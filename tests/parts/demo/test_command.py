"""`slpstream demo` run like by a user: its output, and how it stops."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import open_replay
from slpstream.parts.demo.cli_demo import play_matches
from tests.cli.command_line import slpstream


@pytest.mark.slow
def test_once_prints_addresses_and_ends_after_one_match() -> None:
    done = slpstream("demo", "--strict", "--port", "0", "--once", "--speed", "60")
    assert (done.returncode, done.stderr) == (0, "")
    port = re.search(r":(\d+)/", done.stdout)
    assert port is not None
    base = f"127.0.0.1:{port[1]}"
    assert done.stdout.splitlines() == [
        f"overlay    http://{base}/overlay/demo",
        f"dashboard  http://{base}/",
        f"stream     ws://{base}/v1/stream?station=demo",
        "Ctrl-C stops the demo.",
    ]


def test_each_match_is_a_different_game(tmp_path: Path) -> None:
    async def play_until_the_third_begins() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(play_matches, tmp_path, seed=4, speed=1e9, writer="dolphin", once=False))
            while not (tmp_path / "Game_demo_0006.slp").exists():
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()

    trio.run(play_until_the_third_begins)
    first, second = (open_replay(tmp_path / f"Game_demo_{seed:04}.slp") for seed in (4, 5))
    assert first.game_id != second.game_id
    assert [game.settings.stage_id for game in (first, second)] == [32, 28]
    assert [game.settings.players[1].display_name for game in (first, second)] == ["Altea", "Altea"]
