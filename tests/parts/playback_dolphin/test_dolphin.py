"""Playback Dolphin's communication file: Dolphin notices and can play every write."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from slpstream.game.dolphin_queue import Clip, around, combos
from slpstream.parts.playback_dolphin.communication_file import CommunicationFile
from slpstream.parts.playback_dolphin.dolphin import UNREAD_SECONDS, PlaybackDolphin
from tests.parts.playback_dolphin.communication import CommunicationChecks
from tests.virtual_time import START, inline

SEEK_SPEED = 10.0


class Desk:
    """An output, the checks of all its writes, and the faults that a test can cause."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "playback.txt"
        self.checks = CommunicationChecks(self.path)
        self.kinds: list[str] = []
        self.failures = 0
        self.unwritable = False
        self.clock_was_set_seconds = 0.0
        self.was_read: bool | None = None
        """Whether Dolphin has read the file; `None` leaves it to the file system, whose clock is not virtual."""
        self.folder = folder
        self.output = self.start()

    def start(self) -> PlaybackDolphin:
        """Create a new output, as after a restart."""
        self.output = PlaybackDolphin(
            _File(self),
            limiter=trio.CapacityLimiter(1),
            seek_speed=SEEK_SPEED,
            on_write=self._written,
            on_failure=self._failed,
        )
        return self.output

    def _written(self, kind: str) -> None:
        self.kinds.append(kind)
        self.checks.take(trio.current_time())

    def _failed(self) -> None:
        self.failures += 1

    def replay(self, name: str) -> Path:
        path = self.folder / f"{name}.slp"
        path.write_bytes(b"a replay")
        return path

    def is_replaying(self) -> bool:
        return self.output.replaying

    def is_unread(self) -> bool:
        return self.output.unread

    @property
    def modes(self) -> list[str]:
        return [content["mode"] for content in self.checks.seen]


