"""Stats: one frame through all computers, as in the daemon, and whole games compared with slippi-js in the same run.

- one frame: decoded final frames of two players fed one by one, with the events and the `stats` of every 60th frame;
  CPU time per frame;
- whole game: from bytes in memory to the stats at the end, compared with slippi-js's
  `new SlippiGame(buffer).getStats()`, which our `compat` reproduces. Wall-clock time for both, because slippi-js uses
  several threads and we use one. Medians over equally many rounds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.game import whole_stats
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.model.events import Event, Frame, FrameFinalized
from tests.bench import slippi_js
from tests.bench.games import replays
from tests.bench.report import Figure, Form

TARGET_MICROSECONDS = 15.0
MIN_RATIO = 3.0
_ROUNDS_PER_RUN = 5
_BLOCK_BYTES = 64 * 1024


def run(form: Form) -> list[Figure]:
    """Two figures for each replay."""
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    figures = []
    for name, data in list(replays().items())[: 1 if form.short else None]:
        figures += [_frame_by_frame(name, data, rounds), _whole_game(name, data, rounds)]
    return figures


def stats_of(data: bytes) -> Stats:
    """The stats of a whole game, as `Replay.stats` computes them."""
    stats = whole_stats(_batches(data))
    assert stats is not None
    return stats.stats()


def _batches(data: bytes) -> Iterator[list[Event]]:
    reader = SlippiReader()
    for start in range(0, len(data), _BLOCK_BYTES):
        yield reader.feed(data[start : start + _BLOCK_BYTES])
    yield reader.finish()


def _final_frames(data: bytes) -> tuple[Settings, list[tuple[Frame, int]]]:
    reader = SlippiReader()
    frames: list[tuple[Frame, int]] = []
    for event in [*reader.feed(data), *reader.finish()]:
        if isinstance(event, FrameFinalized):
            frames += [(frame, event.end_offset) for frame in event.frames]
    assert reader.settings is not None
    return reader.settings, frames


def _microseconds(settings: Settings, frames: list[tuple[Frame, int]]) -> float:
    stats = SlippiStats(settings)
    began = time.process_time()
    for frame, end_offset in frames:
        stats.feed(frame, end_offset)
    return (time.process_time() - began) / len(frames) * 1e6


def _frame_by_frame(name: str, data: bytes, rounds: int) -> Figure:
    settings, frames = _final_frames(data)
    values = [_microseconds(settings, frames) for _ in range(rounds)]
    note = f"{len(frames):,} frames"
    return Figure(f"stats, a frame, {name}", values, "µs CPU a frame", TARGET_MICROSECONDS, note)


def _whole_game(name: str, data: bytes, rounds: int) -> Figure:
    frames = stats_of(data).last_frame + 124
    ours = [_seconds(stats_of, data) for _ in range(rounds)]
    note = f"{frames:,} frames in {median(ours) * 1e3:.0f} ms"
    title = f"stats, whole game, {name}"
    reason = slippi_js.missing()
    if reason is not None:
        return Figure(title, [1e3 * seconds for seconds in ours], "ms", None, f"{note}; no peer: {reason}")
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as folder:
        replay = Path(folder) / "replay.slp"
        replay.write_bytes(data)
        theirs = median(slippi_js.stats_seconds(replay, rounds))
    note += f"; {slippi_js.name()} {theirs * 1e3:.0f} ms"
    return Figure(title, [theirs / seconds for seconds in ours], "x", MIN_RATIO, note, at_least=True)


def _seconds(compute: Callable[[bytes], Stats], data: bytes) -> float:
    began = time.perf_counter()
    compute(data)
    return time.perf_counter() - began
