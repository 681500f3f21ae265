"""`slpstream info`: reads only both ends of files in folders, with the same result."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream import api
from slpstream.api import preview_replay, read_game
from slpstream.cli.game_text import length_text
from slpstream.formats.slippi.preview import read_preview
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slplog.writer import pack
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.events import Event, GameEnd, GameStart, Metadata
from slpstream.parts.info.cli import command, describe, describe_quickly
from tests.cli.command_line import called, on_terminal, slpstream
from tests.formats.games import games as finished_games
from tests.formats.slippi.built import ONLINE, Built, varied_replay
from tests.replays import NOT_REPLAYS, replays
from tests.synthetic.match import synthetic_match

END_BYTES = 4096
NOT_READ = ("frames", "codes", "diagnostics")


def preview_of(data: bytes, tail_bytes: int = END_BYTES) -> Any:
    """The preview as JSON, `None` if the whole file has to be read, or the error of a file without Game Start."""
    tail_at = max(0, len(data) - tail_bytes)
    try:
        preview = read_preview(data[:END_BYTES], data[tail_at:], tail_at)
    except FormatError as error:
        return error
    return None if preview is None else msgspec.json.encode(preview)


def full_reading_of(data: bytes) -> bytes | FormatError:
    """The same description, from reading the whole file."""
    reader = SlippiReader()
    events: list[Event] = [*reader.feed(data), *reader.finish()]
    found = [
        next((event for event in events if isinstance(event, kind)), None) for kind in (GameStart, GameEnd, Metadata)
    ]
    if found[0] is None:
        assert reader.failure is not None
        return reader.failure
    return msgspec.json.encode(found)


def assert_agree(data: bytes, tail_bytes: int = END_BYTES) -> bool:
    """Check that the preview, if there is one, equals the full reading. Return whether there is one."""
    preview = preview_of(data, tail_bytes)
    if preview is None:
        return False
    full = full_reading_of(data)
    if isinstance(preview, FormatError) or isinstance(full, FormatError):
        assert (type(preview), str(preview)) == (type(full), str(full))
    else:
        assert preview == full
    return True


@cache
def built() -> dict[str, bytes]:
    rollbacks = Built(major_scene=ONLINE).frames(-123, -80, items=2)
    for number in (-82, -81, -80, -79):
        rollbacks.frame(number, items=1)
    return {
        "varied": varied_replay(),
        "rollbacks": rollbacks.end().closed({"lastFrame": -79}),
        "ends on a rollback": Built(major_scene=ONLINE).frames(-123, 0).frame(-1).end().closed(),
        "no metadata": Built().frames(-123, 0).end().closed(None),
        "no last frame": Built().frames(-123, 0).end().closed({"startAt": "x"}),
        "no end": Built().frames(-123, 0).closed(),
        "two ends": Built().frames(-123, 0).end().end().closed(),
        "raw length 0": Built().frames(-123, 0).end().closed(raw_length_bytes=0),
        **{
            str(version): Built(version).frames(-123, 0).end().closed() for version in ((0, 1, 0), (1, 6, 0), (2, 2, 0))
        },
        "followers": Built((2, 0, 1)).frames(-123, 0, followers=(0, 1)).end().closed(),
        "zelda": Built((1, 2, 0), characters={0: 18, 1: 2}).frames(-123, 0).end().closed(),
    }


def test_finished_replays_have_a_preview() -> None:
    names = {name for name, data in built().items() if assert_agree(data)}
    assert names == {"rollbacks", "(0, 1, 0)", "(1, 6, 0)", "(2, 2, 0)", "followers"}
    readable = [path for path in replays() if path.stem not in NOT_REPLAYS]
    assert sum(preview_replay(path) is not None for path in readable) >= len(readable) * 2 // 3


@settings(max_examples=400)
@given(st.data())
def test_preview_of_any_size_equals_the_full_reading(draw: st.DataObject) -> None:
    """The end that is read has any length, and random bytes follow a cut."""
    games = built()
    data = games[draw.draw(st.sampled_from(sorted(games)))]
    cut = draw.draw(st.integers(max(0, len(data) - 2000), len(data)) | st.integers(0, len(data)))
    assert_agree(data[:cut] + draw.draw(st.binary(max_size=60)), draw.draw(st.integers(1, 6000)))


@pytest.mark.parametrize("path", replays(), ids=lambda path: path.stem)
def test_quick_description_of_replays_equals_the_full_one(path: Path) -> None:
    """Members that require reading the whole game are excepted."""
    try:
        full = describe(path)
    except FormatError as error:
        with pytest.raises(FormatError, match=str(error)):
            describe_quickly(path)
        return
    quick = describe_quickly(path)
    assert quick["frames"] in (None, full["frames"])
    assert quick.keys() == full.keys()
    for row in (full, quick):
        for name in NOT_READ:
            del row[name]
    assert msgspec.json.encode(quick) == msgspec.json.encode(full)


def test_preview_reads_only_the_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(synthetic_match(seed=2, frames=300))
    monkeypatch.setattr(api, "read_chunks", None)
    assert describe_quickly(path)["reason"] == "game_end"
    with pytest.raises(SourceError, match="no such file"):
        preview_replay(tmp_path / "b.slp")
    with pytest.raises(SourceError, match=r"not a regular file|is a directory"):
        preview_replay(tmp_path)
    path.write_text("this is no replay")
    with pytest.raises(FormatError, match="not a Slippi replay"):
        preview_replay(path)


def test_files_in_folders_are_recognised_by_content(tmp_path: Path) -> None:
    """Names do not matter, and the same options apply."""
    race = finished_games()["race.gci"]
    wrong = bytearray(race)
    wrong[-1] ^= 1
    (tmp_path / "race.slp").write_bytes(race)
    (tmp_path / "wrong.gci").write_bytes(wrong)
    assert describe_quickly(tmp_path / "race.slp")["format"] == "gci"
    assert read_game(tmp_path / "race.slp").start.format == "gci"
    assert describe_quickly(tmp_path / "wrong.gci")["format"] == "gci"
    with pytest.raises(FormatError, match="checksum"):
        describe_quickly(tmp_path / "wrong.gci", strict=True)
    result = called(command, "--strict", tmp_path)
    assert (result.exit_code, "checksum" in result.output) == (1, True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0, "0:00.0"), (59.94, "0:59.9"), (59.96, "1:00.0"), (119.9667, "2:00.0"), (3661.25, "61:01.2")],
)
def test_length_text(seconds: float | None, text: str) -> None:
    assert length_text(seconds) == text


def test_game_start_beyond_the_head(tmp_path: Path) -> None:
    """The events before Game Start can be longer than the part that is read first."""
    path = tmp_path / "a.slp"
    game = Built()
    game.parts[1:1] = [game.writer.gecko_list(bytes(5000))]
    path.write_bytes(game.frames(-123, 0).end().closed())
    assert preview_replay(path) is None
    assert describe_quickly(path)["lastFrame"] == describe(path)["lastFrame"] > -123
    path.write_bytes(path.read_bytes()[:5500])
    with pytest.raises(FormatError, match="ends before Game Start"):
        describe_quickly(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty games, one of them truncated, and a file that is not a replay."""
    folder = tmp_path_factory.mktemp("games")
    data = Built().frames(-123, 0).end().closed()
    (folder / "deeper").mkdir()
    for number in range(29):
        (folder / ("deeper" if number % 2 else ".") / f"Game_{number:02}.slp").write_bytes(data)
    (folder / "Game_90.slp").write_bytes(data[:9000])
    (folder / "Game_91.slp").write_text("no replay")
    return folder


