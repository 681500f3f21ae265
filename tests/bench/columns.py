"""Whole games as columns: throughput, compared with peppi-py and slippi-js on the same files in the same run.

What users call is `open_replay(path).frames.to_arrow()`. It is compared with `read_slippi` of the faster of two peers,
peppi-py and peppi-py-vladfi, which also reads the file and makes Arrow arrays. Both install the module `peppi_py`, so
the second goes to a folder of its own, which an environment variable names:

    pip install --no-deps --target FOLDER peppi-py-vladfi==0.9.2
    SLPSTREAM_PEPPI_VLADFI=FOLDER python -m tests.bench columns

The targets are ratios: the geometric mean and the worst over the real replays of more than 500 kB, and the worst of all
that the peers can read.

Its parts are timed as well. All figures are CPU time, and the best of several rounds; the operations take turns, so
that other load on the machine affects all alike:

- `framing`: locate every event of every frame, from bytes in memory;
- `columns`: read the file and every column of every character in the machine's byte order;
- peppi-py: `read_slippi`, which reads the file and makes Arrow arrays; converting them to numpy is not counted.

slippi-js's `getFrames` from a buffer is timed for comparison. The targets of the parts are ratios to peppi-py: the
geometric mean over the real replays of more than 500 kB that it can read.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
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
from slpstream.model.errors import FormatError
from tests.bench import slippi_js
from tests.bench.report import Figure, Form
from tests.replays import SLP
from tests.synthetic.match import synthetic_match

MIN_BYTES = 500_000
FRAMING_TARGET, COLUMNS_TARGET, EACH_TARGET, MEMORY_TARGET = 5.0, 3.0, 1.0, 3.0
ARROW_TARGET, ARROW_LARGE_TARGET, ARROW_ANY_TARGET = 3.0, 2.5, 1.0
VLADFI = "SLPSTREAM_PEPPI_VLADFI"
"""Names the folder with peppi-py-vladfi."""
_KEYS = {"frame", "player_index", "is_follower"}
"""Not read per event: they are in `frames.number` and in the character. peppi-py has them only once as well."""
_ROUNDS_PER_RUN = 7
_WARM_UP_ROUNDS = 2


class Timed(NamedTuple):
    """One replay: best times in seconds; `None` for a peer that cannot read it or is not installed."""

    name: str
    size_bytes: int
    framing: float
    columns: float
    peppi: float | None
    slippi_js: float | None

    def rate(self, seconds: float | None) -> str:
        """Throughput in GB/s; empty for `None`."""
        return "" if seconds is None else f"{self.size_bytes / seconds / 1e9:.2f}"


class Tables(NamedTuple):
    """One replay as Arrow tables: its size, and the best times in seconds of ours and of the peers that can read it."""

    name: str
    size_bytes: int
    ours: float
    peers: dict[str, float]

    @property
    def ratio(self) -> float:
        """How many times as fast as the faster peer we are."""
        return min(self.peers.values()) / self.ours


def all_columns(frames: Frames) -> int:
    """Read every column of every character, except those that identify it. Returns the number of columns."""
    count = len([frames.number])
    for character in frames.characters:
        for event in (character.pre, character.post):
            for name in event.fields:
                if name not in _KEYS:
                    count += event[name].ndim
    return count


def run(form: Form) -> list[Figure]:
    """Print a table of all replays, and return the ratios with their targets."""
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    paths = sorted(path for path in SLP.glob("*.slp") if path.stat().st_size > MIN_BYTES)
    timed = [_time(path, rounds) for path in (paths[3:5] if form.short else paths)] if paths else _synthetic(rounds)
    print(table(timed))
    arrow = _arrow_figures(form, rounds)
    memory = [_peak_per_byte(path) for path in (paths[3:4] if form.short else paths)]
    figures = [
        *arrow,
        Figure(
            "columns, peak memory, times the file, the worst replay", [max(memory, default=0.0)], "x", MEMORY_TARGET
        ),
    ]
    compared = [one for one in timed if one.peppi is not None]
    if not compared:
        return [*figures, Figure("columns, ratio to peppi-py", [0.0], "x", None, "no peer: peppi-py is not installed")]
    framing = [one.peppi / one.framing for one in compared if one.peppi is not None]
    columns = [one.peppi / one.columns for one in compared if one.peppi is not None]
    over = f"geometric mean over {len(compared)} replays"
    return [
        *figures,
        Figure(
            "columns, framing alone, times peppi-py",
            [geometric_mean(framing)],
            "x",
            FRAMING_TARGET,
            over,
            at_least=True,
        ),
        Figure(
            "columns, all of them, times peppi-py", [geometric_mean(columns)], "x", COLUMNS_TARGET, over, at_least=True
        ),
        Figure(
            "columns, all of them, the slowest replay",
            [min(columns)],
            "x",
            EACH_TARGET,
            "times peppi-py",
            at_least=True,
        ),
    ]


def table(timed: Sequence[Timed]) -> str:
    """A Markdown table with a row for each replay."""
    lines = [
        "| replay | MB | framing GB/s | all columns GB/s | peppi-py GB/s | slippi-js GB/s | framing x | columns x |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in timed:
        ratios = ["", ""] if one.peppi is None else [f"{one.peppi / t:.1f}" for t in (one.framing, one.columns)]
        rates = [one.rate(seconds) for seconds in (one.framing, one.columns, one.peppi, one.slippi_js)]
        lines.append(" | ".join([f"| {one.name}", f"{one.size_bytes / 1e6:.2f}", *rates, *ratios]) + " |")
    return "\n".join(lines)


def _arrow_figures(form: Form, rounds: int) -> list[Figure]:
    """Print a table of all replays that a peer can read, and return the ratios with their targets."""
    peers = [peer for peer in (_peppi_py(), _vladfi()) if peer is not None]
    paths = sorted(SLP.glob("*.slp"))
    timed = [_time_tables(path, rounds, peers) for path in (paths[3:5] if form.short else paths)]
    compared = [one for one in timed if one is not None and one.peers]
    large = [one.ratio for one in compared if one.size_bytes > MIN_BYTES]
    if not large:
        return [Figure("to_arrow, ratio to the peers", [0.0], "x", None, "no peer or no replays")]
    print("| replay | MB | to_arrow ms | " + " ms | ".join(peer.__name__ for peer in peers) + " ms | x |")
    print("| --- " * (4 + len(peers)) + "|")
    for one in compared:
        times = [one.ours, *(one.peers.get(peer.__name__, math.nan) for peer in peers)]
        cells = [one.name, f"{one.size_bytes / 1e6:.2f}", *(f"{t * 1e3:.2f}" for t in times), f"{one.ratio:.2f}"]
        print("| " + " | ".join(cells) + " |")
    among = "times the faster of " + " and ".join(peer.__name__ for peer in peers)
    every = [one.ratio for one in compared]
    rows = (
        (f"geometric mean over {len(large)} replays over 500 kB", geometric_mean(large), ARROW_TARGET),
        ("the slowest of these", min(large), ARROW_LARGE_TARGET),
        (f"the slowest of all {len(every)}", min(every), ARROW_ANY_TARGET),
    )
    return [Figure(f"to_arrow, {what}", [x], "x", target, among, at_least=True) for what, x, target in rows]


def _time_tables(path: Path, rounds: int, peers: Sequence[Any]) -> Tables | None:
    """The best times for a replay; `None` if we cannot read it."""
    operations: dict[str, Callable[[], Any]] = {"ours": lambda: open_replay(path).frames.to_arrow()}
    try:
        operations["ours"]()
    except FormatError:
        return None
    for peer in peers:
        if _can_read(peer, path):
            operations[peer.__name__] = partial(peer.read_slippi, str(path))
    best = _best_times(operations, rounds)
    return Tables(path.stem, path.stat().st_size, best.pop("ours"), best)


def _time(path: Path, rounds: int) -> Timed:
    data = path.read_bytes()
    start, limit, widths = _after_game_start(data)
    operations: dict[str, Callable[[], Any]] = {
        "framing": lambda: frame_index(data, start, limit, widths),
        "columns": lambda: all_columns(open_replay(path).frames),
    }
    peppi = _peppi_py()
    if peppi is not None and _can_read(peppi, path):
        operations["peppi"] = partial(peppi.read_slippi, str(path))
    best = _best_times(operations, rounds)
    return Timed(path.stem, len(data), best["framing"], best["columns"], best.get("peppi"), _slippi_js(path, rounds))


def _best_times(operations: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The best CPU time of each operation in seconds. They take turns."""
    best = dict.fromkeys(operations, math.inf)
    for number in range(_WARM_UP_ROUNDS + rounds):
        for name, operation in operations.items():
            began = time.process_time()
            operation()
            took = time.process_time() - began
            if number >= _WARM_UP_ROUNDS:
                best[name] = min(best[name], took)
    return best


