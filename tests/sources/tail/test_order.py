"""A setup finishes one game before it begins the next: games are delivered in that order, regardless of the order of
the notifications.

A subscriber that resumes with a cursor in one game gets all later games after it. So the bytes written to the old file
before the new one was created must be delivered before those of the new file.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.model.errors import Vanished
from slpstream.sources.tail.events import Grew, Lost, Opened, TailEvent
from slpstream.sources.tail.notifications import Notifications
from tests.sources.tail.driver import Driver, append


@pytest.fixture
def notifications() -> Notifications:
    return Notifications(None)


@pytest.fixture
def driver(root: Path, notifications: Notifications) -> Iterator[Driver]:
    driver = Driver(root, notifications=notifications, read_bytes=64)
    driver.step()
    yield driver
    driver.close()


def begin(driver: Driver, notifications: Notifications, path: Path, data: bytes = b"head") -> None:
    """Begin a game and have all its bytes delivered."""
    append(path, data)
    notifications.add(str(path))
    driver.settle(0.001)
    assert bytes(driver.live()[path].data) == data


def delivered(events: list[TailEvent]) -> list[tuple[str, bytes]]:
    return [(event.file.path.name, event.data) for event in events if isinstance(event, Grew)]


def test_end_of_the_old_file_comes_first(root: Path, driver: Driver, notifications: Notifications) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(old, b"end")
    append(new, b"head of the new one")
    notifications.add(str(new))  # no notification about the end yet, and no tick is due
    assert delivered(driver.settle(0.001)) == [("old.slp", b"end"), ("new.slp", b"head of the new one")]


def test_old_file_that_keeps_growing_blocks_no_new_file(
    root: Path, driver: Driver, notifications: Notifications
) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(new, b"y")
    notifications.add(str(new))
    events: list[TailEvent] = []
    for _ in range(4):
        append(old, b"x" * 32)
        notifications.add(str(old))
        events += driver.step(0.001)
    assert ("new.slp", b"y") in delivered(events)


def test_new_file_waits_for_at_most_64_chunks(root: Path, driver: Driver, notifications: Notifications) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(old, b"x" * 64 * 200)
    append(new, b"y")
    notifications.add(str(new))
    names = [name for name, _ in delivered(driver.settle(0.001))]
    assert 60 < names.index("new.slp") < 70
    assert names.count("old.slp") == 200


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
@pytest.mark.parametrize("end", ["lost", "released"])
def test_old_file_that_is_lost_or_released_blocks_no_new_file(
    end: str, root: Path, driver: Driver, notifications: Notifications
) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(old, b"x" * 500)
    append(new, b"y")
    notifications.add(str(new))
    assert any(isinstance(event, Opened) for event in driver.step(0.001))
    assert not [name for name, _ in delivered(driver.step(0.001)) if name == "new.slp"]
    if end == "lost":
        old.unlink()
        notifications.add(str(old))
    else:
        driver.tail.release(driver.live()[old].file)
    events = driver.settle(0.001)
    assert ("new.slp", b"y") in delivered(events)
    assert ([event.error.code for event in events if isinstance(event, Lost)] == [Vanished.code]) == (end == "lost")


def test_files_found_together_are_opened_oldest_first(root: Path, driver: Driver, notifications: Notifications) -> None:
    for number in range(8):
        path = root / f"{(3 * number) % 8}.slp"
        append(path, b"%d" % number)
        os.utime(path, (number, number))
        notifications.add(str(path))
    assert [data for _, data in delivered(driver.settle(0.001))] == [b"%d" % number for number in range(8)]


@pytest.mark.parametrize("seed", range(10))
def test_games_in_order_with_random_notifications(
    seed: int, root: Path, driver: Driver, notifications: Notifications
) -> None:
    rng = random.Random(seed)
    events: list[TailEvent] = []
    written: list[tuple[str, bytes]] = []
    for game in range(6):
        path = root / f"game{rng.randrange(1000):03}_{game}.slp"
        for piece in range(rng.randrange(1, 8)):
            data = b"%d.%d " % (game, piece) * rng.randrange(1, 40)
            append(path, data)
            written.append((path.name, data))
            if rng.random() < 0.5:
                notifications.add(str(path))
            if rng.random() < 0.5:
                events += driver.step(rng.choice([0.0, 0.001, 0.05]))
        notifications.add(str(path))
    events += driver.settle()
    order = list(dict.fromkeys(name for name, _ in written))
    names = [name for name, _ in delivered(events)]
    assert set(names) == set(order)
    for name in order:
        whole = b"".join(data for other, data in written if other == name)
        assert b"".join(data for other, data in delivered(events) if other == name) == whole
    for older, newer in itertools.pairwise(order):
        opened = [event.file.path.name for event in events if isinstance(event, Opened)]
        if opened.index(older) < opened.index(newer):
            assert max(i for i, name in enumerate(names) if name == older) < names.index(newer)
