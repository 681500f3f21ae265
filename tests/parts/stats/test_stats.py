"""`slpstream stats`: tables, JSON equal to the library's stats, the shape of slippi-js, and many files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result

from slpstream.api import open_replay
from slpstream.formats.slplog.writer import pack
from slpstream.parts.stats.cli import command
from slpstream.parts.stats.rows import Figures, GameRow, PlayerRow, game_row, summaries
from slpstream.parts.stats.tables import ratio_text, share_text
from tests.cli.command_line import INPUT_OUTPUT, NO, USAGE, called, error_line, on_terminal, slpstream
from tests.formats.games import games as finished_games
from tests.replays import SLP, needs_shared, replay_path
from tests.synthetic.match import synthetic_match

MEMBERS = {
    "gameComplete": bool,
    "lastFrame": int,
    "playableFrameCount": int,
    "stocks": list,
    "conversions": list,
    "combos": list,
    "actionCounts": list,
    "overall": list,
}


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three games, and a file that is not a replay."""
    folder = tmp_path_factory.mktemp("games")
    (folder / "deeper").mkdir()
    (folder / "Game_a.slp").write_bytes(synthetic_match(seed=2, stocks=2, frames=3600))
    (folder / "Game_b.slp").write_bytes(synthetic_match(seed=3, frames=1200, players=4, teams=True))
    (folder / "deeper" / "Game_c.slp").write_bytes(synthetic_match(seed=4, frames=900, rollbacks=True, ended=False))
    (folder / "notes.txt").write_text("not a replay, and not read")
    return folder


def stats(*arguments: object) -> Result:
    return called(command, *arguments)


def lines_of(done: Result) -> list[str]:
    return done.stdout.splitlines()


def test_table_of_a_game_equals_the_stats(games: Path) -> None:
    game = games / "Game_a.slp"
    done = stats(game)
    assert (done.exit_code, done.stderr) == (0, "")
    expected = open_replay(game).stats()
    lines = {line[:25].strip(): line[25:].split("  ") for line in done.stdout.splitlines()}
    cells = {title: [cell.strip() for cell in rest if cell.strip()] for title, rest in lines.items()}
    assert cells["Kills"] == [str(player.kill_count) for player in expected.overall]
    assert cells["Damage"] == [f"{player.total_damage:.1f}" for player in expected.overall]
    assert cells["Openings per kill"] == [
        ratio_text(p.openings_per_kill.count or 0, p.openings_per_kill.total) for p in expected.overall
    ]
    assert cells["Inputs per minute"] == [f"{player.inputs_per_minute.ratio:.1f}" for player in expected.overall]
    assert cells["L-cancels"] == [
        share_text(a.l_cancel_count.success, a.l_cancel_count.success + a.l_cancel_count.fail)
        for a in expected.action_counts
    ]
    lost = [stock for stock in expected.stocks if stock.end_frame is not msgspec.UNSET]
    assert lost
    for stock in lost:
        assert any(f"stock {stock.count}" in line and f"{stock.end_percent:.1f}" in line for line in lines_of(done))
    assert "Winner: P" in done.stdout


