"""A query reads only the parts that it needs.

Columns are counted when they are decoded, and files when they are opened. Destroyed bytes that are not read cause no
errors.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slpstream.api import Replay
from slpstream.formats.slippi.arrow import frames_table
from slpstream.parts.sql import cli_reading, frames
from slpstream.parts.sql.players import COMPUTED
from tests.parts.sql.answers import Answers
from tests.synthetic.match import synthetic_match
from tests.synthetic.stages import BATTLEFIELD, FINAL_DESTINATION

FILES = 6
FRAMES = 200
STAGES = (BATTLEFIELD, FINAL_DESTINATION)


class Counted(Answers):
    """The answers to queries over a folder, and the parts that were read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.opened: list[str] = []
        self.read_to_end: list[str] = []
        self.with_stats: list[str] = []
        self.decoded: list[frozenset[str]] = []

    def __call__(self, query: str) -> list[Any]:
        for costs in (self.opened, self.read_to_end, self.with_stats, self.decoded):
            costs.clear()
        return super().__call__(query)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    replays = tmp_path / "replays"
    replays.mkdir()
    for number in range(FILES):
        (replays / f"{number}.slp").write_bytes(
            synthetic_match(seed=number, frames=FRAMES, stage_id=STAGES[number % 2])
        )
    return replays


@pytest.fixture
def counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    query = Counted(folder)

    def noted(name: str, notes: Callable[[Any], Any], to: list[Any], of: Any) -> None:
        original = getattr(of, name)

        def call(*arguments: Any, **options: Any) -> Any:
            to.append(notes(arguments))
            return original(*arguments, **options)

        monkeypatch.setattr(of, name, call)

    noted("preview_replay", lambda arguments: arguments[0].name, query.opened, cli_reading)
    noted("open_replay", lambda arguments: arguments[0].name, query.opened, cli_reading)
    noted("read_to_end", lambda arguments: arguments[0].name, query.read_to_end, sys.modules["slpstream.api"])
    noted("stats", lambda arguments: arguments[0].path.name, query.with_stats, Replay)
    noted("frames_table", lambda arguments: frozenset(arguments[1]), query.decoded, frames)
    return query


def test_games_and_players_need_both_ends_of_a_file(counted: Counted, folder: Path) -> None:
    for file in folder.iterdir():  # the frames in the middle are destroyed
        data = file.read_bytes()
        file.write_bytes(data[:8000] + bytes(len(data) - 16_000) + data[-8000:])
    rows = counted("select stage, last_frame, character, stocks from games natural join players")
    assert len(rows) == 2 * FILES
    assert all(last_frame == FRAMES - 124 for _, last_frame, _, _ in rows)
    assert not counted.read_to_end
    assert not counted.decoded
    assert not counted.with_stats


def test_only_columns_of_the_query_are_decoded(counted: Counted) -> None:
    counted("select avg(post_percent) from frames")
    assert counted.decoded == [{"post_percent"}] * FILES
    counted("select port, max(frame) from frames where pre_joystick_x > 0.5 and post_percent < 20 group by port")
    assert counted.decoded == [{"player_index", "frame", "pre_joystick_x", "post_percent"}] * FILES
    counted("select count(*) from frames")
    assert counted.decoded == [{"frame"}] * FILES
    assert set(counted.scans) == {"frames"}


def test_unused_columns_are_not_decoded(folder: Path) -> None:
    replay = Replay(folder / "0.slp")
    whole = replay.frames.to_arrow()
    for names in itertools.combinations(("frame", "is_follower", "start_seed", "pre_buttons", "post_percent"), 2):
        assert frames_table(replay.frames, names).equals(whole.select(names))
    assert frames_table(replay.frames, ()).column_names == []


def test_unused_tables_are_not_read(counted: Counted) -> None:
    assert counted("select 1") == [(1,)]
    assert not counted.scans
    assert counted("select count(*) from games") == [(FILES,)]
    assert counted.scans == ["games"]


@pytest.mark.slow
def test_files_that_the_filter_excludes_are_not_opened(counted: Counted, folder: Path) -> None:
    for condition in (
        f"file = '{folder / '3.slp'}'",
        f"file in ('{folder / '3.slp'}', 'x')",
        f"file > '{folder / '3'}' and file < '{folder / '4'}'",
    ):
        for table in ("games", "players", "frames", "conversions"):
            counted(f"select * from {table} where {condition}")
            assert set(counted.opened) == {"3.slp"}, (table, condition)


def test_games_that_the_filter_excludes_are_not_decoded(counted: Counted) -> None:
    [(rows,)] = counted("select count(*) from frames where stage = 'Battlefield'")
    assert rows == 2 * FRAMES * FILES / 2
    assert len(counted.opened) == FILES
    assert sorted(counted.read_to_end) == ["0.slp", "2.slp", "4.slp"]
    counted("select * from conversions where stage = 'Battlefield'")
    assert sorted(counted.with_stats) == ["0.slp", "2.slp", "4.slp"]
    counted("select frame from frames where character = 'nobody'")
    assert not counted.decoded
    counted("select file from players where character = 'nobody' and kill_count = 0")
    assert not counted.with_stats


def test_stats_are_computed_only_for_their_columns(counted: Counted) -> None:
    counted("select * exclude (" + ", ".join(sorted(COMPUTED)) + ") from players")
    assert not counted.with_stats
    counted("select kill_count from players")
    assert len(counted.with_stats) == FILES


def test_reading_stops_after_enough_rows(counted: Counted) -> None:
    assert len(counted("select frame from frames limit 3")) == 3
    assert len(counted.decoded) == 1
    assert len(counted("select file from games limit 2")) == 2
    assert len(counted.opened) < FILES


@pytest.mark.release
@pytest.mark.process
def test_memory_does_not_grow_with_the_number_of_replays(tmp_path: Path) -> None:
    """Ten and three hundred games of a minute, whose columns would fill 300 MB."""
    data = synthetic_match(seed=1, frames=3600)
    peaks = []
    for count in (10, 300):
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "0.slp").write_bytes(data)
        for number in range(1, count):
            os.link(folder / "0.slp", folder / f"{number}.slp")
        program = (
            "import resource, sys; from slpstream.cli import main\n"
            "try: main(sys.argv[1:])\n"
            "except SystemExit as end: print(end.code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        query = "select count(*), avg(post_percent), max(columns('^pre_.*')) from frames"
        command = [sys.executable, "-c", program, "sql", "--jobs", "1", "--csv", str(folder), query]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert output[1].startswith(f"{2 * 3600 * count},")
        code, peak_kib = map(int, output[-1].split())
        assert code == 0
        peaks.append(peak_kib >> 10)
    assert peaks[1] - peaks[0] < 60, peaks
