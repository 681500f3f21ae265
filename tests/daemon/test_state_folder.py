"""A state folder in which nothing can be kept: games are streamed, corrections are refused, and `/readyz` shows it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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