def _after_game_start(data: bytes) -> tuple[int, int, list[int]]:
    """Offset of the first frame, end of the raw array, and the widths of the events."""
    start = container.HEADER_BYTES
    width = width_of_event_payloads(data, start, start) or 0
    widths = read_event_payloads(data[start : start + width]).widths
    raw = container.raw_length(data[: container.HEADER_BYTES])
    limit = min(len(data), container.HEADER_BYTES + raw) if raw else len(data)
    return start + width + widths[GAME_START], limit, widths


def _peppi_py() -> Any:
    """The module of peppi-py; `None` if it is not installed."""
    return None if find_spec("peppi_py") is None else import_module("peppi_py")


def _vladfi() -> Any:
    """The module of peppi-py-vladfi under another name; `None` if no folder is named."""
    folder = os.environ.get(VLADFI)
    name = "peppi_py_vladfi"
    if folder is None or name in sys.modules:
        return sys.modules.get(name)
    package = Path(folder) / "peppi_py"
    spec = spec_from_file_location(name, package / "__init__.py", submodule_search_locations=[str(package)])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"there is no peppi_py in {folder}")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _can_read(peer: Any, path: Path) -> bool:
    try:
        peer.read_slippi(str(path))
    except (OSError, ValueError, RuntimeError):
        return False
    return True


