"""Files are opened and read safely: no named pipes, no oversized files, and no impossible times."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

from slpstream.api import open_replay, read_game
from slpstream.game.log_reader import archived_game, peek_game_id
from slpstream.model.errors import CursorGone, Unreadable
from slpstream.model.messages import START, timestamp
from slpstream.sources.replay_file import open_file
from slpstream.store import FILE_NAME, GameIndex, open_database
from slpstream.system.file_times import modified_ns
from slpstream.system.files import (
    WHOLE_FILE_BYTES,
    is_placeholder,
    open_regular,
    read_regular,
    read_start,
    read_to_end,
)
from tests.daemons.station import running_station, until
from tests.synthetic.match import synthetic_match


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no named pipes on this platform")
@pytest.mark.trio
@pytest.mark.parametrize("name", ["a.slp", "a.gci"])
async def test_named_pipe_is_refused_without_blocking(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(path)
    with pytest.raises(Unreadable, match="not a regular file"):
        open_file(path)
    for read in (read_to_end, lambda path: read_start(path, 1)):
        with pytest.raises(OSError, match="not a regular file"):
            read(path)
    with pytest.raises(Unreadable, match="not a regular file"):
        open_replay(path)
    with pytest.raises(OSError, match="not a regular file"):
        peek_game_id(path)
    game = archived_game(lambda: path, 0, "0" * 32, trio.CapacityLimiter(1))
    with pytest.raises(CursorGone):
        await game.log_reader.messages("live", START)


@pytest.mark.not_on_windows("Windows has other words for the same error")
def test_start_and_size_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"12345")
    assert read_start(path, 2) == (b"12", 5)
    assert read_start(path, 9) == (b"12345", 5)
    with pytest.raises(IsADirectoryError):
        read_start(tmp_path, 2)


@pytest.mark.parametrize("size_bytes", [0, 3, 200_000, 300_000])
def test_file_that_changes_is_read_to_its_end(tmp_path: Path, size_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"12345" * 40_000)
    status = SimpleNamespace(st_mode=stat.S_IFREG, st_size=size_bytes)
    monkeypatch.setattr(os, "fstat", lambda descriptor: status)
    assert read_to_end(path) == b"12345" * 40_000


def test_oversized_file_is_not_read(tmp_path: Path) -> None:
    """A video can have the same suffix as a ghost."""
    path = tmp_path / "film.dat"
    with path.open("wb") as file:
        file.truncate(WHOLE_FILE_BYTES)
    assert len(read_regular(path)) == WHOLE_FILE_BYTES
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(OSError, match="larger than any replay"):
        read_regular(path)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-5, 0), (7, 7 * 10**9), (10**10, 2**63 - 1), (3 * 10**11, 2**63 - 1)]
)
def test_out_of_range_times_are_clamped(seconds: int, expected: int) -> None:
    status = SimpleNamespace(st_mtime_ns=seconds * 10**9)  # few file systems can store all of these
    assert modified_ns(status) == expected  # type: ignore[arg-type]
    assert timestamp(expected / 1e9)


@pytest.mark.trio
async def test_file_from_the_year_2286_is_indexed(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(synthetic_match(seed=1, frames=130))
    os.utime(path, (10**10, 10**10))
    index = GameIndex(open_database(tmp_path / FILE_NAME), lambda path: read_game(path).record())
    async with running_station(tmp_path, index=index) as station, trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        await until(lambda: index.games == 1 and len(station.files) == 0)
        assert [recording["file"] for recording in station.archive.newest()] == ["a.slp"]
        nursery.cancel_scope.cancel()


def test_open_file_can_be_renamed_and_deleted(tmp_path: Path) -> None:
    """Windows allows this only for files that were opened as shared."""
    path, other = tmp_path / "a.slp", tmp_path / "b.slp"
    path.write_bytes(b"replay")
    with open_regular(path) as file:
        path.rename(other)
        assert file.read() == b"replay"
        other.unlink()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),
        ({"st_file_attributes": stat.FILE_ATTRIBUTE_ARCHIVE}, False),
        ({"st_file_attributes": stat.FILE_ATTRIBUTE_OFFLINE}, True),
        ({"st_file_attributes": stat.FILE_ATTRIBUTE_ARCHIVE | 0x400000}, True),
        ({"st_flags": 0}, False),
        ({"st_flags": 0x40000000}, True),
    ],
)
def test_placeholders_of_cloud_storage(fields: dict[str, int], expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "lstat", lambda path: SimpleNamespace(**fields))
    assert is_placeholder("a.slp") is expected
