"""`slpstream replays` on folders of replays."""

from __future__ import annotations

import gzip
import sys
import time
import zipfile
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command_line import exit_code
from tests.parts.handover.validator import copied, document, problems
from tests.sets.games import ANN_AND_BOB, NO_CONTEST, replay

run = partial(exit_code, "replays")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sets of the same players, an hour apart."""
    folder = tmp_path / "replays"
    folder.mkdir()
    for minute in (0, 5, 65, 70):
        data = replay(ANN_AND_BOB, {0: 2, 1: 0}, seconds=40, minute=minute)
        (folder / f"Game_{minute:02}.slp").write_bytes(data)
    return folder


def test_each_set_gets_a_zip(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(folder, "--out", out) == 0
    assert run(folder, "--out", out) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"Ann (Fox) vs Bob (Fox){number}.zip" for number in (" 2", " 3", " 4", "")]
    assert [problems(out / name) for name in names] == [[]] * 4
    assert "Ann (Fox) vs Bob (Fox).zip: 2 replays" in capsys.readouterr().out


def test_zip_of_a_long_set_has_all_games_that_count(tmp_path: Path) -> None:
    folder = tmp_path / "replays"
    folder.mkdir()
    (folder / "Game_00.slp").write_bytes(replay(ANN_AND_BOB, {0: 2, 1: 0}, seconds=40, minute=0))
    for minute in range(2, 24):  # both are left with all stocks after ten seconds
        data = replay(ANN_AND_BOB, {0: 4, 1: 4}, seconds=10, minute=minute, method=NO_CONTEST, quitter=1)
        (folder / f"Game_{minute:02}.slp").write_bytes(data)
    (folder / "Game_24.slp").write_bytes(replay(ANN_AND_BOB, {0: 2, 1: 0}, seconds=40, minute=24))
    assert run(folder, "--out", tmp_path / "out") == 0
    (found,) = (tmp_path / "out").iterdir()
    assert problems(found) == []
    with zipfile.ZipFile(found) as archive:
        assert len(archive.namelist()) == 3


@pytest.mark.parts("archives")
def test_compressed_replays_are_unpacked(folder: Path, tmp_path: Path) -> None:
    for path in list(folder.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    out = tmp_path / "out"
    assert run(folder, "--out", out) == 0
    assert [problems(path) for path in out.iterdir()] == [[], []]


def test_skew_and_end_of_the_last_set_shift_the_times(folder: Path, tmp_path: Path) -> None:
    assert run(folder / "Game_00.slp", folder / "Game_05.slp", "--out", tmp_path / "skew", "--skew", "2220") == 0
    with zipfile.ZipFile(next((tmp_path / "skew").iterdir())) as archive:
        began_ms = document(archive)["startMs"]
        assert copied(archive, archive.namelist()[1], tmp_path).summary().started_at == "2026-03-14T09:23:00Z"
    ended = "2026-03-14T09:28:40+0000"  # each game lasts 40 seconds
    assert run(folder / "Game_00.slp", folder / "Game_05.slp", "--out", tmp_path / "ended", "--ended", ended) == 0
    with zipfile.ZipFile(next((tmp_path / "ended").iterdir())) as archive:
        assert document(archive)["startMs"] == began_ms
    assert run(folder, "--out", tmp_path / "both", "--skew", "1", "--ended", ended) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there is no tzset")
def test_names_have_the_local_time_of_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "replays"
    folder.mkdir()
    for name, minute in {"winter": 0, "summer": 120 * 24 * 60}.items():
        (folder / f"{name}.slp").write_bytes(replay(ANN_AND_BOB, {0: 2, 1: 0}, seconds=40, minute=minute))
    with monkeypatch.context() as central_europe:
        central_europe.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        assert run(folder, "--out", tmp_path / "out", "--zip-name", "{date} {time}") == 0
    time.tzset()
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == ["20260314 1100", "20260712 1200"]


def test_folders_without_sets_and_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--out", tmp_path / "out") == 1
    (tmp_path / "damaged.slp").write_bytes(b"not a replay")
    assert run(tmp_path, "--out", tmp_path / "out") == 1
    assert "damaged.slp" in capsys.readouterr().err