def _slippi_js(path: Path, rounds: int) -> float | None:
    return None if slippi_js.missing() else min(slippi_js.frames_seconds(path, min(rounds, 5)))


def _synthetic(rounds: int) -> list[Timed]:
    """Our own times on a synthetic match, without peers; used if the real replays are missing."""
    data = synthetic_match(seed=1, rollbacks=True)
    best = [math.inf, math.inf]
    for _ in range(rounds):
        operations: tuple[Callable[[], Any], ...] = (
            lambda: frame_index(data, *_after_game_start(data)),
            lambda: all_columns(WholeGame(data).frames),
        )
        for i, operation in enumerate(operations):
            began = time.process_time()
            operation()
            best[i] = min(best[i], time.process_time() - began)
    return [Timed("synthetic", len(data), best[0], best[1], None, None)]


def _peak_per_byte(path: Path) -> float:
    """Peak memory that a new process allocates to read all columns of a replay, in multiples of the file size."""
    script = (
        "import sys, tracemalloc\n"
        "from tests.bench.columns import all_columns\n"
        "from slpstream.api import open_replay\n"
        "all_columns(open_replay(sys.argv[1]).frames)\n"  # the memory of the first use of numpy is not counted
        "tracemalloc.start()\n"
        "all_columns(open_replay(sys.argv[1]).frames)\n"
        "print(tracemalloc.get_traced_memory()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, check=True, text=True)
    return int(done.stdout) / path.stat().st_size
