"""The columns of tables: `swing` as in turning points, and `odds` as in a plain calculation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slpstream.parts.odds.cli import command as odds
from tests.cli.command_line import called
from tests.parts.odds.plain_odds import plain_odds
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


def test_odds_in_each_frame(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from slpstream.parts.sql.cli import command as sql

    replay = tmp_path / "game.slp"
    replay.write_bytes(synthetic_match(seed=5))
    chances = plain_odds(replay)
    query = "select frame, player_index as player, odds from frames order by frame, player_index"
    rows = [json.loads(line) for line in called(sql, replay, query, "--json").stdout.splitlines()]
    expected = [chance for first in chances.values() for chance in (first, 1 - first)]
    assert [row["odds"] for row in rows] == pytest.approx(expected, abs=1e-6)
    counted = called(sql, replay_path("doubles_3.18"), "select count(*) > 99, count(odds) from frames", "--csv").stdout
    assert counted.splitlines()[1] == "true,0"


@pytest.mark.parts("export")
@pytest.mark.parametrize("revisions", ["last", "all"])
def test_exported_odds(tmp_path: Path, revisions: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    from slpstream.parts.export.cli import command as export

    replay, teams = tmp_path / "game.slp", replay_path("doubles_3.18")
    replay.write_bytes(synthetic_match(seed=5, frames=1500, rollbacks=True))
    out = tmp_path / "out"
    arguments = ("--to", "parquet", "--tables", "frames", "--revisions", revisions, "--jobs", 1)
    assert called(export, replay, teams, *arguments, "--odds", "-o", out).exit_code == 0
    table = parquet.read_table(out / "frames")
    assert str(table.schema.field("odds").type) == "float"
    rows = table.select(["file", "frame", "player_index", "odds"]).to_pylist()
    assert {row["odds"] for row in rows if row["file"] == str(teams)} == {None}
    points = json.loads(called(odds, "show", "--json", replay).stdout)["points"]
    of_game = [row for row in rows if row["file"] == str(replay)]
    found = {(row["frame"], row["player_index"]): row["odds"] for row in of_game}
    for point in points:
        pair = [found[point["frame"], player] for player in (0, 1)]
        assert pair == pytest.approx([point["odds"], 1 - point["odds"]], abs=1e-6)
    assert called(export, replay, "--to", "training", "--odds", "-o", tmp_path / "rows").exit_code == 2
