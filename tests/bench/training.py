"""Training sets: a zip of 1,000 replays to shards, compared with slippi-ai's steps, and windows read from the shards.

The replays are the shared ones of two players that the peer can read as well, repeated. Each copy has a unique random
seed and number in Game Start, so that no game occurs twice; nothing else is changed. Ours is the command `slpstream
export --to training` on the archive, the peer `tests.bench.training_peer` on the same archive. They take turns on the
same two cores, with two worker processes each, and the figures are ratios of the time from start to end. The shards
have every column of the layout; the files of `--layout slippi-ai` are the ones that the peer writes too.

The environment variable SLPSTREAM_PEPPI_VLADFI names the folder with the peer, as in `columns`.

From the second run, both find their modules compiled, as in an installation, and the archive is in the page cache.
Times vary with other work on the machine; the notes have the best run of each with its CPU time.

Windows are read from these shards, in shuffled order, in this process: as views, and as batches of new contiguous
arrays. The time for a batch depends on the number of columns, because each piece of a column is elsewhere in memory.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from slpstream.api import open_replay
from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.framing import event_payloads_of
from slpstream.formats.slippi.game_start import set_field
from slpstream.model.errors import FormatError
from slpstream.parts.training.columns import PLAYERS
from slpstream.parts.training.windows import TrainingSet
from tests.bench.columns import VLADFI
from tests.bench.report import Figure, Form
from tests.replays import SLP

TARGET_RATIO = 5.0
TARGET_FRAMES_PER_SECOND = 5e6
REPLAYS, SHORT_REPLAYS = 1_000, 6
CORES = 2
WINDOW_FRAMES, BATCH_WINDOWS, SHORT_BATCH_WINDOWS = 64, 256, 2
_PLAYERS = ("p0_post", "p1_post", "p0_pre", "p1_pre")
_STATE = (
    "percent", "facing_direction", "position_x", "position_y", "action_state_id", "hurtbox_collision_state",
    "internal_character_id", "jumps_remaining", "shield_size", "is_airborne",
)  # fmt: skip
_INPUTS = ("joystick_x", "joystick_y", "c_stick_x", "c_stick_y", "trigger", "buttons")
PLAYER_COLUMNS = (
    "stage_id",
    *(f"{p}_post_{name}" for p in PLAYERS for name in _STATE),
    *(f"{p}_pre_{name}" for p in PLAYERS for name in _INPUTS),
)
"""The columns in slippi-ai's rows, without followers and items."""
_MEASURED_FRAMES, _SHORT_FRAMES = 2_000_000, 1_000
_MILLION = 1e6


class Duration(NamedTuple):
    """The duration of a program, in seconds, and the CPU time of it and its processes."""

    seconds: float
    cpu_seconds: float


def run(form: Form) -> list[Figure]:
    """The ratios to the peer, and the frames read from shards per second."""
    peer = os.environ.get(VLADFI, "")
    paths = _replays(peer)
    if not paths:
        return [Figure("training", [0.0], "x", None, "no replays")]
    if form.short:
        paths = sorted(paths, key=lambda path: path.stat().st_size)[5:8]
    with tempfile.TemporaryDirectory() as folder, _cores(CORES) as cores:
        archive = Path(folder) / "replays.zip"
        size_bytes = write_archive(archive, paths, SHORT_REPLAYS if form.short else REPLAYS)
        what = f"a zip of {SHORT_REPLAYS if form.short else REPLAYS:,} replays, {size_bytes / 1e9:.2f} GB unpacked"
        figures = _exports(archive, what, peer, cores, form)
        return figures + _windows(Path(folder) / "training", form)


def _exports(archive: Path, what: str, peer: str, cores: int, form: Form) -> list[Figure]:
    """Run the command with both layouts and the peer in turn; keep the last shards."""
    out = archive.parent
    commands: dict[str, Callable[[], Duration]] = {
        "training": lambda: _export(archive, out / "training"),
        "slippi-ai": lambda: _export(archive, out / "slippi-ai", "--layout", "slippi-ai"),
    }
    if peer:
        commands["peer"] = lambda: _parsed_by_peer(archive, out / "peer", peer)
    took: dict[str, list[Duration]] = {name: [] for name in commands}
    for _ in range(form.times):
        for name, command in commands.items():
            rmtree(out / name, ignore_errors=True)
            took[name].append(command())
    if peer:
        _check_same_games(out / "slippi-ai" / "games", out / "peer")
    figures = []
    for name, title, target in (
        ("training", f"{what}, to training shards", TARGET_RATIO),
        ("slippi-ai", "the same to slippi-ai's files, which the peer writes too", None),
    ):
        note = f"{_shown(took[name])} on {cores} cores"
        if not peer:
            figures.append(Figure(title, [0.0], "x", None, f"{note}; no peer: {VLADFI} is not set"))
            continue
        pairs = list(zip(took[name], took["peer"], strict=True))
        note += f"; peppi-py-vladfi with slippi-ai's steps {_shown(took['peer'])}"
        ratios = [theirs.seconds / ours.seconds for ours, theirs in pairs]
        figures.append(Figure(title, ratios, "x", target, note, at_least=True))
        ratios = [theirs.cpu_seconds / ours.cpu_seconds for ours, theirs in pairs]
        figures.append(Figure(f"{title}, CPU time", ratios, "x", None, "other work disturbs it less"))
    return figures


