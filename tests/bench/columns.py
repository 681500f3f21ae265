"""A whole game as columns: bytes a second, beside peppi-py and slippi-js on the same files in the same run.

Three things are timed, in CPU time, each the best of some rounds, round by round in turns so that what else the machine
does hits all alike:

- `framing`: where every event of every frame is, from bytes in memory;
- `columns`: the file read, and every column of every character in the machine's byte order;
- peppi-py: `read_slippi`, which reads the file and makes Arrow arrays; its arrays as numpy arrays are counted as free.

slippi-js's `getFrames` from a buffer stands beside. The targets are ratios to peppi-py: geometric mean over the real
replays of more than 500 kB that it can read.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

from slpstream.api import open_replay
from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.frame_index import frame_index
from slpstream.formats.slippi.frames import Frames
from slpstream.formats.slippi.framing import read_event_payloads, width_of_event_payloads
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.simulate.match import synthetic_match
from tests.bench import slippi_js
from tests.bench.report import Figure, Form
from tests.shared_data import SLP

MIN_BYTES = 500_000
FRAMING_TARGET, COLUMNS_TARGET, EACH_TARGET, MEMORY_TARGET = 5.0, 3.0, 1.0, 3.0
_KEYS = {"frame", "player_index", "is_follower"}
"""Once for all in `frames.number`, and in the character; peppi-py has them once too."""
_ROUNDS_PER_RUN = 7
_WARM_UP_ROUNDS = 2


class Timed(NamedTuple):
    """One replay: best times in seconds, `None` for a peer that cannot read it or is not here."""

    name: str
    size_bytes: int
    framing: float
    columns: float
    peppi: float | None
    slippi_js: float | None

    def rate(self, seconds: float | None) -> str:
        """GB/s."""
        return "" if seconds is None else f"{self.size_bytes / seconds / 1e9:.2f}"


def all_columns(frames: Frames) -> int:
    """Touches every column of every character, but for those that say whose it is; how many there were."""
    count = len([frames.number])
    for character in frames.characters:
        for event in (character.pre, character.post):
            for name in event.fields:
                if name not in _KEYS:
                    count += event[name].ndim
    return count


def run(form: Form) -> list[Figure]:
    """Prints the table, and gives the ratios with their targets."""
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    paths = sorted(path for path in SLP.glob("*.slp") if path.stat().st_size > MIN_BYTES)
    timed = [_time(path, rounds) for path in (paths[3:5] if form.short else paths)] if paths else _synthetic(rounds)
    print(table(timed))
    memory = [_peak_per_byte(path) for path in (paths[3:4] if form.short else paths)]
    figures = [
        Figure("columns, peak memory, times the file, the worst replay", [max(memory, default=0.0)], "x", MEMORY_TARGET)
    ]
    beside = [one for one in timed if one.peppi is not None]
    if not beside:
        return [*figures, Figure("columns, ratio to peppi-py", [0.0], "x", None, "no peer: peppi-py is not installed")]
    framing = [one.peppi / one.framing for one in beside if one.peppi is not None]
    columns = [one.peppi / one.columns for one in beside if one.peppi is not None]
    over = f"geometric mean over {len(beside)} replays"
    return [
        *figures,
        Figure(
            "columns, framing alone, times peppi-py", [geometric_mean(framing)], "x", FRAMING_TARGET, over, least=True
        ),
        Figure(
            "columns, all of them, times peppi-py", [geometric_mean(columns)], "x", COLUMNS_TARGET, over, least=True
        ),
        Figure(
            "columns, all of them, the slowest replay", [min(columns)], "x", EACH_TARGET, "times peppi-py", least=True
        ),
    ]


def table(timed: Sequence[Timed]) -> str:
    """Every replay as a row of a Markdown table, GB/s."""
    lines = [
        "| replay | MB | framing GB/s | all columns GB/s | peppi-py GB/s | slippi-js GB/s | framing x | columns x |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in timed:
        ratios = ["", ""] if one.peppi is None else [f"{one.peppi / t:.1f}" for t in (one.framing, one.columns)]
        rates = [one.rate(seconds) for seconds in (one.framing, one.columns, one.peppi, one.slippi_js)]
        lines.append(" | ".join([f"| {one.name}", f"{one.size_bytes / 1e6:.2f}", *rates, *ratios]) + " |")
    return "\n".join(lines)


def _time(path: Path, rounds: int) -> Timed:
    data = path.read_bytes()
    at, limit, widths = _behind_game_start(data)
    ways: dict[str, Callable[[], Any]] = {
        "framing": lambda: frame_index(data, at, limit, widths),
        "columns": lambda: all_columns(open_replay(path).frames),
    }
    peppi = _peppi(path)
    if peppi is not None:
        ways["peppi"] = peppi
    best = dict.fromkeys(ways, math.inf)
    for turn in range(_WARM_UP_ROUNDS + rounds):
        for name, way in ways.items():
            began = time.process_time()
            way()
            took = time.process_time() - began
            if turn >= _WARM_UP_ROUNDS:
                best[name] = min(best[name], took)
    return Timed(path.stem, len(data), best["framing"], best["columns"], best.get("peppi"), _slippi_js(path, rounds))


def _behind_game_start(data: bytes) -> tuple[int, int, list[int]]:
    """Where the frames begin, where the raw array ends, and the widths of the events."""
    at = container.HEADER_BYTES
    width = width_of_event_payloads(data, at, at) or 0
    widths = read_event_payloads(data[at : at + width]).widths
    raw = container.raw_length(data[: container.HEADER_BYTES])
    limit = min(len(data), container.HEADER_BYTES + raw) if raw else len(data)
    return at + width + widths[GAME_START], limit, widths


def _peppi(path: Path) -> Callable[[], Any] | None:
    if find_spec("peppi_py") is None:
        return None
    peppi_py: Any = import_module("peppi_py")
    try:
        peppi_py.read_slippi(str(path))
    except (OSError, ValueError, RuntimeError):
        return None
    return lambda: peppi_py.read_slippi(str(path))


def _slippi_js(path: Path, rounds: int) -> float | None:
    return None if slippi_js.missing() else min(slippi_js.frames_seconds(path, min(rounds, 5)))


def _synthetic(rounds: int) -> list[Timed]:
    """Without the real replays: our own times on a match of our own making."""
    data = synthetic_match(seed=1, rollbacks=True)
    best = [math.inf, math.inf]
    for _ in range(rounds):
        ways: tuple[Callable[[], Any], ...] = (
            lambda: frame_index(data, *_behind_game_start(data)),
            lambda: all_columns(WholeGame(data).frames),
        )
        for i, way in enumerate(ways):
            began = time.process_time()
            way()
            best[i] = min(best[i], time.process_time() - began)
    return [Timed("synthetic", len(data), best[0], best[1], None, None)]


def _peak_per_byte(path: Path) -> float:
    """Peak of what a fresh process allocates for reading a replay with all columns, in sizes of the file."""
    script = (
        "import sys, tracemalloc\n"
        "from tests.bench.columns import all_columns\n"
        "from slpstream.api import open_replay\n"
        "all_columns(open_replay(sys.argv[1]).frames)\n"  # what the first use of numpy takes is not the replay's
        "tracemalloc.start()\n"
        "all_columns(open_replay(sys.argv[1]).frames)\n"
        "print(tracemalloc.get_traced_memory()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, check=True, text=True)
    return int(done.stdout) / path.stat().st_size
