"""The controller check: one final frame of two players, as in the daemon, and a report about a whole game.

The replays are the benchmark replays with raw values of the sticks. No peer checks frame by frame.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Frame, final_frames
from slpstream.model.fields import parse_version
from slpstream.parts.controllers.check import ControllerCheck, player_types
from tests.bench.games import replays
from tests.bench.report import Figure, Form

_RAW_SINCE = (3, 15, 0)


def run(form: Form) -> list[Figure]:
    """Two figures for each replay."""
    figures = []
    for name, data in replays().items():
        settings, frames = _final_frames(data)
        if parse_version(settings.slp_version) < _RAW_SINCE:
            continue
        runs = [_measured(settings, frames) for _ in range(form.times)]
        a_frame, a_report = zip(*runs, strict=True)
        note = f"{len(frames):,} frames"
        figures += [
            Figure(f"controllers, one frame of a running game, {name}", a_frame, "µs", None, note),
            Figure(f"controllers, a report, {name}", a_report, "ms", None, note),
        ]
    return figures


def _final_frames(data: bytes) -> tuple[Settings, Sequence[Frame]]:
    reader = SlippiReader()
    frames = list(final_frames([*reader.feed(data), *reader.finish()]))
    assert reader.settings is not None
    return reader.settings, frames


def _measured(settings: Settings, frames: Sequence[Frame]) -> tuple[float, float]:
    """CPU time for a frame, in microseconds, and for the report after the last one, in milliseconds."""
    check = ControllerCheck(player_types(settings))
    began = time.process_time()
    for frame in frames:
        check.take(frame.number, frame.content)
    taken = time.process_time()
    check.report()
    return 1e6 * (taken - began) / len(frames), 1e3 * (time.process_time() - taken)
