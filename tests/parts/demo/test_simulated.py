"""`write_replay`: the pace of the writes, the file that grows, cancellation and errors.

The tests use trio's autojump clock, which jumps when all tasks wait, so none takes real time. A worker thread counts as
waiting; tests in which another task has a deadline therefore use the `inline` fixture, which avoids the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.formats.slippi import container
from slpstream.model.errors import SourceError, WrongFormat
from slpstream.parts.demo.simulated import write_replay
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio

FRAMES = 240
GAME_SECONDS = FRAMES / 60


@pytest.fixture(scope="module")
def match() -> bytes:
    return synthetic_match(frames=FRAMES)


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the work of threads inline."""

    async def run_sync(work: Callable[..., Any], *args: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return work(*args)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_sync)


@pytest.mark.parametrize("writer", ["dolphin", "frame", "bytes:100", "random:1"])
async def test_finished_file_equals_replay(
    match: bytes, tmp_path: Path, autojump_clock: MockClock, writer: str
) -> None:
    target = tmp_path / "Game_1.slp"
    started_at = trio.current_time()
    await write_replay(match, target, writer=writer)
    assert target.read_bytes() == match
    assert GAME_SECONDS <= trio.current_time() - started_at + 1e-6 <= GAME_SECONDS + 0.1


async def test_speed(match: bytes, tmp_path: Path, autojump_clock: MockClock) -> None:
    started_at = trio.current_time()
    await write_replay(match, tmp_path / "fast.slp", writer="frame", speed=8)
    assert trio.current_time() - started_at == pytest.approx(GAME_SECONDS / 8)
    started_at = trio.current_time()
    await write_replay(match, tmp_path / "fastest.slp", writer="bytes:64", speed=0)
    assert trio.current_time() == started_at
    assert (tmp_path / "fastest.slp").read_bytes() == match


@pytest.mark.usefixtures("inline")
async def test_file_grows_during_the_game(match: bytes, tmp_path: Path, autojump_clock: MockClock) -> None:
    target = tmp_path / "Game_1.slp"
    seen: list[bytes] = []
    async with trio.open_nursery() as nursery:
        assert await nursery.start(lambda **kw: write_replay(match, target, **kw)) == target
        for _ in range(4):
            await trio.sleep(GAME_SECONDS / 5)
            seen.append(target.read_bytes())
    lengths = [len(content) for content in seen]
    assert lengths == sorted(set(lengths))
    assert lengths[0] > 0
    for content in seen:
        assert container.raw_length(content) == 0
        assert match[15:].startswith(content[15:])
    assert target.read_bytes() == match


@pytest.mark.usefixtures("inline")
async def test_file_is_empty_before_the_first_burst(match: bytes, tmp_path: Path, autojump_clock: MockClock) -> None:
    target = tmp_path / "Game_1.slp"
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda **kw: write_replay(match, target, **kw))
        assert target.read_bytes() == b""
        nursery.cancel_scope.cancel()


async def test_existing_file_is_not_overwritten(match: bytes, tmp_path: Path, autojump_clock: MockClock) -> None:
    target = tmp_path / "Game_1.slp"
    target.write_bytes(b"mine")
    with pytest.raises(SourceError, match=r"Game_1\.slp: already exists"):
        await write_replay(match, target)
    assert target.read_bytes() == b"mine"


async def test_missing_folder_is_an_error(match: bytes, tmp_path: Path, autojump_clock: MockClock) -> None:
    with pytest.raises(SourceError, match="cannot be written"):
        await write_replay(match, tmp_path / "nowhere" / "Game_1.slp")


async def test_invalid_arguments_create_no_file(match: bytes, tmp_path: Path, autojump_clock: MockClock) -> None:
    target = tmp_path / "Game_1.slp"
    with pytest.raises(WrongFormat):
        await write_replay(b"not a replay", target)
    with pytest.raises(ValueError, match="writer"):
        await write_replay(match, target, writer="pigeon")
    assert not target.exists()


@pytest.mark.usefixtures("inline")
async def test_cancelled_write_leaves_an_unfinished_file(
    match: bytes, tmp_path: Path, autojump_clock: MockClock
) -> None:
    target = tmp_path / "Game_1.slp"
    with trio.move_on_after(GAME_SECONDS / 2):
        await write_replay(match, target, writer="frame")
    left = target.read_bytes()
    assert container.raw_length(left) == 0
    assert 0 < len(left) < len(match)
    assert match[15:].startswith(left[15:])
