"""Single cases of `FolderTail`, driven by hand: changes on disk and the resulting events.

Tests about notifications send them themselves; the others have none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slpstream.model.errors import Replaced, Truncated, Unreadable, Vanished
from slpstream.sources.tail import comparing, descriptor, scan, tailer
from slpstream.sources.tail.events import (
    CaughtUp,
    Grew,
    Lost,
    Opened,
    Rewritten,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
)
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import FileIdentity
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.scan import scan_tree
from slpstream.sources.tail.tailer import COARSE_SECONDS
from tests.sources.tail.driver import REWRITABLE, WALL_CLOCK, Driver, append

HEADER = b"{U\x03raw[$U#l\0\0\0\0"
FINAL = b"{U\x03raw[$U#l\0\0\x2f\xff"

Start = Callable[..., Driver]


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    drivers: list[Driver] = []

    def begin(root: Path = root, **options: object) -> Driver:
        driver = Driver(root, **options)  # type: ignore[arg-type]
        drivers.append(driver)
        return driver

    yield begin
    for driver in drivers:
        driver.close()


@pytest.fixture
def game(root: Path) -> Path:
    return write(root / "a.slp", HEADER + b"events")


@pytest.fixture
def driver(game: Path, start: Start) -> Driver:
    """A tail that has read the game. It polls."""
    driver = start()
    driver.settle()
    return driver


@pytest.fixture
def notifications() -> Notifications:
    return Notifications(None)


def write(path: Path, data: bytes, *, age: float = 0.0) -> Path:
    """Write a file whose modification time is `age` seconds before the driver's clock started."""
    path.write_bytes(data)
    set_mtime(path, -age)
    return path


def rewrite(path: Path, data: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        file.write(data)


def set_mtime(path: Path, seconds: float) -> None:
    """Set the modification time, in seconds after the driver's clock started."""
    os.utime(path, (WALL_CLOCK + seconds, WALL_CLOCK + seconds))


def of_kind(events: Iterable[object], *kinds: type) -> list[object]:
    return [event for event in events if isinstance(event, kinds)]


# The first scan.


def is_finished(name: str, head: bytes) -> bool:
    return head == FINAL


@pytest.mark.parametrize(
    ("ages", "format_known", "listed", "followed"),
    [
        ({"old": 61, "newer": 5, "new": 59}, False, {"old"}, ["new", "newer"]),
        ({"FINAL recent": 10}, True, set(), ["FINAL recent"]),
        # Times in the future are compared with each other, and show less than the format.
        ({"newest": -3600, "older": -3539}, False, {"older"}, ["newest"]),
        (
            {"FINAL 1": -3600, "FINAL 2": -3599, "running": -3600, "left": -3539, "local": 30},
            True,
            {"FINAL 1", "FINAL 2", "left"},
            ["local", "running"],
        ),
    ],
)
def test_first_scan_lists_old_files_and_follows_recent_ones(
    root: Path, start: Start, ages: dict[str, int], format_known: bool, listed: set[str], followed: list[str]
) -> None:
    contents = {name: (FINAL if "FINAL" in name else HEADER) + name.encode() for name in ages}
    for name, age in ages.items():
        write(root / f"{name}.slp", contents[name], age=age)
    driver = start(is_finished=is_finished if format_known else None)
    events = driver.step(0.0)
    assert isinstance(events[0], Scanned)
    assert {file.path.stem: file.size_bytes for file in events[0].files} == {n: len(contents[n]) for n in listed}
    opened = [event for event in events if isinstance(event, Opened)]
    assert [event.file.path.stem for event in opened] == followed
    assert all(event.existed for event in opened)
    assert isinstance(events[-1], Settled)
    assert {path.stem: bytes(record.data) for path, record in driver.live().items()} == {
        name: contents[name] for name in followed
    }
    assert len(driver.tail.listed) == len(listed)
    assert driver.root_present()


@pytest.mark.not_on_windows("Windows has no permission bits")
def test_unreadable_file_from_the_future_is_refused(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root / "a.slp", FINAL, age=-3600)

    def refuse(path: str, flags: int) -> int:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "open", refuse)
    driver = start(is_finished=is_finished)
    driver.step(0.0)
    assert [event.path for event in driver.refused] == [path]
    assert driver.settled


def test_infinite_idle_time_follows_every_file(root: Path, start: Start) -> None:
    write(root / "a.slp", b"x", age=1e9)
    assert of_kind(start(idle_seconds=float("inf")).step(), Opened)


