"""An unusable state folder: games are streamed, corrections are refused, and `/readyz` shows the problem.

Damaged state is replaced, whatever the folder contains.
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from slpstream.store import FILE_NAME, open_database
from slpstream.store.schema import MIGRATIONS
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.synthetic.match import synthetic_match


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("disks cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Write a file until the disk is full."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(512))
            except OSError:
                return filler


def assert_nothing_is_kept(daemon: DaemonProcess, reason: str) -> None:
    [station] = daemon.get("/v1/stations")["stations"]
    address = f"/v1/stations/{station['id']}/set"
    status, problem = daemon.request("PATCH", address, {"bestOf": 7})
    assert status == 503
    assert "cannot be kept" in problem["detail"]
    assert reason in problem["detail"]
    assert daemon.get(address)["bestOf"] == 3
    [line] = daemon.missing()
    assert line.startswith("index of games: ")
    assert reason in line


def assert_streams(daemon: DaemonProcess, folder: Path) -> None:
    (folder / "Game_1.slp").write_bytes(synthetic_match(seed=1, frames=200))
    daemon.until(lambda: [game.get("reason") for game in daemon.get("/v1/games")["games"]] == ["game_end"])
    [warning] = [line for line in daemon.lines if line.get("level") == "warning"]
    assert warning["event"] == "game index is kept for this run alone"


@pytest.mark.parametrize("is_configured", [False, True])
def test_folder_that_cannot_be_created(is_configured: bool, tmp_path: Path, replays: Path) -> None:
    state = tmp_path / "file" / "state"
    state.parent.write_bytes(b"")
    arguments = configuration(tmp_path, f'[store]\nfolder = "{state}"\n' if is_configured else "")
    with running(replays, state=None if is_configured else state, arguments=arguments) as daemon:
        daemon.wait_ready()
        assert_nothing_is_kept(daemon, "Not a directory")
        assert_streams(daemon, replays)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["with an index", "empty"])
@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_disk_that_takes_nothing_at_start(trouble: str, known: bool, tmp_path: Path, replays: Path) -> None:
    with small_disk(tmp_path / "disk") as state:
        if known:
            open_database(state / FILE_NAME).close()
        if trouble == "full":
            fill(state)
        else:
            subprocess.run(["mount", "-o", "remount,ro", str(state)], check=True)
        with running(replays, state=state) as daemon:
            daemon.wait_ready()
            assert_nothing_is_kept(daemon, "kept for this run alone")
            assert_streams(daemon, replays)


@pytest.fixture
def replays(tmp_path: Path) -> Path:
    folder = tmp_path / "replays"
    folder.mkdir()
    return folder


def test_disk_that_becomes_full_while_running(tmp_path: Path, replays: Path) -> None:
    with small_disk(tmp_path / "disk") as state, running(replays, state=state) as daemon:
        daemon.wait_ready()
        filler = fill(state)
        assert_nothing_is_kept(daemon, "full")
        filler.unlink()
        [station] = daemon.get("/v1/stations")["stations"]
        assert daemon.request("PATCH", f"/v1/stations/{station['id']}/set", {"bestOf": 7})[0] == 200
        assert daemon.get("/readyz")["status"] == "ready"


def test_index_of_a_newer_version_is_left_alone(tmp_path: Path, replays: Path) -> None:
    state = tmp_path / "state"
    open_database(state / FILE_NAME, migrations=(*MIGRATIONS, ("CREATE TABLE more (x)",))).close()
    before = (state / FILE_NAME).read_bytes()
    with running(replays, state=state) as daemon:
        daemon.wait_ready()
        assert_nothing_is_kept(daemon, "use a newer slpstream, or move the file away")
        assert_streams(daemon, replays)
    assert (state / FILE_NAME).read_bytes() == before


STATE_FILES = ("games.sqlite3", "deliveries.sqlite3", "reports.sqlite3", "secrets/seats.json")
WARNINGS = (
    "game index is damaged; starting a new one",
    "deliveries are damaged; what waited is lost",
    "the queue of the bracket is damaged; the sets of the last day are taken up again",
    "codes of seats cannot be read; all codes are replaced",
)


def with_all_state(folder: Path) -> tuple[str, str]:
    """A configuration with which the daemon writes every kind of file to its state folder."""
    (folder / "key").write_text("k" * 32)
    return configuration(
        folder,
        f"[seats]\non = true\n[bracket]\nkind = 'webhook'\nurl = 'http://127.0.0.1:9/'\n"
        f"[[webhooks]]\nurl = 'http://127.0.0.1:9/'\nsecret_file = '{(folder / 'key').as_posix()}'\n",
    )


def replace_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "random bytes": lambda path: path.write_bytes(random.Random(path.name).randbytes(9000)),
    "text": lambda path: path.write_bytes(b"hello" * 2000),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 3]),
    "folder": replace_by_a_folder,
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parts("bracket", "seats", "webhooks")
def test_damaged_state_is_set_aside(damage: str, tmp_path: Path, replays: Path) -> None:
    state, arguments = tmp_path / "state", with_all_state(tmp_path)
    with running(replays, state=state, arguments=arguments) as daemon:
        daemon.wait_ready()
    for name in STATE_FILES:
        DAMAGES[damage](state / name)
    with running(replays, state=state, arguments=arguments) as daemon:
        (replays / "Game_1.slp").write_bytes(synthetic_match(seed=1, frames=200))
        daemon.until(lambda: [game.get("reason") for game in daemon.get("/v1/games")["games"]] == ["game_end"])
        events = [line["event"] for line in daemon.lines]
        assert [events.count(warning) for warning in WARNINGS] == [1, 1, 1, 1]
        assert "index of games" not in str(daemon.missing())
        assert "internal error" not in events
    for name in STATE_FILES:
        assert (state / name).is_file()
        assert list((state / name).parent.glob(f"{Path(name).name}.damaged-*"))


@pytest.mark.slow
@pytest.mark.parametrize("column", ["summary", "settings"])
def test_games_are_read_again_after_damage_that_a_request_finds(column: str, tmp_path: Path, replays: Path) -> None:
    state = tmp_path / "state"
    for seed in (1, 2):
        (replays / f"Game_{seed}.slp").write_bytes(synthetic_match(seed=seed, frames=200))
    with running(replays, state=state) as daemon:
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 2)
        [first, _] = daemon.get("/v1/games")["games"]
    with closing(sqlite3.connect(state / FILE_NAME)) as connection:
        connection.execute(f"UPDATE games SET {column} = CAST(X'7BFF' AS TEXT)")
        connection.commit()
    with running(replays, state=state) as daemon:
        daemon.wait_ready()
        daemon.request("GET", f"/v1/games/{first['gameId']}")
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 2)
        assert daemon.get(f"/v1/games/{first['gameId']}")["gameId"] == first["gameId"]
        assert daemon.get("/readyz")["status"] == "ready"
        assert "internal error" not in [line["event"] for line in daemon.lines]


def open_to_others(state: Path) -> list[tuple[str, str]]:
    """The files and folders that are accessible to users other than the owner, with their modes."""
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (state, *state.rglob("*"))}
    return [(path.name, oct(mode)) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")
@pytest.mark.parts("bracket", "seats", "webhooks")
def test_state_folder_of_an_earlier_version_is_closed(tmp_path: Path, replays: Path) -> None:
    state, arguments = tmp_path / "state", with_all_state(tmp_path)
    with running(replays, state=state, arguments=arguments) as daemon:
        daemon.wait_ready()
        assert open_to_others(state) == []
    (state / "secrets/seats.json").rename(state / "seats.json")
    (state / "secrets").rmdir()
    for path in (state, *state.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with running(replays, state=state, arguments=arguments) as daemon:
        daemon.wait_ready()
        [line] = [line for line in daemon.lines if line["event"].startswith("state folder")]
        assert line["level"] == "warning"
        assert open_to_others(state) == []
        assert (state / "secrets/seats.json").is_file()
        assert not (state / "seats.json").exists()
    with running(replays, state=state, arguments=arguments) as daemon:
        daemon.wait_ready()
        assert not [line for line in daemon.lines if line["event"].startswith("state folder")]
