"""Growth that nothing reports is found by looking at the sizes of open files, often only while a game runs."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from slpstream.sources.tail import size_polling
from slpstream.sources.tail.size_polling import (
    EXPECTING_INTERVAL_SECONDS,
    MAX_EXPECTING_SECONDS,
    MAX_INTERVAL_SECONDS,
    MIN_INTERVAL_SECONDS,
    Rhythm,
    SizePolling,
    interval_seconds,
)

pytestmark = pytest.mark.trio
DEADLINE = 10.0


class Listener:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.grown: list[str] = []

    def grew(self, path: str) -> None:
        self.grown.append(path)

    def changed(self, path: str) -> None:
        raise AssertionError

    def tree_changed(self) -> None:
        raise AssertionError


class OpenedFile:
    """A file as the tail has it open."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.file = path.open("rb")

        self.unchanged_at: list[float] = []

    def fileno(self) -> int:
        return self.file.fileno()

    def note_unchanged(self, at: float) -> None:
        self.unchanged_at.append(at)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def until(condition: Any) -> None:
    with trio.fail_after(DEADLINE):
        while not condition():
            await trio.sleep(0.001)


async def test_intervals_follow_the_quiet_time() -> None:
    intervals = [interval_seconds(quiet_seconds) for quiet_seconds in (0, 0.1, 0.5, 1, 5, 20, 1000)]
    assert intervals == sorted(intervals)
    assert intervals[:3] == [MIN_INTERVAL_SECONDS] * 3
    assert intervals[-2:] == [MAX_INTERVAL_SECONDS] * 2


def looks(growth: Sequence[float], until_seconds: float) -> tuple[list[float], list[float]]:
    """The moments of the looks at a file that grows at these moments, and how late each growth is found."""
    rhythm = Rhythm(0.0)
    moments, late = [], []
    now, looked_at, seen = 0.0, 0.0, 0
    while now < until_seconds:
        now += rhythm.pause_seconds(now) + 0.0002  # sleeping takes a little longer
        moments.append(now)
        grown = sum(moment <= now for moment in growth)
        if grown > seen:
            late += [now - moment for moment in growth[seen:grown]]
            seen = grown
            rhythm.grow(now, looked_at)
        looked_at = now
    return moments, late


async def test_regular_growth_is_expected() -> None:
    """At 60 frames a second a look finds each frame within a millisecond or two, with few looks."""
    moments, late = looks([frame / 60 for frame in range(1, 600)], 10)
    assert max(late[10:]) < 0.002
    assert len(moments) < 10 * 60 * 5


async def test_growth_out_of_turn_is_found_within_a_period_and_the_rhythm_again() -> None:
    frames = [frame / 60 for frame in range(1, 600)]
    shifted = [moment + (0.007 if moment > 5 else 0) for moment in frames]
    for moments in (shifted, [*frames[:300], *(moment + 0.06 for moment in frames[300:])]):
        _, late = looks(moments, 10)
        assert max(late[10:]) <= MAX_EXPECTING_SECONDS
        assert max(late[-200:]) < 0.002


@given(gaps=st.lists(st.floats(0.001, 0.2), min_size=1, max_size=100))
async def test_no_growth_is_found_much_later_than_a_frame(gaps: list[float]) -> None:
    moments = list(itertools.accumulate(gaps))
    _, late = looks(moments, moments[-1] + 1)
    assert len(late) == len(moments)
    assert max(late) <= MAX_EXPECTING_SECONDS + EXPECTING_INTERVAL_SECONDS


async def test_jitter_of_a_millisecond_keeps_the_rhythm() -> None:
    chance = random.Random(1)
    _, late = looks([frame / 60 + chance.uniform(0, 0.001) for frame in range(1, 600)], 10)
    assert sorted(late)[int(len(late) * 0.98)] < 0.003


async def test_growth_is_reported_for_followed_files_alone(tmp_path: Path) -> None:
    listener = Listener()
    polling = SizePolling(trio.lowlevel.current_trio_token())
    files = []
    for name in ("a", "b"):
        append(tmp_path / name, b"one")
        files.append(OpenedFile(tmp_path / name))
    a, b = files
    polling.follow(listener, a)
    polling.follow(listener, a)
    await until(lambda: listener.grown == [a.path])  # it may have grown before it was followed
    polling.follow(listener, b)
    await until(lambda: listener.grown == [a.path, b.path])
    for count in range(3, 8):
        append(tmp_path / "a", b"two")
        await until(lambda count=count: listener.grown == [a.path, b.path, *[a.path] * (count - 2)])
    now = trio.current_time()
    assert a.unchanged_at == sorted(a.unchanged_at)
    assert now - DEADLINE < a.unchanged_at[-1] < now
    a.path = "renamed"
    append(tmp_path / "a", b"three")
    await until(lambda: listener.grown[-1] == "renamed")
    polling.unfollow(a)
    polling.unfollow(a)
    a.file.close()
    append(tmp_path / "a", b"four")
    append(tmp_path / "b", b"four")
    await until(lambda: listener.grown[-1] == b.path)
    assert listener.grown[-2] == "renamed"
    await trio.to_thread.run_sync(polling.close)
    append(tmp_path / "b", b"five")
    polling.follow(listener, b)
    b.file.close()
    for path in (tmp_path / "a", tmp_path / "b"):
        path.unlink()  # nobody has it open any more


async def test_files_are_looked_at_more_rarely_the_longer_they_are_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that only sleeping moves, the looks are counted for a minute without growth, and in a game."""
    now = 0.0
    looks: list[float] = []
    path = tmp_path / "a"
    append(path, b"one")
    sizes = SimpleNamespace(bytes=1)

    def size_of(descriptor: int) -> int:
        looks.append(now)
        return int(sizes.bytes)

    monkeypatch.setattr(size_polling, "_size_of", size_of)

    def looks_within(seconds: float, *, growing: bool) -> int:
        nonlocal now
        looks.clear()
        end = now + seconds
        while now < end:
            sizes.bytes += growing
            if polled.due <= now:
                polled.look(now)
            now += 0.001
        return len(looks)

    file = OpenedFile(path)
    polled = size_polling._Polled(Listener(), file, now)
    assert 240 <= looks_within(1, growing=True) <= 250
    assert looks_within(60, growing=False) < 1000
    assert 9 <= looks_within(1, growing=False) <= 11
    os.close(polled.descriptor)
    file.file.close()


async def test_file_that_cannot_be_examined_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / "a", b"one")
    listener, file = Listener(), OpenedFile(tmp_path / "a")
    polling = SizePolling(trio.lowlevel.current_trio_token())

    def fail(descriptor: int) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(size_polling, "_size_of", fail)
    polling.follow(listener, file)
    await trio.sleep(0.05)
    assert listener.grown == []
    monkeypatch.undo()
    await until(lambda: listener.grown == [file.path])
    await trio.to_thread.run_sync(polling.close)
    file.file.close()


async def test_nothing_is_followed_without_threads_or_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path / "a", b"one")
    listener, file = Listener(), OpenedFile(tmp_path / "a")
    polling = SizePolling(trio.lowlevel.current_trio_token())

    def no_thread(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    def no_descriptor(descriptor: int) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("threading.Thread.start", no_thread)
        polling.follow(listener, file)
    with monkeypatch.context() as patched:
        patched.setattr(os, "dup", no_descriptor)
        polling.follow(listener, file)
    assert not polling._polled
    polling.follow(listener, file)
    await until(lambda: listener.grown == [file.path])
    await trio.to_thread.run_sync(polling.close)
    file.file.close()