def test_settled_comes_after_the_last_byte_of_files_in_progress(root: Path, start: Start) -> None:
    write(root / "a.slp", b"x" * 1000)
    write(root / "b.slp", b"y" * 10)
    driver = start(read_bytes=100)
    events: list[object] = []
    while not driver.settled:
        events += driver.step()
    assert bytes(driver.live()[root / "a.slp"].data) == b"x" * 1000
    assert [type(event) for event in events[-2:]] == [CaughtUp, Settled]


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
def test_settled_comes_even_if_an_initial_file_vanishes(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root / "a.slp", b"x")
    driver = start()
    real = os.open
    monkeypatch.setattr(os, "open", lambda *args: path.unlink(missing_ok=True) or real(*args))  # type: ignore[func-returns-value]
    assert [type(event) for event in driver.step()] == [Scanned, Settled]


def test_only_files_with_a_matching_suffix_are_followed(root: Path, start: Start) -> None:
    write(root / "a.txt", b"x")
    write(root / "a.SLP", b"x")
    (root / "folder.slp").mkdir()
    write(root / "folder.slp" / "b.slp", b"x")
    driver = start()
    driver.step()
    assert driver.live().keys() == {root / "a.SLP", root / "folder.slp" / "b.slp"}
    assert not driver.refused


@pytest.mark.not_on_windows("names of files are Unicode there")
def test_file_name_that_is_not_utf8(root: Path, start: Start) -> None:
    name = os.fsencode(root) + b"/\xff\xfe.slp"
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT)
    except OSError:
        pytest.skip("this file system has no such names")
    os.write(descriptor, b"abc")
    os.close(descriptor)
    driver = start()
    driver.step()
    assert bytes(driver.only().data) == b"abc"
    assert os.fsencode(driver.only().file.path) == name


# Growth.


def test_growth_is_found_with_a_notification_and_without(
    game: Path, start: Start, notifications: Notifications
) -> None:
    driver = start(notifications=notifications)
    driver.settle()
    append(game, b"more")
    assert driver.step(0.0) == [], "no tick is due, and there was no notification"
    notifications.grew(str(game))
    assert [type(event) for event in driver.step(0.0)] == [Grew]
    driver.step(10)
    append(game, b"more")
    assert [type(event) for event in driver.step()] == [Grew]


