"""Jumps to random frames of a running game of ten minutes: from the request to its frames.

The game is followed like a station does, without having been read back before. Each jump reads five seconds of frames,
reduced to the fields that the dashboard requests. The figures are wall-clock times, which viewers experience, and CPU
time, which does not include other work on the machine.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import trio

from slpstream.daemon.game_log import read_frames
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_reader import MODES, GrowingLogReader
from slpstream.game.pipeline import Pipeline
from slpstream.stream import Game
from slpstream.web.games import FieldPaths, FramesQuery
from tests.bench.games import FIRST_FRAME, EndlessGame
from tests.bench.report import Figure, Form

TARGET_MS = 100.0
_FRAMES, _SHORT_FRAMES = 36_000, 3_000
_JUMPS = 50
_SHOWN_FRAMES = 300
_FIELDS = FieldPaths(("post.positionX", "post.positionY", "post.percent", "post.actionStateId", "items"))
_READ_BYTES = 4096


def run(form: Form) -> list[Figure]:
    """The median and the worst jump of each run."""
    count = _SHORT_FRAMES if form.short else _FRAMES
    game = EndlessGame()
    data = game.head(7) + b"".join(game.frame(index) for index in range(count))
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as folder:
        path = Path(folder) / "Game_1.slp"
        path.write_bytes(data)
        taken = [trio.run(_jumps, path, data, count, seed) for seed in range(form.runs if not form.short else 1)]
    note = f"{len(data) / 1e6:.0f} MB, {_JUMPS} jumps"
    clock, cpu = ([sorted(jump[i] for jump in jumps) for jumps in taken] for i in (0, 1))
    return [
        Figure("jump in a running game, median", [times[len(times) // 2] for times in clock], "ms", TARGET_MS, note),
        Figure("jump in a running game, worst", [times[-1] for times in clock], "ms", TARGET_MS, note),
        Figure("jump in a running game, worst, CPU", [times[-1] for times in cpu], "ms", TARGET_MS, note),
    ]


async def _jumps(path: Path, data: bytes, count: int, seed: int) -> list[tuple[float, float]]:
    """Wall-clock time and CPU time of each jump, in milliseconds."""
    pipeline = Pipeline(SlippiReader(), MODES)
    pipeline.feed(data[:_READ_BYTES])
    assert pipeline.game_id is not None
    replay = GrowingLogReader(lambda: path, lambda: len(data), pipeline.game_id, trio.CapacityLimiter(4))
    for start in range(_READ_BYTES, len(data), _READ_BYTES):
        pipeline.feed(data[start : start + _READ_BYTES])
        replay.keep(pipeline)
    game = Game(pipeline.game_id, replay, ring_bytes=0, order=(1, 0, ""))
    rng, times = random.Random(seed), []
    for _ in range(_JUMPS):
        first = FIRST_FRAME + rng.randrange(count - 2 * _SHOWN_FRAMES)
        began, cpu_began = time.perf_counter(), time.process_time()
        found = await read_frames(game, FramesQuery(first, first + _SHOWN_FRAMES - 1, _SHOWN_FRAMES, _FIELDS))
        times.append(((time.perf_counter() - began) * 1e3, (time.process_time() - cpu_began) * 1e3))
        assert len(found.frames) == _SHOWN_FRAMES
    return times
