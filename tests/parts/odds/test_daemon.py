"""`/v1/games/{gameId}/odds` of a daemon: while a game is played, after it, and for a game without odds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from slpstream.api import open_replay
from slpstream.parts.odds.cli import command
from tests.cli.command_line import called
from tests.daemons.process import configured
from tests.docs.pages import blocks
from tests.replays import replay_path
from tests.synthetic.match import synthetic_match

PAGE = "slpstream/parts/odds/docs.md"


def test_odds_of_games(tmp_path: Path) -> None:
    data = synthetic_match(seed=5)
    whole = tmp_path / "whole.slp"
    whole.write_bytes(data)
    expected: dict[str, Any] = json.loads(called(command, "show", "--json", whole).stdout)
    folder = tmp_path / "main"
    folder.mkdir()
    teams = folder / "teams.slp"
    teams.write_bytes(replay_path("doubles_3.18").read_bytes())
    with configured(tmp_path, "", folder) as daemon:
        path = folder / "Game_1.slp"
        path.write_bytes(data[: len(data) // 2])
        address = f"/v1/games/{expected['gameId']}/odds"
        daemon.until(lambda: daemon.status(address) == 200 and daemon.get(address)["points"][100:])
        live = daemon.get(address)
        assert live["final"] is False
        assert live["points"] == expected["points"][: len(live["points"])]

        with path.open("ab") as file:
            file.write(data[len(data) // 2 :])
        daemon.until(lambda: daemon.get(address)["final"])
        assert daemon.get(address) == {**expected, "final": True}
        example = json.loads(next(block.text for block in blocks("json") if block.page == PAGE))
        assert {name: set(example[name][0]) for name in ("points", "turningPoints")} == {
            name: set(expected[name][0]) for name in ("points", "turningPoints")
        }
        assert set(example) == {*expected, "final"}

        of_set = "/v1/stations/main/set/turning-points"
        daemon.until(lambda: daemon.get(of_set)["turningPoints"])
        turns = [{"gameId": expected["gameId"], "turningPoint": turn} for turn in expected["turningPoints"]]
        assert daemon.get(of_set) == {"setId": expected["gameId"], "final": True, "turningPoints": turns}
        assert daemon.status("/v1/stations/nobody/set/turning-points") == 404

        later = daemon.get(f"{address}?after=300")["points"]
        assert later == [point for point in expected["points"] if point["frame"] > 300]
        assert daemon.status(f"{address}?after=x") == 422

        found = daemon.get(f"/v1/games/{open_replay(teams).game_id}/odds")
        assert found["withoutOdds"] == "a game of teams"
        assert found["points"] == found["players"] == found["turningPoints"] == []
        for unknown in (f"/v1/games/{'0' * 32}/odds", "/v1/games/x/odds"):
            assert daemon.status(unknown) == 404
