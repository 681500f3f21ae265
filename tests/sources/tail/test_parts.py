"""The parts of the room by themselves, where the whole cannot be brought into the situation: races, odd file systems,
waiting."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import outcome
import pytest
import trio

from slpstream.model.errors import Replaced, Truncated
from slpstream.sources.tail import Notifications, Watcher, scan
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import PREFIX_BYTES, FileIdentity, Head
from slpstream.sources.tail.scan import Known, Refusal, scan_tree
from slpstream.sources.tail.tailer import FileTail, Look, open_file
from tests.sources.tail.driver import REWRITABLE, Driver, InLine

T = TypeVar("T")


# The head of a file.


def test_the_head_grows_up_to_its_limit_and_no_further() -> None:
    head = Head(REWRITABLE)
    assert head.limit == REWRITABLE + PREFIX_BYTES
    assert head.expected(b"a" * 10) == b"a" * 10
    assert head.expected(b"a" * 10_000) == b"a" * head.limit
    head.known = b"a" * head.limit
    assert head.expected(b"b") == head.known
    assert head.header == b"a" * REWRITABLE


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
def test_what_counts_as_the_same_file(found: bytes, same: bool) -> None:
    assert Head(REWRITABLE).same_file(b"0123456789abcdeXYZ", found) is same


# One look, judged: what can happen between its reads.


@pytest.fixture
def tail(tmp_path: Path) -> FileTail:
    path = tmp_path / "a.slp"
    path.write_bytes(b"header---------events")
    tail = open_file(str(path), str(tmp_path), REWRITABLE)
    assert isinstance(tail, FileTail)
    tail.absorb(tail.look(100), 0.0)
    return tail


def test_a_file_that_shrank_between_the_reads(tail: FileTail) -> None:
    look = tail.look(100)
    with pytest.raises(Replaced):
        tail.absorb(Look(b"", look.head[:3], look.status), 0.0)
    with pytest.raises(Truncated):
        tail.absorb(Look(b"more", look.head, look.status), 0.0)
    assert tail.offset == 21
    tail.close()
    tail.close()


def test_a_short_head_of_a_file_that_is_all_header(tmp_path: Path) -> None:
    (tmp_path / "a.slp").write_bytes(b"head")
    tail = open_file(str(tmp_path / "a.slp"), str(tmp_path), REWRITABLE)
    assert isinstance(tail, FileTail)
    look = tail.look(100)
    tail.absorb(look, 0.0)
    with pytest.raises(Replaced):
        tail.absorb(Look(b"", b"he", look.status), 0.0)
    tail.close()


def test_what_is_opened_was_a_file_only_a_moment_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"x")
    real = os.open

    def exchange(target: str, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(target, flags)

    monkeypatch.setattr(os, "open", exchange)
    assert open_file(str(path), str(tmp_path), REWRITABLE) == Refusal("not a regular file")


# Scans that are older than what they meet.


class Late(InLine):
    """A scan sees what there is when it begins, and is heard when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self._unheard: Callable[[], None] = lambda: None

    def start(self, work: Callable[[], T], deliver: Callable[[outcome.Outcome[T]], None]) -> None:
        seen = outcome.capture(work)
        self._unheard = lambda: deliver(seen)

    def finish(self) -> None:
        self._unheard()


def late(root: Path) -> tuple[Driver, Late, Notifications]:
    notifications = Notifications(None)
    driver = Driver(root, notifications=notifications)
    threads = Late()
    driver.tail._threads = threads
    driver.step()
    assert not driver.scanned
    threads.finish()
    driver.settle()
    return driver, threads, notifications


def test_an_old_scan_does_not_open_again_what_was_released_since(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"one")
    os.utime(path, (0, 0))
    driver, threads, notifications = late(tmp_path)
    path.write_bytes(b"onetwo")
    driver.step(6)
    notifications.grew(str(path))
    driver.step()
    path.write_bytes(b"onetwothree")
    driver.step()
    driver.tail.release(driver.only().file)
    threads.finish()
    assert not driver.settle()
    assert len(driver.tail.listed) == 1
    driver.close()


def test_an_old_scan_does_not_lose_what_was_renamed_since(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"one")
    driver, threads, _ = late(tmp_path)
    target = tmp_path / "b.slp"
    path.rename(tmp_path / "hidden")
    driver.step(6)
    (tmp_path / "hidden").rename(target)
    threads.finish()
    driver.step()
    assert driver.only().error is None, "one scan may miss it"
    driver.step(1)
    threads.finish()
    driver.step()
    assert driver.only().file.path == target
    assert driver.only().error is None
    driver.close()


