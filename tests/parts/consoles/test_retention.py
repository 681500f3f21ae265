"""Age and size limits: deleted recordings, expired games, and protected files."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from slpstream.config import Store
from slpstream.daemon.stations import RunningStations
from slpstream.parts import registry
from slpstream.parts.consoles.part import RecordingLimits
from slpstream.parts.consoles.retention import Retention, StoredFile, select_files, sweep
from slpstream.parts.expiry.expiry import expire_games
from slpstream.store import FILE_NAME, Database, GameIndex, GameRecord, open_database
from slpstream.stream.channel import Hub
from tests.store.samples import DAY_ONE, entry, game_id, record, start
from tests.stream.fakes import FakeLog, FakeStation

NOW = 1_800_000_000.0
DAY = 86_400
NONE = RecordingLimits(max_age_days=0, max_size_bytes=0)


file_lists = st.lists(
    st.builds(
        StoredFile,
        st.sampled_from([Path(f"/r/{name}.slp") for name in "abcdefghij"]),
        st.floats(NOW - 100, NOW + 5),
        st.integers(0, 50),
    ),
    unique_by=lambda file: file.path,
)


@given(
    files=file_lists,
    max_age=st.none() | st.floats(0, 100),
    max_size=st.none() | st.integers(0, 200),
    protected=st.sets(st.sampled_from([Path(f"/r/{name}.slp") for name in "abcdefghij"])),
    fresh=st.floats(0, 60),
)
def test_selected_files_satisfy_the_limits(
    files: list[StoredFile], max_age: float | None, max_size: int | None, protected: set[Path], fresh: float
) -> None:
    selected = select_files(
        files, max_age_seconds=max_age, max_size_bytes=max_size, now=NOW, protected=protected, fresh_seconds=fresh
    )
    kept = [file for file in files if file not in selected]
    free = [file for file in kept if file.path not in protected and NOW - file.mtime >= fresh]
    assert set(selected) <= set(files)
    assert len(set(selected)) == len(selected)
    assert [file.mtime for file in selected] == sorted(file.mtime for file in selected), "oldest first"
    assert not any(file.path in protected or NOW - file.mtime < fresh for file in selected)
    left = sum(file.size_bytes for file in kept)
    if max_age is not None:
        assert not [file for file in free if NOW - file.mtime > max_age], "no free file is too old"
    if max_size is not None and free:
        assert left <= max_size, "the size limit holds if a file could be deleted"
    newest = selected[-1] if selected else None
    if newest is not None and not (max_age is not None and NOW - newest.mtime > max_age):
        assert max_size is not None
        assert left + newest.size_bytes > max_size, "no more than necessary"
    if newest is not None:
        assert all(file.mtime >= newest.mtime for file in free), "no older file could have been deleted instead"
    if max_age is None and max_size is None:
        assert not selected


def put(path: Path, days_old: float, size: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW - days_old * DAY, NOW - days_old * DAY))
    return path


@pytest.mark.parametrize("linked", [False, True])
def test_only_recordings_are_deleted(tmp_path: Path, linked: bool) -> None:
    """Deleted files are reported with the paths that stations use, even if the folder of recordings is a link."""
    disk = tmp_path / "disk"
    old = [put(disk / "wii" / "2026" / "old.slp", 30), put(disk / "gone" / "old.slp", 9)]
    stays = [
        put(disk / "wii" / "new.slp", 1),
        put(disk / "wii" / "notes.txt", 300),
        put(disk / "loose.slp", 300),
        put(disk / "mine" / "own.slp", 300),
        put(disk / "pc" / "deep" / "followed.slp", 300),
        put(tmp_path / "elsewhere.slp", 300),
    ]
    (disk / "wii" / "link.slp").symlink_to(tmp_path / "elsewhere.slp")
    (disk / "away").symlink_to(tmp_path)
    (disk / "idle").mkdir()
    top = disk
    if linked:
        top = tmp_path / "recordings"
        top.symlink_to(disk)
    for source in (disk, disk / "mine"):
        followed, in_use = [top / "pc" / "deep" / "followed.slp"], [top / "wii"]
        done = sweep(
            top,
            RecordingLimits(max_age_days=7, max_size_bytes=0),
            now=NOW,
            followed=followed,
            sources=[str(source)],
            in_use=in_use,
        )
        expected = [] if source == disk else [top / path.relative_to(disk) for path in old]
        assert [file.path for file in done.deleted] == expected
    assert all(path.is_file() for path in stays)
    assert sorted(path.name for path in disk.iterdir()) == ["away", "idle", "loose.slp", "mine", "pc", "wii"]
    assert not (disk / "wii" / "2026").exists(), "a folder that became empty is deleted too"
    assert sweep(top, NONE, now=NOW + 1000 * DAY).deleted == []
    assert sweep(tmp_path / "nowhere", RecordingLimits(max_age_days=1, max_size_bytes=1), now=NOW).deleted == []
    by_size = sweep(top, RecordingLimits(max_age_days=0, max_size_bytes=5), now=NOW, in_use=[top / "wii"])
    assert top / "wii" / "new.slp" in [file.path for file in by_size.deleted]
    assert (disk / "wii").is_dir(), "the folder of a station stays"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(tmp_path / FILE_NAME)


def test_old_games_expire_and_their_files_stay_known(database: Database) -> None:
    database.games.add(entry(number) for number in range(10))
    before = database.games.known_files("main")
    assert database.games.expire(before_ms=1000 * (DAY_ONE + 60 * 4), max_bytes=None, spared=[game_id(1)]) == 4
    assert database.games.count() == 6
    assert database.games.get(game_id(0)) is None
    assert database.games.get(game_id(1)) is not None, "a running game stays"
    assert database.games.get(game_id(9)) is not None
    assert database.games.known_files("main") == before, "known files are not read again"
    database.games.add([entry(0, at=DAY_ONE + 10_000)])
    assert database.games.get(game_id(0)) is not None, "its file was written to since"
    database.close()


def test_oldest_games_expire_by_size(database: Database) -> None:
    database.games.add(entry(number, f"player{number}") for number in range(600))
    full_bytes, min_count = database.used_bytes(), 100
    assert database.games.expire(before_ms=None, max_bytes=full_bytes, spared=()) == 0
    max_bytes = full_bytes // 2
    expired = database.games.expire(before_ms=None, max_bytes=max_bytes)
    assert database.used_bytes() <= max_bytes
    assert min_count < expired < 600 - min_count, "hardly more than necessary"
    assert database.games.get(game_id(expired - 1)) is None
    assert database.games.get(game_id(expired)) is not None
    assert database.games.expire(before_ms=None, max_bytes=1) == 600 - expired, "it ends when no games are left"
    assert len(database.games.known_files("main")) == 600
    database.close()


@pytest.mark.trio
async def test_files_of_expired_games_are_not_read_again(tmp_path: Path) -> None:
    read: list[Path] = []

    def read_record(path: Path) -> GameRecord:
        read.append(path)
        return record(start(7))

    database = open_database(tmp_path / FILE_NAME)
    paths = [put(tmp_path / "recordings" / "wii" / f"{days}.slp", days) for days in (9, 5, 3)]
    stats = [path.stat() for path in paths]
    for number, (path, status) in enumerate(zip(paths, stats, strict=True)):
        indexed = entry(number, path=str(path))
        indexed.mtime_ns, indexed.size_bytes = status.st_mtime_ns, status.st_size
        database.games.add([indexed])
    index = GameIndex(database, read_record)
    hub, metrics = Hub(), registry.metrics()
    station = FakeStation("wii")
    station.write(station.begin(FakeLog(2)), 5)
    hub.add(station.channel)
    retention = Retention(
        tmp_path / "recordings", index, RunningStations(hub), metrics, look_seconds=0.01, wall_clock=lambda: NOW
    )
    sweeps = 0

    def limits() -> RecordingLimits:
        nonlocal sweeps
        sweeps += 1
        return RecordingLimits(max_age_days=7, max_size_bytes=0)

    def limits_of_games() -> Store:
        nonlocal sweeps
        sweeps += 1
        return Store(max_age_days=1, max_size_bytes=0)

    expire = partial(expire_games, index, hub, metrics, limits_of_games, look_seconds=0.01, wall_clock=lambda: NOW)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        nursery.start_soon(retention.run, limits)
        nursery.start_soon(expire)
        with trio.fail_after(20):
            while sweeps < 8:
                await trio.sleep(0.01)
            remaining = list(zip(paths, stats, strict=True))[1:]
            index.listed("main", [(path, status.st_mtime_ns, status.st_size) for path, status in remaining])
            while index.waiting_files:
                await trio.sleep(0.01)
            await index.written()
        assert [await index.game(game_id(number)) for number in (0, 1)] == [None, None]
        assert await index.game(game_id(2)) is not None, "a game in progress does not expire"
        assert read == []
        nursery.cancel_scope.cancel()
    assert [path.is_file() for path in paths] == [False, True, True]
    page = metrics.render().decode()
    assert "slpstream_deleted_recordings_total 1.0" in page
    assert "slpstream_deleted_recordings_bytes_total 10.0" in page
