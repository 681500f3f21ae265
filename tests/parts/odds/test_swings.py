"""The column `swing` of the table `conversions`: the same swings as those of the turning points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slpstream.parts.odds.cli import command as odds
from tests.cli.command_line import called
from tests.replays import replay_path
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("sql")
QUERY = "select start_frame, swing from conversions where swing is not null order by swing desc, start_frame limit 5"


@pytest.mark.parametrize("rollbacks", [False, True])
def test_swings_are_those_of_turning_points(rollbacks: bool, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from slpstream.parts.sql.cli import command as sql

    replay = tmp_path / "game.slp"
    replay.write_bytes(synthetic_match(seed=5, frames=2500, rollbacks=True) if rollbacks else synthetic_match(seed=5))
    turns = json.loads(called(odds, "show", "--json", replay).stdout)["turningPoints"]
    expected = [[turn["startFrame"], round(turn["after"] - turn["before"], 4)] for turn in turns]
    assert len(expected) > 2
    rows = [json.loads(line) for line in called(sql, replay, QUERY, "--json").stdout.splitlines()]
    assert [[row["start_frame"], row["swing"]] for row in rows][: len(expected)] == expected


def test_game_without_odds_has_no_swings() -> None:
    pytest.importorskip("duckdb")
    from slpstream.parts.sql.cli import command as sql

    query = "select count(*) as n, count(swing) as known from conversions"
    row = json.loads(called(sql, replay_path("doubles_3.18"), query, "--json").stdout)
    assert row["n"] > 0
    assert row["known"] == 0
