"""A setup ends a game before it begins the next one: in that order they are told, whatever is noticed first.

A subscriber that comes back says where it was in one game, and gets all later games after it. So what was written to
the old file before the new one was made has to be told before anything of the new one.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.model.errors import Vanished
from slpstream.sources.tail import Grew, Lost, Notifications, Opened, TailEvent
from tests.sources.tail.driver import Driver


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "replays"
    folder.mkdir()
    return folder


@pytest.fixture
def notifications() -> Notifications:
    return Notifications(None)


@pytest.fixture
def driver(root: Path, notifications: Notifications) -> Iterator[Driver]:
    driver = Driver(root, notifications=notifications, read_bytes=64)
    driver.step()
    yield driver
    driver.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)


def begin(driver: Driver, notifications: Notifications, path: Path, data: bytes = b"head") -> None:
    """A game that has begun, and of which all is known that was written."""
    append(path, data)
    notifications.add(str(path))
    driver.settle(0.001)
    assert bytes(driver.live()[path].data) == data


def told(events: list[TailEvent]) -> list[tuple[str, bytes]]:
    return [(event.file.path.name, event.data) for event in events if isinstance(event, Grew)]


def test_the_end_of_the_old_one_comes_first(root: Path, driver: Driver, notifications: Notifications) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(old, b"end")
    append(new, b"head of the new one")
    notifications.add(str(new))  # of the end nothing was hinted yet, and it is not time to look
    assert told(driver.settle(0.001)) == [("old.slp", b"end"), ("new.slp", b"head of the new one")]


def test_all_of_it_though_it_takes_many_looks(root: Path, driver: Driver, notifications: Notifications) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(old, b"x" * 1000)
    append(new, b"y" * 100)
    notifications.add(str(new))
    events = driver.settle(0.001)
    names = [name for name, _ in told(events)]
    assert names == sorted(names, reverse=True)
    assert b"".join(data for _, data in told(events)) == b"x" * 1000 + b"y" * 100


def test_several_that_come_at_once_come_in_their_order(
    root: Path, driver: Driver, notifications: Notifications
) -> None:
    old = root / "old.slp"
    begin(driver, notifications, old)
    append(old, b"x" * 300)
    for name in ("new1.slp", "new2.slp"):
        append(root / name, name.encode() * 20)
        notifications.add(str(root / name))
    names = list(dict.fromkeys(name for name, _ in told(driver.settle(0.001))))
    assert names[0] == "old.slp"
    assert set(names[1:]) == {"new1.slp", "new2.slp"}


def test_an_old_one_that_never_rests_holds_nobody_up(root: Path, driver: Driver, notifications: Notifications) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(new, b"y")
    notifications.add(str(new))
    events: list[TailEvent] = []
    for _ in range(4):
        append(old, b"x" * 32)
        notifications.add(str(old))
        events += driver.step(0.001)
    assert ("new.slp", b"y") in told(events)


@pytest.mark.parametrize("how", ["lost", "released"])
def test_one_that_is_not_followed_any_more_holds_nobody_up(
    how: str, root: Path, driver: Driver, notifications: Notifications
) -> None:
    old, new = root / "old.slp", root / "new.slp"
    begin(driver, notifications, old)
    append(old, b"x" * 500)
    append(new, b"y")
    notifications.add(str(new))
    assert any(isinstance(event, Opened) for event in driver.step(0.001))
    assert not [name for name, _ in told(driver.step(0.001)) if name == "new.slp"]
    if how == "lost":
        old.unlink()
        notifications.add(str(old))
    else:
        driver.tail.release(driver.live()[old].file)
    events = driver.settle(0.001)
    assert ("new.slp", b"y") in told(events)
    assert ([event.error.code for event in events if isinstance(event, Lost)] == [Vanished.code]) == (how == "lost")


@pytest.mark.parametrize("seed", range(10))
def test_game_after_game_with_hints_at_random(
    seed: int, root: Path, driver: Driver, notifications: Notifications
) -> None:
    chance = random.Random(seed)
    events: list[TailEvent] = []
    written: list[tuple[str, bytes]] = []
    for game in range(6):
        path = root / f"game{chance.randrange(1000):03}_{game}.slp"
        for piece in range(chance.randrange(1, 8)):
            data = b"%d.%d " % (game, piece) * chance.randrange(1, 40)
            append(path, data)
            written.append((path.name, data))
            if chance.random() < 0.5:
                notifications.add(str(path))
            if chance.random() < 0.5:
                events += driver.step(chance.choice([0.0, 0.001, 0.05]))
        notifications.add(str(path))
    events += driver.settle()
    order = list(dict.fromkeys(name for name, _ in written))
    whole = {name: b"".join(data for of, data in written if of == name) for name in order}
    came = [name for name, _ in told(events)]
    followed = list(dict.fromkeys(came))
    assert sorted(followed) == sorted(order)
    assert {name: b"".join(data for of, data in told(events) if of == name) for name in followed} == whole
    for older, newer in itertools.pairwise(order):
        opened = [event.file.path.name for event in events if isinstance(event, Opened)]
        if opened.index(older) < opened.index(newer):
            assert max(i for i, name in enumerate(came) if name == older) < came.index(newer)