class _File(CommunicationFile):
    """The file on a disk that can be made read-only, with an adjustable clock."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.path, clock_ns=lambda: self._now_ns())
        self._desk = desk

    def _now_ns(self) -> int:
        return round(1e9 * (START + trio.current_time() + self._desk.clock_was_set_seconds))

    def was_read(self) -> bool | None:
        return super().was_read() if self._desk.was_read is None else self._desk.was_read

    def write(self, content: bytes) -> None:
        if self._desk.unwritable:
            raise PermissionError(13, "Permission denied")
        super().write(content)


@pytest.mark.trio
async def test_mirrors_replays_and_returns(tmp_path: Path, nursery: trio.Nursery, clock: MockClock) -> None:
    desk = Desk(tmp_path)
    nursery.start_soon(desk.output.run)
    game = desk.replay("game")
    desk.output.mirror(game, "main")
    await trio.sleep(0.5)
    assert desk.checks.seen[0] == {
        "mode": "mirror",
        "replay": str(game),
        "gameStation": "main",
        "outputOverlayFiles": True,
        "commandId": desk.checks.seen[0]["commandId"],
    }
    seconds = desk.output.replay(Clip(game, 477, 1077, "main"))
    assert seconds == pytest.approx(10 + 1 + 3), "its length, fast-forwarding ten seconds, loading"
    await trio.sleep(seconds)
    assert desk.modes == ["mirror", "normal"]
    assert (desk.checks.seen[1]["startFrame"], desk.checks.seen[1]["endFrame"]) == (477, 1077)
    assert desk.is_replaying()
    await trio.sleep(2)
    assert desk.modes == ["mirror", "normal", "mirror"]
    assert not desk.is_replaying()
    await trio.sleep(1000)
    assert len(desk.checks.seen) == 3, "nothing is written again"
    assert desk.kinds == ["mirror", "replay", "mirror"]


@pytest.mark.trio
async def test_fast_forwarding_begins_with_the_first_frame(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    clip = Clip(desk.replay("game"), 262433 + 600, 262433 + 1200, "main", 262433)
    assert desk.output.replay(clip) == pytest.approx(10 + 1 + 3)


@pytest.mark.trio
async def test_newest_request_wins(tmp_path: Path, nursery: trio.Nursery, clock: MockClock) -> None:
    desk = Desk(tmp_path)
    nursery.start_soon(desk.output.run)
    game, other = desk.replay("game"), desk.replay("other")
    desk.output.mirror(game)
    await trio.sleep(0.1)
    for last in (100, 200, 300):
        desk.output.replay(Clip(other, 0, last))
    await trio.sleep(3)
    assert [content.get("endFrame") for content in desk.checks.seen] == [None, 300]
    desk.output.replay(Clip(other, 0, 300))
    await trio.sleep(3)
    assert desk.checks.seen[2]["endFrame"] == 300, "the same moment once more"
    desk.output.end_replay()
    await trio.sleep(3)
    assert desk.modes == ["mirror", "normal", "normal", "mirror"]
    desk.output.replay(Clip(other, 0, 600))
    desk.output.end_replay()
    await trio.sleep(3)
    assert len(desk.checks.seen) == 4, "it had ended before the write"


@pytest.mark.trio
async def test_queue_between_sets(tmp_path: Path, nursery: trio.Nursery, clock: MockClock) -> None:
    desk = Desk(tmp_path)
    nursery.start_soon(desk.output.run)
    first, second = desk.replay("1"), desk.replay("2")
    desk.output.mirror(first)
    await trio.sleep(5)
    desk.output.mirror(None)
    await trio.sleep(5)
    assert desk.modes == ["mirror"], "Dolphin shows the end of the game"
    gone, backwards = Clip(tmp_path / "gone.slp", 0, 100), Clip(first, 100, 100)
    desk.output.queue([Clip(first, 10, 100, "main"), gone, backwards, Clip(second, -123, 50)])
    await trio.sleep(5)
    assert desk.checks.seen[1]["queue"] == [
        {"path": str(first), "startFrame": 10, "endFrame": 100, "gameStation": "main"},
        {"path": str(second), "startFrame": -123, "endFrame": 50, "gameStation": ""},
    ]
    desk.output.mirror(second)
    await trio.sleep(5)
    assert desk.modes == ["mirror", "queue", "mirror"]


@pytest.mark.trio
async def test_mirrored_game_continues_after_a_restart(tmp_path: Path, nursery: trio.Nursery, clock: MockClock) -> None:
    desk = Desk(tmp_path)
    game = desk.replay("game")
    async with trio.open_nursery() as first:
        first.start_soon(desk.output.run)
        desk.output.mirror(game, "main")
        await trio.sleep(1)
        first.cancel_scope.cancel()
    nursery.start_soon(desk.start().run)
    desk.output.mirror(game, "main")
    await trio.sleep(10)
    assert len(desk.checks.seen) == 1
    desk.output.replay(Clip(game, 0, 60))
    await trio.sleep(100)
    assert desk.modes == ["mirror", "normal", "mirror"]


@pytest.mark.trio
async def test_unwritable_folder(tmp_path: Path, nursery: trio.Nursery, clock: MockClock) -> None:
    desk = Desk(tmp_path)
    nursery.start_soon(desk.output.run)
    desk.unwritable = True
    desk.output.mirror(desk.replay("a"))
    await trio.sleep(60)
    last = desk.replay("b")
    desk.output.mirror(last)
    await trio.sleep(60)
    assert desk.output.not_ready() == [f"Playback Dolphin: {desk.path} cannot be written: Permission denied"]
    assert desk.failures > 10
    desk.unwritable = False
    await trio.sleep(10)
    assert [content["replay"] for content in desk.checks.seen] == [str(last)], "what is still true"
    assert desk.output.not_ready() == [] or desk.is_unread()


@pytest.mark.trio
async def test_dolphin_never_reads(tmp_path: Path, nursery: trio.Nursery, clock: MockClock) -> None:
    desk = Desk(tmp_path)
    desk.was_read = False
    nursery.start_soon(desk.output.run)
    await trio.sleep(100)
    assert not desk.is_unread(), "nothing was written yet"
    for name in "abc":
        desk.output.mirror(desk.replay(name))
        await trio.sleep(UNREAD_SECONDS)
    assert desk.is_unread()
    assert desk.output.not_ready() == [f"Playback Dolphin does not read {desk.path}"]
    desk.was_read = True
    await trio.sleep(10)
    assert desk.output.not_ready() == []


def test_reading_is_noticed_by_the_access_time(tmp_path: Path) -> None:
    file = CommunicationFile(tmp_path / "playback.txt")
    assert file.was_read() is None
    file.write(b"{}")
    if file.was_read() is None:
        pytest.skip("this file system keeps no access times")
    assert file.was_read() is False
    assert file.content() == b"{}"
    assert file.was_read() is True
    file.write(b"{}")
    assert file.was_read() is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["playback.txt"]


def test_clips_have_their_frames_in_order(tmp_path: Path) -> None:
    assert around(tmp_path, 1000, 1100) == Clip(tmp_path, 760, 1280)
    assert around(tmp_path, 0, 100, last_frame=150) == Clip(tmp_path, -123, 150)
    assert around(tmp_path, 1000, 1100, last_frame=700) is None
    assert around(tmp_path, 262500, 262600, first_frame=262433) == Clip(tmp_path, 262433, 262780, "", 262433)


def test_combos_are_written_like_clippi(tmp_path: Path) -> None:
    content = combos([Clip(tmp_path / "a.slp", 1, 2, "main")])
    assert content.startswith(b'{\n  "mode": "queue",\n  "replay": "",\n  "isRealTimeMode": false,')
    assert json.loads(content)["queue"] == [
        {"path": str(tmp_path / "a.slp"), "startFrame": 1, "endFrame": 2, "gameStation": "main"}
    ]


STEPS = st.one_of(
    st.tuples(st.just("mirror"), st.integers(0, 3)),
    st.tuples(st.just("replay"), st.integers(0, 3), st.integers(-200, 900), st.integers(-200, 900)),
    st.tuples(st.just("queue"), st.lists(st.tuples(st.integers(0, 3), st.integers(-130, 99)), max_size=3)),
    st.tuples(st.sampled_from(["game over", "end replay", "restart", "break disk", "repair disk"])),
    st.tuples(st.sampled_from(["remove", "create"]), st.integers(0, 3)),
    st.tuples(st.just("set clock"), st.floats(-5000, 5000)),
    st.tuples(st.just("wait"), st.floats(0, 30)),
)


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=40))
@example([("mirror", 0), ("wait", 0.5), ("restart",), ("set clock", 1.0)])
def test_random_afternoon(steps: list[tuple[Any, ...]]) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(trio.to_thread, "run_sync", inline)
        trio.run(_afternoon, steps, Path(folder), clock=MockClock(autojump_threshold=0))


async def _afternoon(steps: list[tuple[Any, ...]], folder: Path) -> None:
    desk = Desk(folder)
    paths = [desk.replay(str(number)) for number in range(4)]
    for run in itertools.count():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.output.run)
            rest = await _play(desk, paths, steps)
            if not rest and steps:
                await _check_the_end(desk, paths)
            nursery.cancel_scope.cancel()
        if not rest:
            break
        steps = rest
        desk.start()
        assert run < 100


async def _play(desk: Desk, paths: list[Path], steps: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Play the steps up to a restart, and return those after it."""
    for place, (step, *values) in enumerate(steps):
        if step == "mirror":
            desk.output.mirror(paths[values[0]])
        elif step == "game over":
            desk.output.mirror(None)
        elif step == "replay":
            desk.output.replay(Clip(paths[values[0]], values[1], values[2]))
        elif step == "end replay":
            desk.output.end_replay()
        elif step == "queue":
            desk.output.queue([Clip(paths[number], first, 50) for number, first in values[0]])
        elif step == "remove":
            paths[values[0]].unlink(missing_ok=True)
        elif step == "create":
            paths[values[0]].touch()
        elif step == "set clock":
            desk.clock_was_set_seconds = values[0]
        elif step == "wait":
            await trio.sleep(values[0])
        elif step == "restart":
            return steps[place + 1 :]
        else:
            desk.unwritable = step == "break disk"
    return []


async def _check_the_end(desk: Desk, paths: list[Path]) -> None:
    """Check that Dolphin mirrors the current game once the disk works and the queue is empty."""
    desk.unwritable = False
    for path in paths:
        path.touch()
    desk.output.mirror(desk.replay("last"))
    await trio.sleep(1000)
    assert desk.checks.seen[-1]["mode"] == "mirror"
    assert desk.checks.seen[-1]["replay"] == str(desk.folder / "last.slp")