def _shown(took: Sequence[Duration]) -> str:
    best = min(took)
    return f"{best.seconds:.1f} s ({best.cpu_seconds:.1f} s of CPU)"


def _replays(peer: str) -> list[Path]:
    """The shared replays of two players that both can read."""
    paths = [path for path in sorted(SLP.glob("*.slp")) if _has_rows(path)]
    if not peer or not paths:
        return paths
    command = [sys.executable, "-m", "tests.bench.training_peer", "--readable", *map(str, paths)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": peer}, check=True, capture_output=True, text=True)
    return [Path(line) for line in done.stdout.splitlines()]


def _has_rows(path: Path) -> bool:
    try:
        return len(open_replay(path).training_rows()["frame"]) >= WINDOW_FRAMES
    except FormatError:
        return False


def write_archive(archive: Path, paths: Sequence[Path], count: int) -> int:
    """Write a zip of this many copies, each made a different game. Returns their size in bytes."""
    size_bytes = 0
    originals = [path.read_bytes() for path in paths]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for number, data in enumerate(islice(cycle(originals), count)):
            opened.writestr(f"Game_{number:05}.slp", as_another_game(data, number))
            size_bytes += len(data)
    return size_bytes


def as_another_game(replay: bytes, number: int) -> bytes:
    """The replay with another random seed in Game Start and, if present, another number in its session."""
    found = event_payloads_of(replay)
    if found is None:
        raise ValueError("the replay ends inside Event Payloads")
    payloads, at = found
    sizes = payloads.sizes
    if replay[at] != GAME_START:
        raise ValueError("the event after Event Payloads is not Game Start")
    start = bytearray(replay[at : at + 1 + sizes[GAME_START]])
    set_field(start, "random_seed", number)
    set_field(start, "game_number", number)
    return replay[:at] + start + replay[at + len(start) :]


def _export(archive: Path, out: Path, *options: str) -> Duration:
    command = [sys.executable, "-m", "slpstream", "export", "--to", "training", "--jobs", str(CORES), *options]
    return _timed([*command, "-o", str(out), str(archive)], _environment(archive))


def _parsed_by_peer(archive: Path, out: Path, peer: str) -> Duration:
    command = [sys.executable, "-m", "tests.bench.training_peer", str(archive), str(out), str(CORES)]
    return _timed(command, {**_environment(archive), "PYTHONPATH": peer})


def _environment(archive: Path) -> dict[str, str]:
    """An environment that keeps compiled modules next to the archive."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(archive.parent / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _timed(command: Sequence[str], environment: dict[str, str]) -> Duration:
    cpu, began = _children_seconds(), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return Duration(time.perf_counter() - began, _children_seconds() - cpu)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _check_same_games(ours: Path, theirs: Path) -> None:
    if {path.name for path in ours.iterdir()} != {path.name for path in theirs.iterdir()}:
        raise ValueError("slpstream and the peer did not write the same games")


@contextmanager
def _cores(count: int) -> Iterator[int]:
    """Restrict this process and its children to the first cores. Yields their number."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield len(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


def _windows(folder: Path, form: Form) -> list[Figure]:
    """Millions of frames per second of CPU time of this process, as views and as batches of new arrays."""
    data = TrainingSet(folder)
    columns = [name for names in data.columns_by_type for name in names]
    size = SHORT_BATCH_WINDOWS if form.short else BATCH_WINDOWS
    least = _SHORT_FRAMES if form.short else _MEASURED_FRAMES

    def views(seed: int) -> Iterator[int]:
        for window in data.windows(WINDOW_FRAMES, seed=seed):
            yield window.matrices[0].shape[1]

    def batches(columns: list[str], seed: int) -> Iterator[int]:
        for batch in data.batches(WINDOW_FRAMES, size, columns=columns, seed=seed):
            yield batch[columns[0]].size

    figures: dict[str, Callable[[int], Iterator[int]]] = {
        f"windows of {WINDOW_FRAMES} frames from these shards, views of all {len(columns)} columns": views
    }
    chosen = {
        f"all {len(columns)} columns": columns,
        "both players' states and inputs, {} columns": [name for name in columns if name.startswith(_PLAYERS)],
        "what slippi-ai knows of the players, {} columns": list(PLAYER_COLUMNS),
    }
    for title, names in chosen.items():
        figures[f"batches of {size}, copied: {title.format(len(names))}"] = partial(batches, names)
    return [
        Figure(
            title,
            [_rate(read, seed, least) for seed in range(form.times)],
            "million frames/s",
            TARGET_FRAMES_PER_SECOND / _MILLION,
            "one core",
            at_least=True,
        )
        for title, read in figures.items()
    ]


def _rate(read: Callable[[int], Iterator[int]], seed: int, least: int) -> float:
    """Millions of frames per second of CPU time, once the files are mapped."""
    frames, began = 0, 0.0
    passes = 0
    while frames < least:
        for count in read(seed + passes):
            if passes:
                frames += count
                if frames >= least:
                    break
        if not passes:
            began = time.process_time()
        passes += 1
    return frames / (time.process_time() - began) / _MILLION