def rows_of(done: CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_folder_with_and_without_full(folder: Path) -> None:
    quick, full = slpstream("info", folder, "--json"), slpstream("info", folder, "--json", "--full")
    assert (quick.returncode, full.returncode) == (1, 1)
    for done in (quick, full):
        broken, speed = done.stderr.splitlines()
        assert broken == f"slpstream: {folder / 'Game_91.slp'}: not a Slippi replay, at offset 0"
        assert "31 files in " in speed
        assert speed.endswith(" files a second")
    rows, full_rows = rows_of(quick), rows_of(full)
    assert len(rows) == 30
    [cut] = [row for row in rows if row["reason"] == "incomplete"]
    assert cut["frames"] > 20
    assert [row["frames"] for row in rows].count(None) == 29
    assert {row["frames"] for row in full_rows} > {124}
    assert [row["reason"] for row in full_rows if row["diagnostics"]] == ["incomplete"]
    for row, full_row in zip(rows, full_rows, strict=True):
        assert {**full_row, "frames": None, "diagnostics": None} == {**row, "frames": None, "diagnostics": None}
    table = called(command, folder / "Game_90.slp").stdout
    assert "incomplete" in table
    assert "truncated at" in table, "a single file is read whole"
    without = slpstream("info", folder, "--json", before="import sys; sys.modules['numpy'] = None")
    [cut] = [row for row in rows_of(without) if row["reason"] == "incomplete"]
    assert cut["frames"] > 20
    assert [diagnostic["code"] for diagnostic in cut["diagnostics"]] == ["truncated", "frame_without_bookend"]


def test_folder_of_replay_logs_and_empty_folder(tmp_path: Path) -> None:
    data = synthetic_match(seed=2, frames=200)
    (tmp_path / "Game_1.slp").write_bytes(data)
    (tmp_path / "Game_1.slp.slplog").write_bytes(pack(data, "slippi", "Game_1.slp"))
    done = called(command, tmp_path, "--json")
    assert done.exit_code == 0
    replay, log = (json.loads(line) for line in done.stdout.splitlines())
    assert (replay.pop("file"), log.pop("file")) == (str(tmp_path / "Game_1.slp"), str(tmp_path / "Game_1.slp.slplog"))
    assert replay == log
    (tmp_path / "empty").mkdir()
    done = called(command, tmp_path / "empty")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"slpstream: no replays in {tmp_path / 'empty'}\n"


def test_progress_bar_on_a_terminal(folder: Path) -> None:
    _, shown = on_terminal("info", folder)
    assert all(words in shown for words in ("reading", "31/31", "100%", "files a second"))
