"""Unreported growth is found by polling the sizes of open files, frequently only while a game runs."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
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
)
from tests.sources.tail.driver import append

pytestmark = pytest.mark.trio
DEADLINE = 60.0


class Listener:
    """Records the reports."""

    def __init__(self) -> None:
        self.grown: list[str] = []

    def grew(self, path: str, now: float | None = None) -> None:
        self.grown.append(path)

    def changed(self, path: str) -> None:
        raise AssertionError

    def tree_changed(self) -> None:
        raise AssertionError


class OpenedFile:
    """A stand-in for an open file of the tail."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.file = path.open("rb")

        self.unchanged_at: list[float] = []

    def fileno(self) -> int:
        return self.file.fileno()

    def note_unchanged(self, at: float) -> None:
        self.unchanged_at.append(at)


async def until(condition: Any) -> None:
    with trio.fail_after(DEADLINE):
        while not condition():
            await trio.sleep(0.001)


def looks(growth: Sequence[float], until_seconds: float) -> tuple[list[float], list[float]]:
    """The times of the polls of a file that grows at these times, and the delay with which each growth is found."""
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
    """At 60 frames a second, few polls find each frame within a millisecond or two."""
    moments, late = looks([frame / 60 for frame in range(1, 600)], 10)
    assert max(late[10:]) < 0.002
    assert len(moments) < 10 * 60 * 5


async def test_quiet_files_are_polled_less_often() -> None:
    moments, _ = looks([0.5], 62)
    within = [sum(second <= moment < second + 1 for moment in moments) for second in (0, 1, 10, 60)]
    assert within == sorted(within, reverse=True)
    assert within[0] == pytest.approx(1 / MIN_INTERVAL_SECONDS, rel=0.1)
    assert within[-1] == pytest.approx(1 / MAX_INTERVAL_SECONDS, rel=0.1)
    assert len(moments) < 1300


async def test_irregular_growth_is_found_within_a_period() -> None:
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


async def test_growth_is_reported_only_for_followed_files(tmp_path: Path) -> None:
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
        path.unlink()  # no longer open


async def test_file_that_cannot_be_examined_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / "a", b"one")
    listener, file = Listener(), OpenedFile(tmp_path / "a")
    polling = SizePolling(trio.lowlevel.current_trio_token())
    tried: list[int] = []

    def fail(descriptor: int) -> int:
        tried.append(descriptor)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(size_polling, "size_of", fail)
    polling.follow(listener, file)
    await until(lambda: tried)
    await trio.testing.wait_all_tasks_blocked()
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
    polling.follow(listener, file)
    await until(lambda: listener.grown == [file.path])
    await trio.to_thread.run_sync(polling.close)
    file.file.close()
