"""`slpstream sql`: its output, and its messages about mistakes and broken replays."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from slpstream.api import open_replay
from slpstream.parts.sql import cli, cli_reading
from tests.cli.command_line import exit_code
from tests.formats.games import games
from tests.synthetic.match import synthetic_match
from tests.synthetic.stages import BATTLEFIELD, FINAL_DESTINATION, YOSHIS_STORY

FRAMES = 300
STAGES = (BATTLEFIELD, FINAL_DESTINATION, YOSHIS_STORY)
PERCENTS = "select file, frame, player_index, post_percent from frames"


run = partial(exit_code, "sql")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    replays = tmp_path / "replays"
    replays.mkdir()
    for number in range(3):
        (replays / f"{number}.slp").write_bytes(
            synthetic_match(seed=number, frames=FRAMES, rollbacks=True, stage_id=STAGES[number])
        )
    return replays


def test_table_is_aligned(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    values = "port, count(*) as frames, 1/3 as third, null as nothing, 'a\nb' as text"
    query = f"select {values} from frames group by port order by port"
    assert run(folder, query) == 0
    assert capfd.readouterr().out.splitlines() == [
        "port  frames  third  nothing  text",
        "   1     900  0.333           a\\nb",
        "   2     900  0.333           a\\nb",
    ]
    assert run(folder, "select file, stage from games where stage = 'x'") == 0
    assert capfd.readouterr().out == "file  stage\n"


def test_match_id_exists_for_any_online_mode(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "offline.slp").write_bytes(synthetic_match(frames=FRAMES))
    (folder / "old.slp").write_bytes(synthetic_match(frames=FRAMES, rollbacks=True, version=(3, 13, 0)))
    assert run("--csv", folder, "select count(*), count(match_id), max(match_id) from games") == 0
    assert capfd.readouterr().out.splitlines()[1:] == ["5,3,mode.unranked-2025-02-03T04:05:00.00-0"]


def test_numbers_are_complete_in_csv_and_json(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    values = "frame, post_percent, post_position_x, is_follower"
    query = f"select {values} from frames where player_index = 0 order by file, frame"
    post = open_replay(folder / "0.slp").frames.players[0].post
    assert run("--json", folder, query) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(rows) == 3 * FRAMES
    assert [row["post_position_x"] for row in rows[:FRAMES]] == post.position_x.tolist()
    assert run("--csv", folder, query) == 0
    table = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert [float(row["post_position_x"]) for row in table[:FRAMES]] == post.position_x.tolist()
    assert {row["is_follower"] for row in table} == {"false"}


def test_csv_has_no_formula_cells(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    query = "select '=1+1|x' as \"@name\", -1 as number, -0.5::float as part, '''a' as quoted, ['=1'] as list"
    expected = ["'@name,number,part,quoted,list", '\'=1+1|x,-1,-0.5,\'\'a,"[""=1""]"']
    assert run("--csv", folder, query) == 0
    assert capfd.readouterr().out.splitlines() == expected
    assert run(folder, "--to", tmp_path / "rows.csv", query) == 0
    assert (tmp_path / "rows.csv").read_text().splitlines() == expected
    assert run("--json", folder, query) == 0
    assert '"@name":"=1+1|x"' in capfd.readouterr().out


def test_long_queries_print_no_progress_among_the_rows(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By default, DuckDB draws a bar on standard output after two seconds."""
    assert run("--csv", folder, "select current_setting('enable_progress_bar') as bar") == 0
    assert capfd.readouterr().out.splitlines() == ["bar", "false"]


