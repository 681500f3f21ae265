"""`slpstream trends`: the figures of a player by week, opponent, character and stage."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import open_replay
from slpstream.parts.stats.cli_trends import command
from slpstream.parts.stats.rows import Figures
from slpstream.parts.stats.trend_plot import drawn, weeks_between
from slpstream.parts.stats.trends import Trend, trends, week_of
from tests.cli.command_line import called
from tests.replays import own_folder, replay_path

SVG = "{http://www.w3.org/2000/svg}"


def rows(*arguments: object, code: int = 0) -> list[dict[str, Any]]:
    result = called(command, *arguments, "--json")
    assert result.exit_code == code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_sums_are_those_of_the_stats(tmp_path: Path) -> None:
    names = ("singles_3.17", "quit_3.18", "full_match_3.18")
    for name in names:
        (tmp_path / f"{name}.slp").write_bytes(replay_path(name).read_bytes())
    by_stage = rows(tmp_path, "--me", "vixen", "--by", "stage")
    assert sum(row["games"] for row in by_stage) == len(names)
    replays = [open_replay(path) for path in sorted(tmp_path.iterdir())]
    damage = 0.0
    for replay in replays:
        [vixen] = [p.player_index for p in replay.settings.players if "Vixen" in (p.display_name, p.nametag)]
        damage += next(each.total_damage for each in replay.stats().overall if each.player_index == vixen)
    assert sum(row["damage"] for row in by_stage) == pytest.approx(damage)
    by_opponent = rows(tmp_path, "--me", "VIXEN", "--by", "opponent")
    assert sum(row["games"] for row in by_opponent) == len(names)
    assert sum(row["damage"] for row in by_opponent) == pytest.approx(damage)


def test_a_player_who_is_in_no_game(tmp_path: Path) -> None:
    (tmp_path / "game.slp").write_bytes(replay_path("singles_3.17").read_bytes())
    result = called(command, tmp_path, "--me", "NOBODY#1")
    assert result.exit_code == 1
    assert "no game of NOBODY#1" in result.stderr


def test_damaged_files_are_named_and_the_others_count(tmp_path: Path) -> None:
    (tmp_path / "good.slp").write_bytes(replay_path("singles_3.17").read_bytes())
    (tmp_path / "bad.slp").write_bytes(b"not a replay")
    result = called(command, tmp_path, "--me", "Vixen", "--by", "character")
    assert result.exit_code == 1
    assert "bad.slp" in result.stderr
    assert "Marth" in result.stdout


def test_all_own_replays_have_rows_in_each_grouping() -> None:
    for by in ("week", "opponent", "character", "stage"):
        found = rows(own_folder(), "--me", "Vixen", "--by", by)
        assert found
        assert all(row["games"] >= row["decided"] >= row["won"] for row in found), by


def test_weeks() -> None:
    assert week_of("2026-11-29T23:00:00Z") == "2026-11-23"
    assert week_of("2026-11-23T00:00:00") == "2026-11-23"
    assert week_of("") == week_of("yesterday") == ""
    assert weeks_between("2026-12-28", "2027-01-11") == ["2026-12-28", "2027-01-04", "2027-01-11"]
    assert trends([], "week") == []


def test_plot_has_a_point_for_each_week_and_room_for_weeks_without_games() -> None:
    def week(day: str, won: int) -> Trend:
        return Trend(day, Figures(games=4, won=won, decided=4, kills=8, openings=20, damage=500.0))

    drawing = ET.fromstring(drawn("A<b>", [week("2026-11-02", 1), week("2026-11-23", 4), Trend("", Figures(games=1))]))
    assert drawing.findtext(f"{SVG}title") == "A<b>"
    won = drawing.find(f"{SVG}g")
    assert won is not None
    points = [(float(point.get("cx", "")), float(point.get("cy", ""))) for point in won.iter(f"{SVG}circle")]
    assert len(points) == 2
    assert points[1][0] - points[0][0] == pytest.approx(760 - 56 - 16)
    assert points[1][1] < points[0][1]
    assert [point.findtext(f"{SVG}title") for point in won.iter(f"{SVG}circle")] == [
        "2026-11-02: 25.0 %, 4 games",
        "2026-11-23: 100.0 %, 4 games",
    ]
    assert drawn("nothing", []).endswith("</svg>\n")


def test_svg_is_written(tmp_path: Path) -> None:
    target = tmp_path / "trend.svg"
    rows(replay_path("singles_3.17"), "--me", "Vixen", "--svg", target)
    assert ET.fromstring(target.read_text(encoding="utf-8")).tag == f"{SVG}svg"
    result = called(command, replay_path("singles_3.17"), "--me", "Vixen", "--svg", tmp_path / "no" / "trend.svg")
    assert result.exit_code == 74
