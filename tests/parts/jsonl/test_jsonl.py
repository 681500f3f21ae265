"""Files of JSON lines have the lines of `dump`, each once, despite full disks and kills."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock
from typing_extensions import Buffer

from slpstream.model.messages import FramesMode
from slpstream.model.topics import TOPICS, Topic
from slpstream.parts.jsonl.sink import JsonLinesSink
from tests.stream.fakes import FakeLog, FakeStation

pytestmark = pytest.mark.trio
ALL: frozenset[Topic] = frozenset(TOPICS)


class Disk:
    """A disk on which writes fail after `room` bytes; `None` is unlimited."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        self.truncates = True
        real_open = Path.open

        def opened(path: Path, mode: str = "r", **options: Any) -> Any:
            return FileOnDisk(path, self) if mode == "ab" else real_open(path, mode, **options)

        monkeypatch.setattr(Path, "open", opened)


class FileOnDisk(FileIO):
    """A file opened for appending on a `Disk`."""

    def __init__(self, path: Path, disk: Disk) -> None:
        super().__init__(path, "ab")
        self._disk = disk

    def write(self, data: Buffer) -> int:
        if self._disk.room is None:
            return super().write(data)
        taken = super().write(memoryview(data)[: self._disk.room])
        self._disk.room -= taken
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return taken

    def truncate(self, size: int | None = None) -> int:
        if not self._disk.truncates:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().truncate(size)


def sink(
    folder: Path, *, frames: FramesMode = "live", topics: frozenset[Topic] = ALL, written: list[int] | None = None
) -> JsonLinesSink:
    sizes = [] if written is None else written
    return JsonLinesSink(
        folder,
        stations=None,
        topics=topics,
        frames=frames,
        limiter=trio.CapacityLimiter(1),
        on_bytes=lambda station, size: sizes.append(size),
    )


def lines(folder: Path, log: FakeLog, station: str = "main") -> list[bytes]:
    return (folder / station / f"{log.game_id}.jsonl").read_bytes().splitlines(keepends=True)


def dumped(log: FakeLog, mode: FramesMode = "live", topics: frozenset[Topic] = ALL) -> list[bytes]:
    return [message.json() + b"\n" for message in log.whole(mode) if message.topic in topics]


async def run_sink(folder: Path, station: FakeStation, play: Callable[[], Any], **options: Any) -> None:
    """Run a sink while calling `play`, until everything has been written."""
    output = sink(folder, **options)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.follow, station.channel)
        await trio.sleep(1)
        play()
        await trio.sleep(5)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("frames", ["live", "finalized"])
@pytest.mark.parametrize("topics", [ALL, frozenset({"game", "stats"}), frozenset({"event"})])
async def test_file_equals_the_output_of_dump(
    tmp_path: Path, frames: FramesMode, topics: frozenset[Topic], clock: MockClock
) -> None:
    station, logs, counted = FakeStation(), [FakeLog(1), FakeLog(2)], list[int]()
    await run_sink(
        tmp_path,
        station,
        lambda: [station.play(log) for log in logs],
        frames=frames,
        topics=topics,
        written=counted,
    )
    expected = [dumped(log, frames, topics) for log in logs]
    assert [lines(tmp_path, log) for log in logs] == expected
    assert sum(counted) == sum(len(line) for part in expected for line in part)
    assert {path.name for path in tmp_path.glob("*/*")} == {f"{log.game_id}.jsonl" for log in logs}


async def test_kill_at_any_step_neither_loses_nor_repeats_a_line(tmp_path: Path, clock: MockClock) -> None:
    for seed in range(25):
        await run_with_kills(tmp_path, seed)


async def run_with_kills(folder: Path, seed: int) -> None:
    rng = random.Random(f"jsonl {seed}")
    logs = [FakeLog(100 * (seed + 1) + n, batches=rng.randint(1, 20)) for n in range(4)]
    name, played = f"seed{seed}", list[FakeLog]()
    frames: FramesMode = rng.choice(("live", "finalized"))
    for run in range(4):
        station = FakeStation(name, ring_bytes=rng.choice((1, 3000, 1 << 20)))
        station.archived(*played)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sink(folder, frames=frames).follow, station.channel)
            await trio.sleep(1)
            game = station.begin(logs[run])
            while station.write(game, rng.randint(1, 5)):
                await trio.sleep(rng.choice((0.0, 0.05, 0.3)))
                for _ in range(rng.randint(0, 6)):
                    await trio.lowlevel.checkpoint()
            await trio.sleep(0.3 if run == 0 else 0)
            nursery.cancel_scope.cancel()
        played.append(logs[run])
        newest = max((folder / name).glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        if rng.random() < 0.7:  # the last write is torn
            size = newest.stat().st_size
            os.truncate(newest, rng.randint(max(0, size - 800), size))
    station = FakeStation(name)
    station.archived(*played)
    await run_sink(folder, station, lambda: None, frames=frames)
    for log in logs:
        assert lines(folder, log, name) == dumped(log, frames), (seed, log.game_id)


@pytest.mark.parametrize(
    ("complete", "torn"),
    [
        (0, b'{"type":"game_start","ga'),
        (9, b'{"type":"fra'),
        (9, b"\x00" * 5000),
        (9, b'{"type":"frame"}\n'),
        (9, b"\n\n"),
        (9, b'"x"\n{"ty'),
    ],
)
async def test_incomplete_or_invalid_lines_are_cut_off(
    tmp_path: Path, complete: int, torn: bytes, clock: MockClock
) -> None:
    log = FakeLog(1)
    whole = dumped(log)
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / f"{log.game_id}.jsonl").write_bytes(b"".join(whole[:complete]) + torn)
    station = FakeStation()
    station.archived(log)
    await run_sink(tmp_path, station, lambda: None)
    assert lines(tmp_path, log) == whole


async def test_file_of_the_other_mode_is_renamed(tmp_path: Path, clock: MockClock) -> None:
    station, log = FakeStation(), FakeLog(1)
    game = station.begin(log)
    await run_sink(tmp_path, station, lambda: station.write(game, 9), frames="live")
    await run_sink(tmp_path, station, lambda: station.write_all(game), frames="finalized")
    assert lines(tmp_path, log) == dumped(log, "finalized")
    aside = tmp_path / "main" / f"{log.game_id}.live.jsonl"
    assert aside.read_bytes() == b"".join(m.json() + b"\n" for batch in log.batches[:9] for m in batch["live"])


async def test_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: MockClock) -> None:
    disk, station, log = Disk(monkeypatch), FakeStation(), FakeLog(1)
    output = sink(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.follow, station.channel)
        await trio.sleep(1)
        disk.room = 1000
        station.play(log)
        await trio.sleep(100)
        assert output.not_ready() == ["JSON lines: No space left on device (stations: main)"]
        before = lines(tmp_path, log) if any(tmp_path.glob("*/*")) else []
        assert before == dumped(log)[: len(before)]
        disk.room, disk.truncates = 700, False  # part of a line is written and cannot be removed
        await trio.sleep(100)
        disk.room, disk.truncates = None, True
        await trio.sleep(100)
        assert output.not_ready() == []
        nursery.cancel_scope.cancel()
    assert lines(tmp_path, log) == dumped(log)