def test_json_of_other_values(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    query = (
        "select sum(frame) as total, 0.5::decimal(3, 1) as half, 'nan'::float as nothing, [1, 2] as list,"
        " {'a': 1} as object, 1 as same, 2 as same, timestamp '2026-01-02 03:04:05' as time from frames"
    )
    assert run("--json", folder, query) == 0
    row = json.loads(capfd.readouterr().out)
    total = 6 * sum(range(-123, FRAMES - 123))
    assert row == {
        "total": total,
        "half": 0.5,
        "nothing": None,
        "list": [1, 2],
        "object": {"a": 1},
        "same": 1,
        "same_1": 2,
        "time": "2026-01-02T03:04:05",
    }


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_files(folder: Path, tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / f"rows.{kind}"
    assert run(folder, "--to", target, PERCENTS) == 0
    assert capfd.readouterr().out == f"{target}: {6 * FRAMES:,} rows\n"
    if kind == "parquet":
        assert parquet.read_table(target).num_rows == 6 * FRAMES
    elif kind == "arrow":
        assert pa.ipc.open_file(target).read_all().column_names == ["file", "frame", "player_index", "post_percent"]
    else:
        assert len(target.read_text().splitlines()) == 6 * FRAMES + (kind == "csv")
    before = target.read_bytes()
    assert run(folder, "--to", target, "select 1") == 2
    assert "--overwrite" in capfd.readouterr().err
    assert run(folder, "--to", target, "--overwrite", "select nope from games") == 2
    assert target.read_bytes() == before
    assert run(folder, "--to", target, "--overwrite", "select 1 as one") == 0
    assert target.read_bytes() != before
    assert [file.name for file in tmp_path.iterdir()] in (["replays", target.name], [target.name, "replays"])


def test_archives_are_searched(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(folder / "games.zip", "w") as zip_archive:
        zip_archive.write(folder / "1.slp", "day 1/one.slp")
    with tarfile.open(folder / "games.tar.gz", "w:gz") as tar_archive:
        tar_archive.add(folder / "2.slp", "two.slp")
    query = "select file, count(distinct frame) from frames group by file order by file"
    assert run("--csv", folder, query) == 0
    members = ["games.tar.gz::two.slp", "games.zip::day 1/one.slp"]
    names = ["0.slp", "1.slp", "2.slp", *members]
    assert capfd.readouterr().out.splitlines()[1:] == [f"{folder / name},{FRAMES}" for name in names]
    assert run("--csv", folder / "games.zip", "select count(*) from conversions") == 0
    in_zip = capfd.readouterr().out
    assert run("--csv", folder / "1.slp", "select count(*) from conversions") == 0
    assert capfd.readouterr().out == in_zip
    assert run("--csv", folder, f"select frame from frames where file = '{folder / members[1]}' and frame = 5") == 0
    assert capfd.readouterr().out == "frame\n5\n5\n"


def test_broken_replays_are_reported_once(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.slp").write_bytes(b"nothing")
    data = (folder / "0.slp").read_bytes()
    (folder / "half.slp").write_bytes(data[: len(data) // 2])
    query = "select count(distinct file) from games join frames using (file) join conversions using (file)"
    assert run("--csv", folder, query) == 1
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in sorted(lines)] == [str(folder / "broken.slp"), str(folder / "half.slp")]
    assert "breaks off" in sorted(lines)[1]
    assert run("--csv", folder / "missing.slp", "select count(*) from games") == 74
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("query", "message", "mark"),
    [
        ("selec 1", "syntax error", "^^^^^"),
        ("select nope from games", "nope", "^^^^"),
        ("select * from nowhere", "nowhere", "^^^^^^^"),
        ("copy games to 'games.csv'", "nothing is written", ""),
        ("create table x as select 1", "nothing is written", ""),
        ("attach 'x.db'", "nothing is written", ""),
        ("set lock_configuration = false", "nothing is written", ""),
        ("install httpfs", "nothing is written", ""),
        ("select 1; select 2", "one statement", ""),
        ("", "empty", ""),
        ("select * from read_text('/etc/passwd')", "disabled", ""),
        ("select * from '/etc/passwd'", "passwd", ""),
        ("select 'a'::int from games", "Could not convert", "^"),
        ("select file::int from games", "Could not convert", ""),
    ],
)
def test_mistakes_are_shown(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    query: str,
    message: str,
    mark: str,
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert run(folder, query) in (1, 2)
    first, *place = capfd.readouterr().err.splitlines()
    assert first.startswith("slpstream: query: ")
    assert message in first
    assert mark in (place[-1] if place else first)
    assert sorted(folder.iterdir()) == before, "nothing was written"


def test_missing_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert run(folder, "select 1") == 2
    assert capfd.readouterr().err == "slpstream: sql needs DuckDB and pyarrow: pip install 'slpstream[sql]'\n"


def test_interrupt_ends_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_reading, "examine", interrupt)
    assert run(folder, "select count(*) from games") == 130


def test_games_narrow_the_replays(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--csv", folder, "select file, stage from games") == 0
    rows = list(csv.reader(io.StringIO(capfd.readouterr().out)))[1:]
    stage = rows[1][1]
    assert stage == "Final Destination"
    assert run("--csv", "--games", f'stage:"{stage}"', folder, "select distinct file from frames order by 1") == 0
    assert capfd.readouterr().out.splitlines()[1:] == [str(folder / "1.slp")]
    assert run("--games", "stage:nowhere", folder, "select 1") == 2
    assert capfd.readouterr().err.splitlines()[-1] == "        ^^^^^^^"


@pytest.mark.slow
def test_several_processes_give_the_same_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(3, 30):
        shutil.copy(folder / f"{number % 3}.slp", folder / f"{number}.slp")
    (folder / "broken.slp").write_bytes(b"nothing")
    with zipfile.ZipFile(folder / "games.zip", "w") as archive:
        for number in range(9):
            archive.write(folder / f"{number}.slp")
    monkeypatch.setattr(cli_reading, "ALONE_SECONDS", 0.0)
    for query in (
        f"{PERCENTS} where frame > 100 and post_percent < 50",
        "select file, character, kill_count from players",
        "select file, number, moves from conversions where damage > 10",
    ):
        outputs = []
        for jobs in (1, 2):
            assert run("--json", "--jobs", jobs, folder, query) == 1
            captured = capfd.readouterr()
            assert "broken.slp" in captured.err
            outputs.append(captured.out)
        assert outputs[0] == outputs[1]
        assert outputs[0].count("\n") > 39


def test_other_formats_have_games_and_players(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    race = folder / "race.rpl"
    race.write_bytes(games()["race.rpl"])
    assert run("--csv", race, "select format, player_count from games") == 0
    assert capfd.readouterr().out.splitlines()[1] == "stunts,1"
    assert run("--csv", race, "select (select count(*) from frames), (select count(*) from conversions)") == 0
    assert capfd.readouterr().out.splitlines()[1] == "0,0"


def test_schema_has_the_types_that_the_database_gives(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--schema") == 0
    text = capfd.readouterr().out
    assert all(words in text for words in ("games: ", "frames: ", "TIMESTAMP_MS", "post_percent"))
    assert run("--schema", "--json") == 0
    shown = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    for table in ("games", "players", "frames", "conversions"):
        assert run("--json", folder, f"select column_name, column_type from (describe {table})") == 0
        described = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        kinds = [(row["column"], row["type"]) for row in shown if row["table"] == table]
        assert kinds == [(row["column_name"], row["column_type"].replace('"', "")) for row in described]


def test_query_comes_last_or_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select count(*) as n\nfrom games"))
    assert run("--csv", folder / "0.slp", folder / "1.slp", "-") == 0
    assert capfd.readouterr().out == "n\n2\n"
    assert run(folder) == 2
    assert "and then a query" in capfd.readouterr().err


def test_a_query_that_is_not_utf_8_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "--games", "tag:\udcff", "select 1") == 2
    assert run(folder, "select '\udcff'") == 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"select '\xff'"), encoding="utf-8"))
    assert run(folder, "-") == 2
    assert capfd.readouterr().err == 3 * "slpstream: the query is not UTF-8\n"
