"""Single parts of the tail, in situations that are hard to reach with the whole: races, unusual file systems,
waiting."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import outcome
import pytest

from slpstream.model.errors import Replaced, Truncated
from slpstream.sources.tail import scan
from slpstream.sources.tail.descriptor import ReadResult
from slpstream.sources.tail.identity import FileIdentity, Head
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.scan import KnownFiles, Refusal, scan_tree
from slpstream.sources.tail.tailer import FileTail, open_file
from tests.sources.tail.driver import REWRITABLE, Driver, InlineThreads, append

T = TypeVar("T")


# The head of a file.


@pytest.mark.parametrize(
    ("found", "same"),
    [
        (b"0123456789abcdeXYZ", True),
        (b"###############XYZ", True),
        (b"###############XYZmore", True),
        (b"0123456789abcdeXY!", False),
        (b"0123456789abcdeXY", False),
        (b"0123456789", False),
        (b"", False),
    ],
)
def test_head_recognises_the_same_file(found: bytes, same: bool) -> None:
    assert Head(REWRITABLE).same_file(b"0123456789abcdeXYZ", found) is same


# One read and its comparison: changes between its system calls.


@pytest.fixture
def tail(tmp_path: Path) -> FileTail:
    path = tmp_path / "a.slp"
    path.write_bytes(b"header---------events")
    tail = open_file(str(path), str(tmp_path), REWRITABLE)
    assert isinstance(tail, FileTail)
    tail.apply(tail.read(100), 0.0)
    return tail


def test_file_that_shrinks_during_a_read(tail: FileTail) -> None:
    result = tail.read(100)
    with pytest.raises(Replaced):
        tail.apply(ReadResult(b"", result.head[:3], result.status), 0.0)
    with pytest.raises(Truncated):
        tail.apply(ReadResult(b"m", result.head, result.status), 0.0)
    assert tail.offset == 21
    tail.descriptor.close()
    tail.descriptor.close()


@pytest.mark.not_on_windows("folders have no named pipes there")
def test_fifo_that_takes_the_path_while_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"x")
    real = os.open

    def swap(target: str, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(target, flags)

    monkeypatch.setattr(os, "open", swap)
    assert open_file(str(path), str(tmp_path), REWRITABLE) == Refusal("not a regular file")


# Scans whose findings are out of date.


class LateThreads(InlineThreads):
    """Scans and comparisons run when they are started, but their results arrive when the test calls `finish`."""

    def __init__(self) -> None:
        super().__init__()
        self._deliveries: list[Callable[[], None]] = []

    def start(self, work: Callable[[], T], deliver: Callable[[outcome.Outcome[T]], None]) -> bool:
        result = outcome.capture(work)
        self._deliveries.append(lambda: deliver(result))
        return True

    def finish(self) -> None:
        while self._deliveries:
            self._deliveries.pop(0)()


@pytest.fixture
def notifications() -> Notifications:
    return Notifications(None)


@pytest.fixture
def threads() -> LateThreads:
    return LateThreads()


@pytest.fixture
def driver(tmp_path: Path, notifications: Notifications, threads: LateThreads) -> Iterator[Driver]:
    """A tail that has read a file of three bytes. Its scans are late."""
    append(tmp_path / "a.slp", b"one")
    driver = Driver(tmp_path, notifications=notifications, threads=threads)
    driver.step()
    assert not driver.scanned
    threads.finish()
    driver.settle()
    yield driver
    threads.finish()
    driver.close()


def test_outdated_scan_does_not_reopen_a_released_file(
    tmp_path: Path, driver: Driver, notifications: Notifications, threads: LateThreads
) -> None:
    driver.tail.release(driver.only().file)
    append(tmp_path / "a.slp", b"two")
    driver.step(6)
    notifications.grew(str(tmp_path / "a.slp"))
    driver.step()
    append(tmp_path / "a.slp", b"three")
    driver.step()
    driver.tail.release(driver.only().file)
    threads.finish()
    assert not driver.settle()
    assert len(driver.tail.listed) == 1


def test_outdated_scan_does_not_lose_a_renamed_file(tmp_path: Path, driver: Driver, threads: LateThreads) -> None:
    target = tmp_path / "b.slp"
    hidden = (tmp_path / "a.slp").rename(tmp_path / "hidden")
    driver.step(6)
    hidden.rename(target)
    threads.finish()
    driver.step()
    assert driver.only().error is None, "a single scan may miss it"
    driver.step(1)
    threads.finish()
    driver.step()
    assert driver.only().file.path == target
    assert driver.only().error is None


def test_files_are_read_while_a_scan_runs(tmp_path: Path, driver: Driver) -> None:
    driver.step(6)
    append(tmp_path / "a.slp", b"two")
    driver.step()
    assert bytes(driver.only().data) == b"onetwo"


# Links, inodes, folders.


def test_folder_that_contains_itself_is_scanned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Junctions and bind mounts make this possible; here every folder claims to be the root."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.slp").write_bytes(b"x")
    monkeypatch.setattr(scan, "identity_of", lambda _: FileIdentity(1, 1))
    nothing = KnownFiles({}, {}, frozenset())
    assert scan_tree(str(tmp_path), (".slp",), nothing).folders.keys() == {str(tmp_path)}


def test_folders_are_watched_before_their_names_are_listed(tmp_path: Path) -> None:
    """A name that appears in between is either listed or reported."""

    def watch_folder(folder: str) -> None:
        if folder == str(tmp_path):
            (tmp_path / "sub").mkdir()
        else:
            (tmp_path / "sub" / "a.slp").write_bytes(b"x")

    scan = scan_tree(str(tmp_path), (".slp",), KnownFiles({}, {}, frozenset()), watch_folder)
    assert scan.findings.keys() == {str(tmp_path / "sub" / "a.slp")}


def test_time_before_the_newest_bytes_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"one")
    os.utime(path, (10, 10))
    tail = open_file(str(path), str(tmp_path), REWRITABLE)
    assert isinstance(tail, FileTail)
    file = tail.file
    tail.apply(tail.read(100), 1.0)
    assert file.unchanged_at == -math.inf
    seen = []
    for now, noted in ((2.0, None), (3.0, 2.5), (4.0, 1.0)):
        if noted is not None:
            tail.note_unchanged(noted)
        with path.open("ab") as appended:
            appended.write(b"two")
        os.utime(path, (10 + now, 10 + now))
        tail.apply(tail.read(100), now)
        seen.append((file.unchanged_at, file.previous_mtime_ns / 1e9, file.mtime_ns / 1e9))
    assert seen == [(1.0, 10.0, 12.0), (2.5, 12.0, 13.0), (3.0, 13.0, 14.0)]
    with path.open("ab") as appended:
        appended.write(b"three")
    for now in (5.0, 6.0):  # one read is not enough
        tail.apply(tail.read(2), now)
        assert file.unchanged_at == 4
    tail.descriptor.close()