def test_the_tail_goes_on_reading_beside_a_scan(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"one")
    driver, threads, _ = late(tmp_path)
    driver.step(6)
    path.write_bytes(b"onetwo")
    driver.step()
    assert bytes(driver.only().data) == b"onetwo"
    threads.finish()
    driver.close()


# Links, inodes, folders.


def test_two_links_that_arrive_together_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.slp").write_bytes(b"x")
    os.link(tmp_path / "a.slp", tmp_path / "b.slp")
    driver = Driver(tmp_path)
    driver.settle(6)
    assert len(driver.records) == 1
    driver.close()


def test_a_second_link_to_a_listed_file(tmp_path: Path) -> None:
    (tmp_path / "a.slp").write_bytes(b"x")
    os.utime(tmp_path / "a.slp", (0, 0))
    driver = Driver(tmp_path)
    driver.settle()
    os.link(tmp_path / "a.slp", tmp_path / "b.slp")
    assert not driver.settle(6)
    driver.close()


def test_a_listed_file_that_was_renamed_and_has_grown_is_a_new_one(tmp_path: Path) -> None:
    """An inode that is used again looks the same."""
    path = tmp_path / "a.slp"
    path.write_bytes(b"x")
    os.utime(path, (0, 0))
    driver = Driver(tmp_path)
    driver.settle()
    path.rename(tmp_path / "b.slp").write_bytes(b"xy")
    driver.settle(6)
    assert not driver.only().existed
    assert len(driver.tail.listed) == 0
    driver.close()


def test_a_folder_that_contains_itself_is_scanned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Junctions and bind mounts can do that; here every folder claims to be the root."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.slp").write_bytes(b"x")
    monkeypatch.setattr(scan, "identity_of", lambda _: FileIdentity(1, 1))
    nothing = Known({}, {}, frozenset())
    assert scan_tree(str(tmp_path), (".slp",), nothing).folders.keys() == {str(tmp_path)}


def test_a_catalogue_forgets() -> None:
    catalogue = FileTable()
    assert catalogue.refuse("a.slp", Refusal("no"))
    assert not catalogue.refuse("a.slp", Refusal("no"))
    assert catalogue.refuse("a.slp", Refusal("never"))
    assert catalogue.is_taken("a.slp")
    catalogue.reconcile({"a.slp": None}, 1)
    assert not catalogue.is_taken("a.slp")
    assert catalogue.refuse("a.slp", Refusal("no"))
    assert catalogue.unlist("b.slp") is None


# Hints.


@pytest.mark.trio
async def test_waiting_for_hints(autojump_clock: trio.testing.MockClock) -> None:
    notifications = Notifications(None)
    began = trio.current_time()
    notifications.ring()
    await notifications.wait(trio.current_time() + 5)
    assert trio.current_time() == began
    await notifications.wait(trio.current_time() + 5)
    assert trio.current_time() == began + 5
    notifications.grew("a.slp")
    await notifications.wait(trio.current_time() + 5)
    await notifications.wait(trio.current_time() + 5)
    assert trio.current_time() == began + 5, "what was not taken is not waited for"
    notifications.take()
    await notifications.wait(trio.current_time() + 5)
    assert trio.current_time() == began + 10


@pytest.mark.trio
@pytest.mark.parametrize("how", ["replaced", "made again", "the same"])
async def test_a_root_is_watched_as_what_it_is_now(tmp_path: Path, how: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with Watcher() as watcher:
        notifications = watcher.watch(root)
        await trio.to_thread.run_sync(notifications.refresh)
        if how == "replaced":
            root.rename(tmp_path / "moved")
        elif how == "made again":
            shutil.rmtree(root)
        with trio.fail_after(10):
            if how == "made again":
                await notifications.wait(trio.current_time() + 10)
                assert notifications.take().rescan
            root.mkdir(exist_ok=True)
            await trio.to_thread.run_sync(notifications.refresh)
            assert notifications.degraded is None
            (root / "a.slp").write_bytes(b"x")
            while str(root / "a.slp") not in notifications.take().paths:
                await notifications.wait(trio.current_time() + 10)
