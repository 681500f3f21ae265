"""Growing files are read before any number of files that arrive whole.

In these tests a file is finished if it begins with `F`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.sources.tail.events import CaughtUp, Grew, Opened, TailEvent
from slpstream.sources.tail.notifications import Notifications
from tests.sources.tail.driver import REWRITABLE, Driver, append

FINISHED = b"F" * 5000
"""More than forty chunks of a tail in these tests."""
COPIES = 40


@pytest.fixture(params=["notified", "polled"])
def notifications(request: pytest.FixtureRequest) -> Notifications:
    notifications = Notifications(None if request.param == "notified" else "polling was asked for")
    notifications.strategy = "inotify" if request.param == "notified" else "polling"
    return notifications


@pytest.fixture
def driver(root: Path, notifications: Notifications) -> Iterator[Driver]:
    (root / "old").mkdir()
    driver = Driver(root, notifications=notifications, read_bytes=128, is_finished=is_finished)
    driver.step()
    yield driver
    driver.close()


def is_finished(name: str, head: bytes) -> bool:
    assert name.endswith(".slp")
    return head.startswith(b"F")


def write(notifications: Notifications, path: Path, data: bytes) -> None:
    append(path, data)
    notifications.add(str(path))


def copy_many(notifications: Notifications, folder: Path) -> None:
    for number in range(COPIES):
        write(notifications, folder / f"{number}.slp", FINISHED)


def delivered(events: list[TailEvent], path: Path) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, Grew) and event.file.path == path)


def release_finished(driver: Driver, events: list[TailEvent]) -> None:
    for event in events:
        if isinstance(event, CaughtUp) and event.file.arrived_whole:
            driver.tail.release(event.file)


def test_growth_is_read_in_the_next_pass(root: Path, driver: Driver, notifications: Notifications) -> None:
    live = root / "live.slp"
    write(notifications, live, b"live" * 8)
    driver.settle(0.001)
    copy_many(notifications, root / "old")
    for number in range(200):
        data = b"%4d" % number
        write(notifications, live, data)
        assert delivered(driver.step(0.001), live) == data


def test_new_file_does_not_wait_for_finished_ones(root: Path, driver: Driver, notifications: Notifications) -> None:
    copy_many(notifications, root / "old")
    for _ in range(5):
        driver.step(0.001)
    new = root / "new.slp"
    write(notifications, new, b"live" * 8)
    notifications.tree_changed()
    events = driver.step(0.1) + driver.step(0.1)
    assert delivered(events, new) == b"live" * 8


@pytest.mark.slow
def test_finished_files_are_read_one_after_the_other(root: Path, driver: Driver, notifications: Notifications) -> None:
    copy_many(notifications, root / "old")
    notifications.tree_changed()
    order: list[str] = []
    opened = most_open = 0
    while opened < COPIES or driver.tail.active:
        events = driver.step(0.001)
        sizes = [len(event.data) for event in events if isinstance(event, Grew)]
        assert sum(sizes) <= 16, "a part of a chunk, so that little time passes until growth is looked for"
        order += [event.file.path.name for event in events if isinstance(event, Grew)]
        opened += sum(isinstance(event, Opened) for event in events)
        most_open = max(most_open, len(driver.tail.active))
        release_finished(driver, events)
    assert most_open <= 16
    assert len([name for i, name in enumerate(order) if i == 0 or order[i - 1] != name]) == COPIES


def test_partial_header_is_judged_once_complete(root: Path, driver: Driver, notifications: Notifications) -> None:
    path = root / "copy.slp"
    write(notifications, path, FINISHED[: REWRITABLE - 1])
    notifications.tree_changed()
    driver.settle(0.001)
    assert not driver.only().file.arrived_whole
    write(notifications, path, FINISHED)
    driver.settle(0.001)
    assert driver.only().file.arrived_whole


def test_header_that_is_rewritten_later_does_not_count(
    root: Path, driver: Driver, notifications: Notifications
) -> None:
    path = root / "game.slp"
    write(notifications, path, b"live" * 8)
    notifications.tree_changed()
    driver.settle(0.001)
    with path.open("r+b", buffering=0) as file:
        file.write(b"F" * REWRITABLE)
    notifications.add(str(path))
    driver.settle(0.001)
    assert driver.only().rewritten == 1
    assert not driver.only().file.arrived_whole


def test_new_file_is_opened_once_it_has_bytes(root: Path, driver: Driver, notifications: Notifications) -> None:
    path = root / "copy.slp"
    write(notifications, path, b"")
    driver.settle(0.001)
    assert not driver.live() or notifications.degraded
    write(notifications, path, b"live" * 8)
    driver.settle(0.01)
    assert bytes(driver.only().data) == b"live" * 8
