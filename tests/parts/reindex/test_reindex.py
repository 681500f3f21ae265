"""`slpstream reindex`: rebuilds the index from the files, reports broken files, and keeps stats."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result

from slpstream.api import read_game
from slpstream.parts.reindex.cli import command
from slpstream.store import FILE_NAME, Entry, GamesQuery, open_database
from slpstream.store.backfill import path_key
from tests.cli.command_line import called, exit_code
from tests.synthetic.match import synthetic_match

GAMES = [synthetic_match(seed=seed, frames=100) for seed in range(3)]
OLD = 1_700_000_000


def reindex(state: Path, *arguments: str | Path) -> Result:
    """Run the command in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STATE_DIRECTORY", str(state))
        return called(command, *arguments)


@pytest.fixture
def setup(tmp_path: Path) -> Path:
    folder = tmp_path / "setup"
    (folder / "deep").mkdir(parents=True)
    for i, data in enumerate(GAMES):
        path = folder / "deep" / f"{i}.slp"
        path.write_bytes(data)
        os.utime(path, (OLD + i, OLD + i))
    return folder


def stations(state: Path) -> list[tuple[str, str | None, bool]]:
    """Station, end reason, and whether there are stats, for each game."""
    with closing(open_database(state / FILE_NAME)) as database:
        rows = database.games.page(GamesQuery(limit=100)).games
        games = [database.games.get(row.game_id) for row in rows]
        return [(g.row.station, g.row.reason, g.details.stats is not None) for g in games if g is not None]


def test_folder_is_indexed_and_broken_files_are_reported(setup: Path, tmp_path: Path) -> None:
    (setup / "broken.slp").write_bytes(b"no replay")
    (setup / "empty.slp").write_bytes(b"")
    (setup / "notes.txt").write_bytes(b"")
    (setup / "out.slp").symlink_to(tmp_path / "elsewhere.slp")
    done = reindex(tmp_path, setup)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("5 files: 3 games, 2 broken; ")
    assert " files a second" in done.stdout
    assert str(tmp_path / FILE_NAME) in done.stdout
    named = sorted(done.stderr.splitlines())
    assert [line.split(": ")[1] for line in named] == [str(setup / "broken.slp"), str(setup / "empty.slp")]
    assert stations(tmp_path) == [("setup", "game_end", False)] * 3


def test_stats_are_indexed_on_request_and_kept(setup: Path, tmp_path: Path) -> None:
    assert reindex(tmp_path, setup, "--stats").exit_code == 0
    assert stations(tmp_path) == [("setup", "game_end", True)] * 3
    (setup / "deep" / "1.slp").unlink()
    done = reindex(tmp_path, setup)
    assert done.stdout.startswith("2 files: 2 games, 0 broken; ")
    assert stations(tmp_path) == [("setup", "game_end", True)] * 2


def test_arrival_times_operator_decisions_and_remembered_values_are_kept(setup: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    reindex(state, setup)
    path = setup / "deep" / "0.slp"
    status = path.stat()
    record = read_game(path).record()
    entry = Entry(
        station="setup", path=path_key(path), mtime_ns=status.st_mtime_ns, size_bytes=status.st_size, record=record,
        arrived_at_ms=1_800_000_000_000,
    )  # fmt: skip
    with closing(open_database(state / FILE_NAME)) as database:
        database.games.add([entry])
        database.corrections.keep("setup", b"{}")
        database.remembered.keep({"on_air": b"{}"})
    reindex(state, setup)
    with closing(open_database(state / FILE_NAME)) as database:
        [newest, *others] = database.games.page(GamesQuery()).games
        assert (newest.game_id, newest.arrived_at_ms) == (record.game_id, 1_800_000_000_000)
        assert [game.arrived_at_ms for game in others] == [None, None]
        assert database.corrections.all() == {"setup": b"{}"}
        assert database.remembered.get("on_air") == b"{}"


def test_stations_of_a_configuration_are_indexed(setup: Path, tmp_path: Path) -> None:
    config = tmp_path / "slpstream.toml"
    config.write_text(
        f'[store]\nfolder = "{(tmp_path / "mine").as_posix()}"\n'
        f'[[stations]]\nid = "left"\nfolder = "{setup.as_posix()}"\n'
        f'[[stations]]\nid = "right"\nfolder = "{(tmp_path / "nowhere").as_posix()}"\n',
        encoding="utf-8",
    )
    done = reindex(tmp_path, "--config", config)
    assert done.exit_code == 74, "a missing folder does not stop the others"
    assert "nowhere: no such folder" in done.stderr
    assert [station for station, _, _ in stations(tmp_path / "mine")] == ["left"] * 3
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize("source_line", ['console = "192.0.2.7"', 'dolphin = "127.0.0.1"'])
@pytest.mark.parametrize("where", ["", "elsewhere"])
def test_recordings_of_a_console_are_indexed(
    source_line: str, where: str, setup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = tmp_path / where if where else tmp_path / "state" / "recordings"
    recordings.mkdir(parents=True)
    setup.rename(recordings / "wii")
    config = tmp_path / "slpstream.toml"
    config.write_text(
        f'[recordings]\nfolder = "{recordings.as_posix() if where else ""}"\n[[stations]]\nid = "wii"\n{source_line}\n',
        encoding="utf-8",
    )
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "other.slp").write_bytes(synthetic_match(seed=7, frames=100))
    monkeypatch.chdir(tmp_path / "here")
    done = reindex(tmp_path / "state", "--config", config)
    assert done.exit_code == 0, done.stderr
    assert stations(tmp_path / "state") == [("wii", "game_end", False)] * 3, "nothing from the current folder"


def test_growing_game_has_no_end(setup: Path, tmp_path: Path) -> None:
    running, crashed = setup / "running.slp", setup / "crashed.slp"
    running.write_bytes(synthetic_match(seed=8, frames=100, ended=False))
    crashed.write_bytes(synthetic_match(seed=9, frames=100, ended=False))
    os.utime(crashed, (OLD, OLD))
    assert reindex(tmp_path, setup).exit_code == 0
    assert sorted(str(reason) for _, reason, _ in stations(tmp_path)) == ["None", *["game_end"] * 3, "incomplete"]


def test_errors_have_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "file"))
    for arguments, code in ((("--config", tmp_path / "none.toml"), 78), (("--nonsense",), 2), ((tmp_path,), 74)):
        assert exit_code("reindex", *arguments) == code
    assert "Traceback" not in capsys.readouterr().err


def test_damaged_index_is_renamed_and_reported(setup: Path, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"x" * 5000)
    done = reindex(tmp_path, setup)
    assert done.exit_code == 0
    assert "the index was damaged" in done.stderr
    assert len(stations(tmp_path)) == 3