def test_tick_skips_files_that_were_just_read(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A growing file is read on each notification; other files wait at most one and a half ticks."""
    path = write(root / "a.slp", HEADER)
    other = write(root / "b.slp", HEADER)
    notifications = Notifications(None)
    driver = start(notifications=notifications)
    driver.settle()
    read: list[str] = []
    apply = tailer.FileTail.apply

    def record(self: tailer.FileTail, result: descriptor.ReadResult, now: float) -> list[TailEvent]:
        read.append(Path(self.path).name)
        return apply(self, result, now)

    monkeypatch.setattr(tailer.FileTail, "apply", record)
    for _ in range(54):
        append(path, b"x")
        notifications.grew(str(path))
        assert [type(event) for event in driver.step(1 / 60)] == [Grew]
    assert read.count("a.slp") == 54
    assert read.count("b.slp") in (7, 8, 9)
    append(other, b"x")
    append(path, b"x")
    assert {event.file.path.name for event in driver.step(0.15) if isinstance(event, Grew)} == {"a.slp", "b.slp"}


def test_polls_are_rare_while_no_notification_is_missed(root: Path, start: Start) -> None:
    path = write(root / "a.slp", HEADER)
    notifications = Notifications(None)
    driver = start(notifications=notifications)
    driver.settle()

    def grows(*, notified: bool) -> bool:
        append(path, b"x")
        if notified:
            notifications.grew(str(path))
        return any(isinstance(event, Grew) for event in driver.step(0.15))

    assert all(grows(notified=False) for _ in range(3))
    assert all(grows(notified=True) for _ in range(60))
    driver.step(1.0)
    append(path, b"x")
    notifications.grew(str(path))
    [grown] = [event for event in driver.step(0.0) if isinstance(event, Grew)]
    assert driver.now - grown.file.unchanged_at == pytest.approx(0.1), "earlier growth would have been notified"
    assert not grows(notified=False)
    assert any(isinstance(event, Grew) for event in driver.step(5.0))
    assert all(grows(notified=False) for _ in range(3)), "one was missed, so the file is polled again"


def test_polls_are_frequent_again_when_notifications_stop(root: Path, start: Start) -> None:
    path = write(root / "a.slp", HEADER)
    notifications = Notifications(None)
    driver = start(notifications=notifications)
    driver.settle()
    for _ in range(60):
        append(path, b"x")
        notifications.grew(str(path))
        driver.step(0.15)
    notifications.degraded = "the watcher has failed"
    driver.step(0.15)
    append(path, b"x")
    assert any(isinstance(event, Grew) for event in driver.step(0.15))


def test_caught_up_comes_again_after_a_backlog(root: Path, start: Start) -> None:
    path = write(root / "a.slp", b"x")
    driver = start(read_bytes=10)
    driver.settle()
    append(path, b"y" * 25)
    assert [type(event) for event in driver.settle()] == [Grew, Grew, Grew, CaughtUp]
    append(path, b"z" * 5)
    assert [type(event) for event in driver.settle()] == [Grew]


def test_files_take_turns_and_a_step_reads_about_one_chunk(root: Path, start: Start) -> None:
    for number in range(20):
        write(root / f"{number:02}.slp", b"x" * 300, age=20 - number)
    driver = start(read_bytes=100)
    order: list[str] = []
    for _ in range(80):
        read = [event for event in driver.step(0.0) if isinstance(event, Grew)]
        assert sum(len(event.data) for event in read) <= 100
        order += [event.file.path.stem for event in read]
    assert sorted(order[20:40]) == sorted(set(order)) == [f"{number:02}" for number in range(20)]
    assert {bytes(record.data) for record in driver.live().values()} == {b"x" * 300}


def test_many_new_files_are_opened_a_few_at_a_time(root: Path, start: Start) -> None:
    driver = start()
    driver.step()
    for number in range(50):
        write(root / f"{number:02}.slp", b"x")
    max_active = 0
    driver.step(6)
    for _ in range(10):
        max_active = max(max_active, len(driver.tail.active))
        for file in driver.tail.active:
            driver.tail.release(file)
        driver.step()
    assert max_active <= 16
    assert len(driver.tail.listed) == 50


# The header.


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (lambda game: None, [Rewritten]),
        (lambda game: append(game, b"metadata"), [Grew, Rewritten]),
        (lambda game: set_mtime(game, 0), [Rewritten]),
    ],
    ids=["alone", "with the last append", "without a new modification time"],
)
def test_rewritten_header_is_delivered(
    game: Path, driver: Driver, change: Callable[[Path], None], kinds: list[type]
) -> None:
    rewrite(game, FINAL)
    change(game)
    assert [type(event) for event in driver.step()] == kinds
    assert bytes(driver.only().data) == game.read_bytes()
    assert driver.step() == []


def test_any_change_is_an_error_without_rewritable_bytes(game: Path, start: Start) -> None:
    driver = start(rewritable_bytes=0)
    driver.settle()
    append(game, b"def")
    assert [type(event) for event in driver.settle()] == [Grew]
    rewrite(game, b"x")
    assert isinstance(driver.settle()[0], Lost)


# Changes that a log must not undergo.


def replace(game: Path) -> None:
    append(game, b", last words")
    write(game.with_name("new.tmp"), HEADER + b"new").replace(game)


def delete(game: Path) -> None:
    append(game, b", last words")
    game.unlink()


def delete_and_create(game: Path) -> None:
    game.unlink()
    write(game, HEADER + b"new")


def move_out(game: Path) -> None:
    append(game.rename(game.parent.parent / "away"), b", last words")


def move_out_and_create(game: Path) -> None:
    game.rename(game.parent.parent / "away")
    write(game, HEADER + b"new")


def write_again(size: int) -> Callable[[Path], object]:
    return lambda game: game.write_bytes((HEADER + b"other " * 1000)[:size])


_LAST_WORDS = HEADER + b"events, last words"


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
@pytest.mark.parametrize("notified", [True, False])
@pytest.mark.parametrize(
    ("change", "error", "read"),
    [
        (lambda game: os.truncate(game, 5), Truncated, HEADER + b"events"),
        # Bytes of another file are never mistaken for growth.
        *((write_again(size), Replaced, HEADER + b"events") for size in (21, 30, 5000)),
        (replace, Replaced, _LAST_WORDS),
        (delete, Vanished, _LAST_WORDS),
        (delete_and_create, Replaced, HEADER + b"events"),
        (move_out, Vanished, _LAST_WORDS),
        (move_out_and_create, Replaced, HEADER + b"events"),
    ],
)
def test_lost_file_gives_way_to_a_new_one_of_its_name(
    game: Path, start: Start, change: Callable[[Path], object], error: type, read: bytes, notified: bool
) -> None:
    """It is read to its end, unless it changes before."""
    notifications = Notifications(None)
    driver = start(notifications=notifications if notified else None)
    driver.settle()
    before = driver.only()
    change(game)
    events: list[TailEvent] = []
    if notified:
        notifications.grew(str(game))
        events += driver.step(0.0)
    events += driver.settle(6)
    assert type(before.error) is error
    assert bytes(before.data) == read
    assert len(driver.tail.listed) == 0
    if game.exists():
        assert len(of_kind(events, Opened)) == 1
        assert bytes(driver.only().data) == game.read_bytes()
        assert not driver.only().existed
    else:
        assert isinstance(events[-1], Lost)
        assert not driver.live()


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
def test_deletion_is_noticed_without_a_scan(game: Path, start: Start, notifications: Notifications) -> None:
    driver = start(notifications=notifications)
    driver.settle()
    driver.step(4)
    driver.step(0.1)
    game.unlink()
    for _ in range(3):
        driver.step(0.1)
    assert not driver.live(), "no scan was needed"


@pytest.mark.parametrize("reported", [("a.slp", "sub/b.slp"), ("sub/b.slp",), ()])
def test_rename_inside_the_folder_keeps_the_file(
    root: Path, game: Path, start: Start, notifications: Notifications, reported: tuple[str, ...]
) -> None:
    (root / "sub").mkdir()
    driver = start(notifications=notifications)
    driver.settle()
    record = driver.only()
    target = game.rename(root / "sub" / "b.slp")
    append(target, b"more")
    for name in reported:
        notifications.grew(str(root / name))
    assert [type(event) for event in driver.step(0.0 if reported else 6)] == [Grew]
    assert record.file.path == target
    append(target, b"!")
    assert [type(event) for event in driver.settle()] == [Grew]
    assert bytes(record.data) == target.read_bytes()
    assert driver.live() == {target: record}


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
def test_file_moved_away_after_its_name_was_taken_is_given_up_soon(game: Path, start: Start) -> None:
    """The scans that search for its new name are not delayed."""
    driver = start()
    driver.settle()
    before = driver.only()
    move_out_and_create(game)
    driver.settle()
    assert isinstance(before.error, Replaced)
    assert bytes(driver.only().data) == HEADER + b"new"


def test_two_files_swap_names(root: Path, start: Start) -> None:
    a, b = write(root / "a.slp", b"aaa"), write(root / "b.slp", b"bbb")
    driver = start()
    driver.settle()
    records = driver.live()
    a.rename(root / "t")
    b.rename(a)
    (root / "t").rename(b)
    append(a, b"B")
    append(b, b"A")
    events = driver.settle()
    assert not of_kind(events, Opened, Lost)
    assert records[a].file.path == b
    assert bytes(records[a].data) == b"aaaA"
    assert bytes(records[b].data) == b"bbbB"


@pytest.mark.not_on_windows("Wine does not make symbolic links as Windows has them")
def test_second_link_is_not_a_second_file(root: Path, game: Path, driver: Driver) -> None:
    record = driver.only()
    os.link(game, root / "b.slp")
    assert not driver.settle(6)
    assert record.file.path == game
    game.unlink()
    driver.settle(6)
    assert record.error is None
    assert record.file.path == root / "b.slp"


def test_two_new_links_to_one_file_are_one_file(root: Path, start: Start) -> None:
    os.link(write(root / "a.slp", b"x"), root / "b.slp")
    driver = start()
    driver.settle(6)
    assert len(driver.records) == 1


def test_second_link_to_a_listed_file_is_ignored(root: Path, start: Start) -> None:
    path = write(root / "a.slp", b"x", age=1000)
    driver = start()
    driver.settle()
    os.link(path, root / "b.slp")
    assert not driver.settle(6)


def test_read_error_loses_the_file_until_the_next_scan(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root / "a.slp", HEADER)
    driver = start()
    driver.settle()
    record = driver.only()

    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        for name in ("preadv", "pread", "read"):
            patch.setattr(os, name, broken, raising=False)
        append(path, b"more")
        driver.step()
    assert isinstance(record.error, Unreadable)
    assert not driver.settle(), "it is not opened again at once"
    driver.step(6)
    assert bytes(driver.only().data) == HEADER + b"more"


# Listed, released.


def test_listed_file_that_grows_is_opened(root: Path, start: Start) -> None:
    path = write(root / "old.slp", HEADER, age=1000)
    renamed = write(root / "old 2.slp", HEADER, age=1000)
    driver = start()
    driver.settle()
    append(path, b"more")
    driver.settle(6)
    assert driver.only().existed
    assert bytes(driver.only().data) == HEADER + b"more"
    append(renamed.rename(root / "new.slp"), b"more")
    driver.settle(6)
    assert not driver.live()[root / "new.slp"].existed, "a reused inode would look the same"
    assert len(driver.tail.listed) == 0


def test_listed_file_touched_or_renamed_stays_listed(root: Path, start: Start) -> None:
    path = write(root / "old.slp", HEADER, age=1000)
    driver = start()
    driver.settle()
    (listed,) = driver.scanned[0].files
    set_mtime(path, 0)
    driver.settle(6)
    assert driver.touched == [listed]
    path.rename(root / "sub.slp")
    assert not driver.settle(6)
    assert listed.path == root / "sub.slp"
    assert len(driver.tail.listed) == 1


def test_released_file_is_opened_again_only_when_it_changes(game: Path, driver: Driver) -> None:
    file = driver.only().file
    driver.tail.release(file)
    driver.tail.release(file)
    assert list(driver.tail.active) == []
    assert len(driver.tail.listed) == 1
    for _ in range(3):
        assert not driver.settle(6)
    set_mtime(game, 100)
    assert not driver.settle(6), "touched, but unchanged"
    rewrite(game, FINAL)
    driver.settle(6)
    assert driver.only().existed
    assert driver.only().file is not file
    assert bytes(driver.only().data) == FINAL + b"events"
    driver.tail.release(driver.only().file)
    append(game, b"!")
    driver.settle(6)
    assert driver.only().existed
    assert bytes(driver.only().data) == FINAL + b"events!"


def test_released_file_with_a_new_header_and_an_old_modification_time(game: Path, driver: Driver) -> None:
    driver.tail.release(driver.only().file)
    rewrite(game, FINAL)
    set_mtime(game, 0)
    driver.settle(COARSE_SECONDS + 0.1)
    assert bytes(driver.only().data) == FINAL + b"events"
    assert not driver.only().changed, "what was read after the header still holds"


@pytest.mark.parametrize("touch", [True, False], ids=["new mtime", "same mtime"])
@pytest.mark.parametrize("offset", [REWRITABLE, 600, 70_000, 199_999])
def test_released_file_that_was_changed_in_place_is_opened_again(
    root: Path, start: Start, offset: int, touch: bool
) -> None:
    """Its size stays the same, as for `rsync --inplace` and for files that get their size before their bytes."""
    content = bytearray(HEADER + bytes(200_000 - len(HEADER)))
    path = write(root / "a.slp", bytes(content))
    driver = start()
    driver.settle()
    set_mtime(path, 0)
    driver.settle()
    driver.tail.release(driver.only().file)
    content[offset] = 1
    with path.open("r+b") as file:
        file.write(content)
    set_mtime(path, 50 if touch else 0)
    driver.settle(COARSE_SECONDS + 0.1)
    assert bytes(driver.only().data) == content
    assert driver.only().changed


def test_slowly_filled_file_is_read_completely(root: Path, start: Start) -> None:
    content = HEADER + bytes(range(1, 256)) * 100
    path = write(root / "a.slp", bytes(len(content)))
    driver = start()
    driver.step()
    for at in range(0, len(content), 1000):
        with path.open("r+b") as file:
            file.seek(at)
            file.write(content[at : at + 1000])
        set_mtime(path, at / 1000)
        for file_ in list(driver.tail.active):
            driver.tail.stop_reading(file_)
            driver.tail.release(file_)
        driver.step(1.0)
    driver.settle(COARSE_SECONDS + 0.1)
    assert bytes(driver.only().data) == content


def test_damaged_file_that_keeps_changing_is_compared_every_few_seconds(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, path = exhausted(root, start)
    driver.tail.release(driver.only().file)
    compared: list[str] = []

    def noted(path: str, *given: Any) -> Any:
        compared.append(path)
        return tailer.change_of(path, *given)

    monkeypatch.setattr(comparing, "change_of", noted)
    for _ in range(100):
        append(path, b"more")
        driver.step(0.3)
    assert 5 <= len(compared) <= 12
    driver.settle(6)
    count = len(compared)
    driver.settle(6)
    assert len(compared) == count, "nothing is read of files that stay as they are"


@pytest.mark.trio
async def test_no_event_follows_a_release(game: Path, root: Path) -> None:
    """Not even an event from the same step as the event on which the consumer released the file."""
    tail = Driver(root, idle_seconds=float("inf")).tail
    delivered: list[type] = []
    async with tail:
        async for event in tail:
            delivered.append(type(event))
            if isinstance(event, Opened):
                tail.release(event.file)
            elif isinstance(event, Settled):
                break
    assert delivered == [Scanned, Opened, Settled]


# Exhausted.


def exhausted(root: Path, start: Start) -> tuple[Driver, Path]:
    """A tail that has read the first 64 bytes of a file of a terabyte, the rest of which does not matter."""
    path = root / "a.slp"
    write(path, HEADER + b"begin")
    os.truncate(path, 1 << 40)
    driver = start(read_bytes=64)
    driver.step()
    driver.tail.stop_reading(driver.only().file)
    driver.tail.stop_reading(driver.only().file)
    driver.settle()
    return driver, path


def test_exhausted_file_is_caught_up_and_not_read_further(root: Path, start: Start) -> None:
    driver, path = exhausted(root, start)
    assert len(driver.only().data) == 64
    assert driver.only().caught_up == 1
    assert driver.settled
    append(path, b"more")
    driver.settle(6)
    assert len(driver.only().data) == 64
    assert driver.only().file.size_bytes == (1 << 40) + 4


def test_new_file_does_not_wait_for_an_exhausted_one(root: Path, start: Start) -> None:
    write(root / "long.slp", b"x" * 10_000)
    driver = start(read_bytes=64)
    driver.step()
    long = driver.only()
    write(root / "new.slp", b"new")
    driver.step(6.0)
    driver.step()
    assert not driver.live()[root / "new.slp"].data, "it waits for the older file"
    driver.tail.stop_reading(long.file)
    driver.settle()
    assert bytes(driver.live()[root / "new.slp"].data) == b"new"


@pytest.mark.not_on_windows("Windows does not replace a file that is open")
@pytest.mark.parametrize("release", [False, True])
@pytest.mark.parametrize("change", ["other head", "truncated", "replaced"])
def test_replaced_exhausted_file_is_read(root: Path, start: Start, change: str, release: bool) -> None:
    driver, path = exhausted(root, start)
    record = driver.only()
    if release:
        driver.tail.release(record.file)
    if change == "other head":
        rewrite(path, HEADER + b"other")
    elif change == "truncated":
        os.truncate(path, 17)
    else:
        write(root / "new.tmp", b"new").replace(path)
    for _ in range(4):  # a file that is not exhausted would be read for ever
        driver.step(6)
    again = driver.only()
    assert again is not record
    with path.open("rb") as file:
        assert bytes(again.data[:17]) == file.read(17)


def test_released_exhausted_file_is_not_read_again_for_its_growth(root: Path, start: Start) -> None:
    driver, path = exhausted(root, start)
    driver.tail.release(driver.only().file)
    for _ in range(3):
        append(path, b"more")
        driver.settle(6)
    assert not driver.live()
    (listed,) = driver.tail.listed
    assert listed.size_bytes == (1 << 40) + 12
    path.rename(root / "b.slp")
    driver.settle(6)
    append(root / "b.slp", b"more")
    driver.settle(6)
    assert not driver.live(), "neither after it was renamed"
    os.truncate(root / "b.slp", 3)
    driver.settle(6)
    assert bytes(driver.only().data) == HEADER[:3]


def test_released_exhausted_file_is_compared_beyond_its_header(root: Path, start: Start) -> None:
    """A game that is written over a damaged file has the same header while it runs."""
    path = write(root / "a.slp", HEADER + b"damaged")
    driver = start()
    driver.step()
    driver.tail.stop_reading(driver.only().file)
    driver.settle()
    driver.tail.release(driver.only().file)
    path.write_bytes(HEADER + b"another game")
    driver.settle(6)
    assert bytes(driver.only().data) == HEADER + b"another game"


# Refused.


@pytest.mark.not_on_windows("folders have no named pipes there")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: os.mkfifo(path), "not a regular file"),  # not on Windows, where the name is missing
        (lambda path: path.symlink_to(path.parent.parent / "secret"), "a link out of the folder"),
        (lambda path: path.symlink_to(path), "a link to itself"),
    ],
    ids=["fifo", "link out", "loop"],
)
def test_non_files_are_refused_once(root: Path, start: Start, make: Callable[[Path], None], reason: str) -> None:
    write(root.parent / "secret", b"secret")
    make(root / "a.slp")
    driver = start()
    for _ in range(4):
        driver.settle(6)
    assert [(refused.path, refused.error.what) for refused in driver.refused] == [(root / "a.slp", reason)]
    (root / "a.slp").unlink()
    driver.settle(6)
    make(root / "a.slp")
    driver.settle(6)
    assert len(driver.refused) == 2, "it is another one"
    (root / "a.slp").unlink()
    write(root / "a.slp", b"x")
    driver.settle(6)
    assert bytes(driver.only().data) == b"x"


@pytest.mark.not_on_windows("Wine does not make symbolic links as Windows has them")
def test_link_inside_the_folder_is_followed(root: Path, start: Start) -> None:
    write(root / "data.bin", b"data")
    (root / "a.slp").symlink_to("data.bin")
    driver = start()
    driver.settle()
    append(root / "data.bin", b"more")
    driver.settle()
    assert bytes(driver.only().data) == b"datamore"


def test_links_to_folders_and_to_nothing_are_not_followed(root: Path, start: Start, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere" / "a.slp", b"x")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "up").symlink_to(root)
    (root / "nowhere.slp").symlink_to(root / "nothing")
    driver = start()
    driver.settle(6)
    assert not driver.live()
    assert not driver.refused


@pytest.mark.not_on_windows("Windows has no permission bits")
def test_unreadable_file_is_refused_until_permission_returns(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is injected, since the tests may run as root, who may read everything."""
    write(root / "a.slp", b"x")
    driver = start()
    real = os.open

    def refuse(*args: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    driver.settle()
    for _ in range(3):
        driver.settle(6)
    (refused,) = driver.refused
    assert isinstance(refused.error, Unreadable)
    assert refused.error.what == "Permission denied"
    assert driver.settled == 1
    monkeypatch.setattr(os, "open", real)
    driver.settle(6)
    assert bytes(driver.only().data) == b"x"
    monkeypatch.setattr(os, "open", refuse)
    os.truncate(root / "a.slp", 0)
    driver.settle(6)
    assert len(driver.refused) == 2


def test_scan_error_in_a_folder_loses_no_files(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "sub").mkdir()
    write(root / "sub" / "a.slp", b"x")
    write(root / "sub" / "b.slp", b"x", age=1000)
    driver = start(notifications=Notifications(None))
    driver.settle()
    real = os.scandir

    def scandir(path: str) -> object:
        if path == str(root / "sub"):
            raise OSError(errno.EIO, "Input/output error")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for _ in range(4):
        driver.settle(6)
    assert [refused.path for refused in driver.refused] == [root / "sub"]
    assert len(driver.live()) == 1
    assert len(driver.tail.listed) == 1
    monkeypatch.setattr(os, "scandir", real)
    driver.settle(6)
    assert len(driver.live()) == 1


# The root.


def test_root_created_later(tmp_path: Path, start: Start) -> None:
    root = tmp_path / "later"
    driver = start(root=root)
    assert driver.step() == [Scanned(()), Settled()]
    assert not driver.root_present()
    root.mkdir()
    write(root / "a.slp", b"x")
    write(root / "old.slp", b"y", age=1000)
    driver.settle(2)
    assert driver.root_present()
    assert not driver.only().existed
    assert bytes(driver.only().data) == b"x"
    assert [[file.path.name for file in scanned.files] for scanned in driver.scanned] == [[], ["old.slp"]]


@pytest.mark.parametrize("seconds_between", [0, 12])
def test_root_replaced_by_another_folder(
    root: Path, game: Path, driver: Driver, tmp_path: Path, seconds_between: int
) -> None:
    before = driver.only()
    append(game, b", last words")
    root.rename(tmp_path / "gone")
    for _ in range(seconds_between // 6):
        driver.settle(6)
        assert isinstance(before.error, Vanished)
        assert not driver.root_present()
        assert len(driver.tail.listed) == 0
    root.mkdir()
    write(game, b"new")
    write(root / "old.slp", HEADER, age=1000)
    driver.step(6)
    driver.step(0.1)
    assert before.error is not None
    assert bytes(before.data) == HEADER + b"events, last words"
    assert driver.root_present()
    assert bytes(driver.only().data) == b"new"
    assert not driver.only().existed
    assert len(driver.tail.listed) == 1


def test_root_that_is_a_file(tmp_path: Path, start: Start) -> None:
    write(tmp_path / "root", b"x")
    driver = start(root=tmp_path / "root")
    driver.settle(2)
    assert [refused.error.what for refused in driver.refused] == ["not a folder"]
    assert not driver.root_present()


@pytest.mark.parametrize("call", ["stat", "scandir"])
def test_root_with_temporary_errors(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    write(root / "a.slp", b"x")
    driver = start(notifications=Notifications(None))
    driver.settle()
    real = getattr(os, call)

    def fail(path: object, **options: object) -> object:
        if path == str(root):
            raise OSError(errno.EHOSTDOWN, "Host is down")
        return real(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        driver.settle(6)
        driver.settle(6)
    assert driver.only().error is None
    assert [refused.error.what for refused in driver.refused] == ["Host is down"]
    driver.settle(6)
    assert driver.only().error is None
    assert driver.root_present()


# New names.


@pytest.mark.parametrize("existed", [False, True])
def test_notification_about_a_file_that_is_not_open(
    root: Path, start: Start, notifications: Notifications, existed: bool
) -> None:
    if existed:
        write(root / "a.slp", b"x", age=1000)
    driver = start(notifications=notifications)
    driver.settle()
    append(root / "a.slp", b"y")
    notifications.grew(str(root / "a.slp"))
    notifications.grew(str(root / "a.txt"))
    assert [type(event) for event in driver.step(0.0)] == [Opened, Grew, CaughtUp]
    assert driver.only().existed == existed
    assert bytes(driver.only().data) == (b"xy" if existed else b"y")


def test_new_files_are_found_within_a_second_without_notifications(root: Path, start: Start) -> None:
    (root / "sub").mkdir()
    driver = start()
    driver.settle()
    driver.step(2)
    write(root / "sub" / "a.slp", b"x")
    driver.step(1)
    driver.step(0.1)
    assert bytes(driver.only().data) == b"x"


def test_too_many_notifications_become_a_rescan(root: Path) -> None:
    notifications = Notifications(None)
    for number in range(5000):
        notifications.grew(f"{number}.slp")
    touched = notifications.take()
    assert touched.rescan
    assert len(touched.paths) < 5000
    assert notifications.take() == (set(), False)


def test_path_is_the_identity_without_inodes(root: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (scan, tailer):
        monkeypatch.setattr(module, "identity_of", lambda status: FileIdentity(0, 0))
    path = write(root / "a.slp", b"aaa")
    write(root / "b.slp", b"bbb")
    driver = start()
    driver.settle()
    before = driver.live()
    assert bytes(before[path].data) == b"aaa"
    path.rename(root / "c.slp")
    driver.settle(2)
    driver.settle(2)
    assert isinstance(before[path].error, Vanished)
    assert bytes(driver.live()[root / "c.slp"].data) == b"aaa"
    os.truncate(root / "b.slp", 1)
    driver.settle()
    assert isinstance(before[root / "b.slp"].error, Truncated)
    path = root / "c.slp"
    record = driver.live()[path]
    away = path.rename(root / "away")
    driver.step()
    write(path, b"new")
    driver.settle()
    assert isinstance(record.error, Replaced)
    assert bytes(driver.live()[path].data) == b"new"
    assert away.exists()


@pytest.mark.not_on_windows("local files are read at once")
@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EAGAIN])
def test_reads_use_threads_where_they_would_wait(
    game: Path, start: Start, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """As on other systems and on tmpfs, where `preadv` fails, and for bytes that are not in memory."""

    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "preadv", fail, raising=False)
    driver = start(read_bytes=8)
    driver.settle()
    append(game, b"metadata")
    rewrite(game, FINAL)
    driver.settle()
    assert bytes(driver.only().data) == FINAL + b"eventsmetadata"
    monkeypatch.setattr(descriptor, "HAS_PREAD", False)
    append(game, b"!")
    driver.settle()
    assert bytes(driver.only().data) == FINAL + b"eventsmetadata!"
    game.unlink()
    record = driver.only()
    driver.settle()
    assert isinstance(record.error, Vanished)


def test_scan_reports_only_differences(root: Path) -> None:
    table = FileTable()
    for number in range(300):
        write(root / f"{number}.slp", b"x")
    first = scan_tree(str(root), (".slp",), table.known_files())
    table.reconcile(first.findings, table.next_version())
    listed: list[TailedFile] = []
    list(table.list_arrivals(first.findings, listed))
    assert len(listed) == 300
    append(root / "7.slp", b"y")
    second = scan_tree(str(root), (".slp",), table.known_files())
    assert second.findings.keys() == {str(root / "7.slp")}
    assert list(second.folders) == [str(root)]


def test_large_scans_let_other_tasks_run(root: Path, start: Start) -> None:
    count = 2000
    (root / "sub").mkdir()
    for number in range(count):
        write(root / "sub" / f"{number}.slp", b"x", age=1000)
    driver = start()
    driver.settle()
    assert len(driver.tail.listed) == count
    assert driver.threads.turns > 20
    (root / "sub").rename(root / "renamed")
    driver.settle(10.0)
    assert {file.path.parent.name for file in driver.tail.listed} == {"renamed"}
    assert len(driver.tail.listed) == count


def test_listing_is_rebuilt_only_after_changes(root: Path, start: Start) -> None:
    write(root / "a.slp", b"x", age=1000)
    driver = start()
    driver.settle(10.0)
    listing = driver.tail.listed
    driver.settle(10.0)
    assert driver.tail.listed is listing
    os.utime(root / "a.slp", (5, 5))
    driver.settle(10.0)
    assert driver.tail.listed is not listing
    assert [file.path.name for file in driver.touched] == ["a.slp"]
    assert [file.mtime_ns for file in driver.tail.listed] == [5 * 10**9]
    listing = driver.tail.listed
    (root / "a.slp").rename(root / "b.slp")
    driver.settle(10.0)
    assert driver.tail.listed is not listing
    assert [file.path.name for file in driver.tail.listed] == ["b.slp"]
