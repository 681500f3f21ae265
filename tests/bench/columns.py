"""Whole games as columns: throughput, compared with peppi-py on the same files in the same run.

The measured call is the public `open_replay(path).frames.to_arrow()`. It is compared with `read_slippi` of the faster
of two peers, peppi-py and peppi-py-vladfi, which also reads the file and makes Arrow arrays. Both install the module
`peppi_py`, so the second goes to a separate folder, named by an environment variable:

    pip install --no-deps --target FOLDER peppi-py-vladfi==0.9.2
    SLPSTREAM_PEPPI_VLADFI=FOLDER python -m tests.bench columns

The targets are ratios: the geometric mean and the worst over the real replays of more than 500 kB, and the worst over
all replays that the peers can read. Framing, which locates every event of every frame from bytes in memory, and reading
all numpy columns of a file are compared with all of peppi-py's `read_slippi`.

All figures are CPU time, and the best of several rounds; the operations take turns, so that other load on the machine
affects them equally.
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
from typing import Any

from slpstream.api import open_replay
from slpstream.formats.slippi import container
from slpstream.formats.slippi.columns import Frames
from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.frame_index import frame_index
from slpstream.formats.slippi.framing import event_payloads_of
from slpstream.model.errors import FormatError
from tests.bench.report import Figure, Form
from tests.replays import SLP

MIN_BYTES = 500_000
FRAMING_TARGET, NUMPY_TARGET, MEMORY_TARGET = 5.0, 3.0, 3.0
ARROW_TARGET, ARROW_LARGE_TARGET, ARROW_ANY_TARGET = 5.0, 2.0, 2.0
VLADFI = "SLPSTREAM_PEPPI_VLADFI"
"""Names the folder with peppi-py-vladfi."""
_ROUNDS_PER_RUN = 7
_WARM_UP_ROUNDS = 2


def all_columns(frames: Frames) -> int:
    """Read every column of every character. Returns the number of columns."""
    events = [event for character in frames.characters for event in (character.pre, character.post)]
    return sum(event[name].ndim for event in events for name in event.fields)


def run(form: Form) -> list[Figure]:
    """The ratios to the peers, and the memory, with their targets."""
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    paths = [path for path in sorted(SLP.glob("*.slp")) if _is_readable(path)]
    large = [path for path in paths if path.stat().st_size > MIN_BYTES]
    if form.short:
        paths, large = large[3:5], large[3:4]
    if not large:
        return [Figure("columns", [0.0], "x", None, "no replays")]
    memory = max(_peak_per_byte(path) for path in large)
    return [
        *_tables(paths, rounds),
        _times_peppi("framing", FRAMING_TARGET, large, rounds, _framing),
        _times_peppi("all numpy columns", NUMPY_TARGET, large, rounds, _numpy_columns),
        Figure("columns, peak memory, times the file, the worst replay", [memory], "x", MEMORY_TARGET),
    ]


def _tables(paths: Sequence[Path], rounds: int) -> list[Figure]:
    """Print a table of all replays that a peer can read, and return the ratios."""
    peers = [peer for peer in (_peppi_py(), _vladfi()) if peer is not None]
    names = [peer.__name__ for peer in peers]
    print("| replay | MB | to_arrow ms | " + " ms | ".join(names) + " ms | x |")
    print("| --- " * (4 + len(peers)) + "|")
    every: list[float] = []
    large: list[float] = []
    for path in paths:
        operations: dict[str, Callable[[], Any]] = {"ours": lambda path=path: open_replay(path).frames.to_arrow()}  # type: ignore[misc]
        operations |= {p.__name__: partial(p.read_slippi, str(path)) for p in peers if _can_read(p, path)}
        if len(operations) == 1:
            continue
        best = _best_times(operations, rounds)
        ratio = min(best[name] for name in names if name in best) / best["ours"]
        size_bytes = path.stat().st_size
        every.append(ratio)
        large += [ratio] if size_bytes > MIN_BYTES else []
        times = " | ".join(f"{1e3 * best.get(name, math.nan):.2f}" for name in ("ours", *names))
        print(f"| {path.stem} | {size_bytes / 1e6:.2f} | {times} | {ratio:.2f} |")
    if not large:
        return [Figure("to_arrow, ratio to the peers", [0.0], "x", None, "no peer is installed")]
    among = "times the faster of " + " and ".join(names)
    rows = (
        (f"geometric mean over {len(large)} replays over 500 kB", geometric_mean(large), ARROW_TARGET),
        ("the slowest of these", min(large), ARROW_LARGE_TARGET),
        (f"the slowest of all {len(every)}", min(every), ARROW_ANY_TARGET),
    )
    return [Figure(f"to_arrow, {what}", [x], "x", target, among, at_least=True) for what, x, target in rows]


def _times_peppi(
    what: str, target: float, paths: Sequence[Path], rounds: int, operation_of: Callable[[Path], Callable[[], Any]]
) -> Figure:
    peppi = _peppi_py()
    ratios = []
    for path in paths:
        if peppi is not None and _can_read(peppi, path):
            best = _best_times({"ours": operation_of(path), "peer": partial(peppi.read_slippi, str(path))}, rounds)
            ratios.append(best["peer"] / best["ours"])
    if not ratios:
        return Figure(f"{what}, times peppi-py", [0.0], "x", None, "no peer: peppi-py is not installed")
    over = f"geometric mean over {len(ratios)} replays"
    return Figure(f"{what}, times peppi-py", [geometric_mean(ratios)], "x", target, over, at_least=True)


def _framing(path: Path) -> Callable[[], Any]:
    data = path.read_bytes()
    players = [player.player_index for player in open_replay(path).settings.players]
    return partial(frame_index, data, *_after_game_start(data), players)


def _numpy_columns(path: Path) -> Callable[[], Any]:
    return lambda: all_columns(open_replay(path).frames)


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


def _after_game_start(data: bytes) -> tuple[int, int, tuple[int, ...]]:
    """Offset of the first frame, end of the raw array, and the widths of the events."""
    found = event_payloads_of(data)
    assert found is not None
    payloads, start = found
    raw = container.raw_length(data[: container.HEADER_BYTES])
    limit = min(len(data), container.HEADER_BYTES + raw) if raw else len(data)
    return start + payloads.widths[GAME_START], limit, payloads.widths


def _peppi_py() -> Any:
    """The module of peppi-py; `None` if it is not installed."""
    return None if find_spec("peppi_py") is None else import_module("peppi_py")


def _vladfi() -> Any:
    """The module of peppi-py-vladfi under another name; `None` if the environment names no folder."""
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


def _is_readable(path: Path) -> bool:
    try:
        open_replay(path).frames.to_arrow()
    except FormatError:
        return False
    return True


def _can_read(peer: Any, path: Path) -> bool:
    try:
        peer.read_slippi(str(path))
    except (OSError, ValueError, RuntimeError):
        return False
    return True


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
