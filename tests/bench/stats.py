"""Stats: one frame through all computers, as in the daemon, and whole games compared with slippi-js in the same run.

- one frame: decoded final frames of two players fed one by one, with the events and the `stats` of every 60th frame;
  CPU time per frame;
- whole game: from bytes in memory to the stats at the end, by columns if numpy is installed, compared with slippi-js's
  `new SlippiGame(buffer).getStats()`, which our `compat` reproduces. Wall-clock time for both, because slippi-js uses
  several threads and we use one. Medians over equally many rounds.

The path without numpy, which reads the events one by one, is timed as well.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.formats.slippi.stats.whole import WithoutEvents, whole_stats
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.game.pipeline import Deriver
from slpstream.model.events import Frame, FrameFinalized, GameStart
from tests.bench import slippi_js
from tests.bench.games import replays
from tests.bench.report import Figure, Form

TARGET_MICROSECONDS = 15.0
MIN_RATIO = 1.0
_ROUNDS_PER_RUN = 5
_BLOCK_BYTES = 64 * 1024


def run(form: Form) -> list[Figure]:
    """Two figures for each replay."""
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    figures = []
    for name, data in list(replays().items())[: 1 if form.short else None]:
        figures += [_frame_by_frame(name, data, rounds), _whole_game(name, data, rounds)]
    return figures


def by_columns(data: bytes) -> Stats:
    """The stats of a whole game, computed by columns."""
    stats = whole_stats(WholeGame(data))
    assert stats is not None, "the replays of the benchmark must have a regular end"
    return stats.stats()


def event_by_event(data: bytes) -> Stats:
    """The stats of a whole game without numpy, as `Replay.stats` computes them."""
    computed: list[SlippiStats] = []

    def make(start: GameStart) -> WithoutEvents:
        computed.append(SlippiStats(start.settings))
        return WithoutEvents(computed[0])

    reader, deriver = SlippiReader(), Deriver(make)
    for start in range(0, len(data), _BLOCK_BYTES):
        deriver.derive(reader.feed(data[start : start + _BLOCK_BYTES]))
    deriver.derive(reader.finish())
    return computed[0].stats()


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
    frames = by_columns(data).last_frame + 124  # the first use of numpy is not counted
    ours = [_seconds(by_columns, data) for _ in range(rounds)]
    slow = median(_seconds(event_by_event, data) for _ in range(rounds))
    note = f"{frames:,} frames in {median(ours) * 1e3:.0f} ms; without numpy {slow * 1e3:.0f} ms"
    title = f"stats, whole game, {name}"
    reason = slippi_js.missing()
    if reason is not None:
        return Figure(title, [1e3 * seconds for seconds in ours], "ms", None, f"{note}; no peer: {reason}")
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as folder:
        replay = Path(folder) / "replay.slp"
        replay.write_bytes(data)
        theirs = median(slippi_js.stats_seconds(replay, rounds))
    note += f"; {slippi_js.name()} {theirs * 1e3:.0f} ms, ratio without numpy {theirs / slow:.2f}"
    return Figure(title, [theirs / seconds for seconds in ours], "x", MIN_RATIO, note, at_least=True)


def _seconds(compute: Callable[[bytes], Stats], data: bytes) -> float:
    began = time.perf_counter()
    compute(data)
    return time.perf_counter() - began
