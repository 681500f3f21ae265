"""`slpstream trends`: the games of a player by week, opponent, character and stage."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import open_replay
from slpstream.formats.registry import describe
from slpstream.parts.trends.cli import command
from slpstream.parts.trends.figures import Figures
from slpstream.parts.trends.own_games import Group, Trend
from slpstream.parts.trends.plot import drawn, weeks_between
from tests.cli.command_line import called
from tests.replays import own_folder, replay_path

SVG = "{http://www.w3.org/2000/svg}"


def rows(*arguments: object, code: int = 0) -> list[dict[str, Any]]:
    result = called(command, *arguments, "--json")
    assert result.exit_code == code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def games(tmp_path: Path) -> Path:
    folder = tmp_path / "games"
    folder.mkdir()
    for name in ("singles_3.17", "quit_3.18", "full_match_3.18"):
        (folder / f"{name}.slp").write_bytes(replay_path(name).read_bytes())
    return folder


def test_sums_are_those_of_the_stats(games: Path) -> None:
    damage, openings, kills, won, good, landings = 0.0, 0, 0, 0, 0, 0
    for path in games.iterdir():
        replay = open_replay(path)
        summary = describe(replay.start, replay.game_end, replay.metadata)
        [me] = [player.index for player in summary.players if "Vixen" in (player.name, player.tag)]
        overall = next(each for each in replay.stats().overall if each.player_index == me)
        actions = next(each for each in replay.stats().action_counts if each.player_index == me)
        damage += overall.total_damage
        openings += overall.conversion_count
        kills += overall.kill_count
        won += summary.winners == [me]
        good += actions.l_cancel_count.success
        landings += actions.l_cancel_count.success + actions.l_cancel_count.fail
    for by in ("week", "opponent", "character", "against", "stage"):
        found = rows(games, "--me", "vixen", "--by", by)
        assert sum(row["games"] for row in found) == 3
        assert sum(row["won"] for row in found) == won
        assert sum(row["damage"] for row in found) == pytest.approx(damage)
        assert (sum(row["openings"] for row in found), sum(row["kills"] for row in found)) == (openings, kills)
    [row] = rows(games, "--me", "VIXEN", "--by", "opponent")
    assert row["openingsPerKill"] == pytest.approx(openings / kills, abs=1e-4)
    assert row["lCancelRate"] == pytest.approx(good / landings, abs=1e-4)


def test_archives_processes_and_formats_make_no_difference(games: Path, tmp_path: Path) -> None:
    expected = rows(games, "--me", "Vixen", "--jobs", "1")
    assert {row["by"] for row in expected} == {"week", "opponent", "character", "against", "stage"}
    archive = tmp_path / "games.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        for path in sorted(games.iterdir()):
            writer.write(path, path.name)
    assert rows(archive, "--me", "Vixen", "--jobs", "2") == expected
    table = list(csv.DictReader(io.StringIO(called(command, games, "--me", "Vixen", "--csv").stdout)))
    assert [(row["by"], row["group"], row["games"]) for row in table] == [
        (row["by"], row["group"], str(row["games"])) for row in expected
    ]


def test_games_that_do_not_count_are_counted() -> None:
    result = called(command, own_folder(), "--me", "Vixen")
    assert result.exit_code == 0
    assert "left out: " in result.stderr
    assert "with teams or other than two players" in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 100
    counted = [
        json.loads(line) for line in called(command, own_folder(), "--me", "Vixen", "--json").stdout.splitlines()
    ]
    assert sum(row["games"] for row in counted if row["by"] == "week") < len(list(own_folder().iterdir()))


def test_a_player_who_is_in_no_game(games: Path) -> None:
    result = called(command, games, "--me", "NOBODY#1")
    assert result.exit_code == 1
    assert "no game of NOBODY#1" in result.stderr


def test_damaged_files_are_named_and_the_others_count(games: Path) -> None:
    (games / "bad.slp").write_bytes(b"not a replay")
    result = called(command, games, "--me", "Vixen", "--by", "against")
    assert result.exit_code == 1
    assert result.stderr.count("bad.slp") == 1
    assert "Marth" in result.stdout


def test_plot_has_a_point_for_each_week_and_a_gap_for_weeks_without_games() -> None:
    def week(day: str, won: int) -> Trend:
        return Trend(Group(day), Figures(games=4, won=won, kills=8, openings=20, damage=500.0))

    weeks = [week("2026-11-02", 1), week("2026-11-09", 2), week("2026-11-23", 4), Trend(Group(""), Figures(games=1))]
    drawing = ET.fromstring(drawn("A<b>", weeks))
    assert drawing.findtext(f"{SVG}title") == "A<b>"
    won = drawing.find(f"{SVG}g")
    assert won is not None
    points = [(float(point.get("cx", "")), float(point.get("cy", ""))) for point in won.iter(f"{SVG}circle")]
    assert points[2][0] - points[0][0] == pytest.approx(760 - 56 - 16)
    assert points[2][1] < points[1][1] < points[0][1]
    assert [len((line.get("points") or "").split()) for line in won.iter(f"{SVG}polyline")] == [2, 1]
    assert [point.findtext(f"{SVG}title") for point in won.iter(f"{SVG}circle")] == [
        "2026-11-02: 25.0 %, 4 games",
        "2026-11-09: 50.0 %, 4 games",
        "2026-11-23: 100.0 %, 4 games",
    ]
    assert ET.fromstring(drawn("\x1b\udcff", [])).tag == f"{SVG}svg"
    assert weeks_between("2026-12-28", "2027-01-11") == ["2026-12-28", "2027-01-04", "2027-01-11"]


def test_svg_is_written(tmp_path: Path) -> None:
    target = tmp_path / "trend.svg"
    rows(replay_path("singles_3.17"), "--me", "Vixen", "--svg", target)
    assert ET.fromstring(target.read_text(encoding="utf-8")).tag == f"{SVG}svg"
    result = called(command, replay_path("singles_3.17"), "--me", "Vixen", "--svg", tmp_path / "no" / "trend.svg")
    assert result.exit_code == 74