@pytest.mark.not_on_windows("Windows ignores case when it sorts paths")
def test_json_equals_the_stats_of_the_library(games: Path) -> None:
    done = stats(games, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    files = [games / "Game_a.slp", games / "Game_b.slp", games / "deeper" / "Game_c.slp"]
    for line, file in zip(lines_of(done), files, strict=True):
        shown = json.loads(line)
        opened = open_replay(file)
        assert (shown["file"], shown["gameId"]) == (str(file), opened.game_id)
        assert shown["stadiumStats"] is None
        for name, kind in MEMBERS.items():
            assert type(shown[name]) is kind
        expected = json.loads(msgspec.json.encode(opened.stats()))
        assert without_nulls({name: shown[name] for name in expected}) == expected
    running = [stock for stock in json.loads(lines_of(done)[0])["stocks"] if stock["endFrame"] is None]
    assert running, "the current stock has all members, absent ones as null"
    assert set(running[0]) == {
        *("playerIndex", "startFrame", "endFrame", "startPercent", "endPercent", "currentPercent", "count"),
        "deathAnimation",
    }


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def test_compat_has_the_members_of_slippi_js_and_no_others(games: Path) -> None:
    [line] = lines_of(stats(games / "Game_a.slp", "--json", "--compat", "slippi-js"))
    assert line.encode() == msgspec.json.encode(open_replay(games / "Game_a.slp").stats(compat=True))


@needs_shared
def test_stadium_stats_in_json_and_table() -> None:
    done = stats(SLP / "homeRun_jp.slp", SLP / "BTTDK.slp", "--json")
    contest, targets = (json.loads(line)["stadiumStats"] for line in lines_of(done))
    assert contest == {"type": "home-run-contest", "distance": 110.8, "units": "meters"}
    assert targets["type"] == "target-test"
    assert len(targets["targetBreaks"]) == 10
    assert "10 of 10 targets" in stats(SLP / "BTTDK.slp").stdout


@pytest.mark.parametrize("by", ["auto", "code", "tag", "port"])
def test_summary_adds_up_the_games(games: Path, by: Any) -> None:
    rows = [game_row(open_replay(games / name)) for name in ("Game_a.slp", "Game_b.slp")]
    found = summaries(rows, by)
    assert sum(one.figures.games for one in found) == 6
    assert sum(one.figures.kills for one in found) == sum(p.figures.kills for row in rows for p in row.players)
    if by == "port":
        assert sorted((one.key, one.figures.games) for one in found) == [("P1", 2), ("P2", 2), ("P3", 1), ("P4", 1)]
        port_1 = next(one.figures for one in found if one.key == "P1")
        assert port_1 == rows[0].players[0].figures.plus(rows[1].players[0].figures)


def test_players_are_identified_by_code_tag_or_port() -> None:
    def player(port: int, code: str = "", tag: str = "", name: str = "") -> PlayerRow:
        return PlayerRow(port, "Fox", name, code, tag, False, Figures(games=1))

    games = [
        GameRow("a", "", None, "game_end", [player(1, "AA#1", "A"), player(2, tag="B")]),
        GameRow("b", "", None, "game_end", [player(2, "AA#1", "C"), player(1)]),
        GameRow("c", "", None, "game_end", [player(3, tag="B", name="D"), player(4, name="D")]),
    ]

    def counted(by: Any) -> dict[str, int]:
        return {one.key: one.figures.games for one in summaries(games, by)}

    assert counted("auto") == {"AA#1": 2, "B": 2, "P1": 1, "D": 1}
    assert counted("code") == {"AA#1": 2, "": 4}
    assert counted("tag") == {"A": 1, "B": 2, "C": 1, "D": 1, "": 1}
    assert counted("port") == {"P1": 2, "P2": 2, "P3": 1, "P4": 1}


@pytest.mark.not_on_windows("Windows words this error differently")
def test_other_files_are_read_after_a_broken_one(games: Path, tmp_path: Path) -> None:
    bad, missing = tmp_path / "bad.slp", tmp_path / "missing.slp"
    bad.write_text("this is no replay")
    files = (bad, games / "Game_a.slp", missing)
    alone, together = stats(*files, "--json"), slpstream("stats", *files, "--json", "--jobs", "2")
    assert alone.exit_code == together.returncode == INPUT_OUTPUT
    assert alone.stderr.splitlines() == [
        f"slpstream: {bad}: not a Slippi replay, at offset 0",
        f"slpstream: {missing}: no such file or directory",
    ]
    assert len(lines_of(alone)) == 1
    assert (together.stdout, together.stderr) == (alone.stdout, alone.stderr)
    assert stats(*files[:2]).exit_code == NO
    for options in ((), ("--json",), ("--compat", "slippi-js")):
        done = stats(bad, *options)
        assert (done.exit_code, done.stdout) == (NO, "")
        assert error_line(done) == f"slpstream: {bad}: not a Slippi replay, at offset 0"
        assert stats(missing, *options).exit_code == INPUT_OUTPUT


def test_lines_of_slippi_js_can_be_assigned_to_their_files(games: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.slp"
    bad.write_text("this is no replay")
    done = stats(games / "Game_a.slp", bad, games / "Game_b.slp", "--json", "--compat", "slippi-js")
    lines = [json.loads(line) for line in lines_of(done)]
    assert [None if line is None else line["lastFrame"] for line in lines] == [
        open_replay(games / "Game_a.slp").game_end.last_frame,
        None,
        open_replay(games / "Game_b.slp").game_end.last_frame,
    ]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_format_without_stats_is_named_once(options: tuple[str, ...], tmp_path: Path) -> None:
    race = tmp_path / "race.gci"
    race.write_bytes(finished_games()["race.gci"])
    done = stats(race, *options)
    assert (done.exit_code, error_line(done)) == (NO, f"slpstream: {race}: gci replays have no stats")


def test_damaged_game_is_shown_up_to_the_damage(games: Path, tmp_path: Path) -> None:
    data = bytearray((games / "Game_a.slp").read_bytes())
    middle = data.index(b"\x3a", len(data) // 2)
    data[middle:] = bytes(len(data) - middle)  # command byte 0 is invalid
    broken = tmp_path / "broken.slp"
    broken.write_bytes(data)
    done = stats(broken, "--json")
    assert done.exit_code == NO
    [line] = done.stderr.splitlines()
    assert str(broken) in line
    assert "at offset" in line
    shown = json.loads(done.stdout)
    assert 0 < shown["lastFrame"] < 3400
    assert shown["gameComplete"] is False
    assert "Openings per kill" in stats(broken).stdout


@pytest.mark.slow
def test_folder_of_replay_logs(games: Path, tmp_path: Path) -> None:
    for name in ("Game_a.slp", "Game_b.slp"):
        (tmp_path / f"{name}log").write_bytes(pack((games / name).read_bytes(), "slippi", name))
    (tmp_path / "race.slplog").write_bytes(pack(b"a game without stats", "", "race.rpl"))
    done = stats(tmp_path, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    shown = [json.loads(line) for line in lines_of(done)]
    assert [one["file"] for one in shown] == [str(tmp_path / f"Game_{x}.slplog") for x in "ab"]
    assert shown[0]["gameId"] == open_replay(games / "Game_a.slp").game_id
    (tmp_path / "broken.slplog").write_bytes(b"x")
    assert stats(tmp_path).exit_code == NO


def test_empty_folder_and_wrong_usage(tmp_path: Path) -> None:
    for options in ((), ("--json",)):
        done = stats(tmp_path, *options)
        assert (done.exit_code, done.stdout, done.stderr) == (NO, "", f"slpstream: no replays in {tmp_path}\n")
    for arguments in ([], ["x.slp", "--by", "weather"], ["x.slp", "--jobs", "0"], ["x.slp", "--compat", "peppi"]):
        assert stats(*arguments).exit_code == USAGE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a pseudo-terminal")
def test_progress_on_a_terminal(games: Path, tmp_path: Path) -> None:
    """The bar is on stderr, does not disturb error messages, and keeps stdout clean."""
    bad = tmp_path / "bad.slp"
    bad.write_text("this is no replay")
    done, shown = on_terminal("stats", games, bad)
    assert done.returncode == NO
    assert "100%" in shown
    assert shown.count("not a Slippi replay") == 1
    assert b"players" in done.stdout.splitlines()[1]
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("compat", [False, True])
def test_stats_are_equal_with_and_without_the_extra(compat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "singles_0.1 doubles_3.15 items_3.18 ice_climbers_3.5 crashed_2.1 home_run_3.18 rollbacks_3.0"
    files = [replay_path(name) for name in names.split()]
    fast = [open_replay(file).stats(compat=compat) for file in files]
    monkeypatch.setattr("slpstream.api.find_spec", lambda _: None)
    for file, expected in zip(files, fast, strict=True):
        assert msgspec.json.encode(open_replay(file).stats(compat=compat)) == msgspec.json.encode(expected), file.stem
