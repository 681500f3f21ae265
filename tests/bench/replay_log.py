"""The replay log: its size, packing speed and time per jump, compared with gzip and zstd on the same files.

Sizes are exact and equal on every machine: whole replays, each unpacked again and compared byte for byte. Times are CPU
times of this process. A jump opens the log from its bytes, reads the index, decodes the blocks that contain the frame,
and makes the frame's message. The first jump in each replay is not counted.
"""

from __future__ import annotations

import gc
import gzip
import random
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from slpstream.formats.slplog.container import HEADER_BYTES, SOURCE_KINDS
from slpstream.formats.slplog.inputs import gx_inputs, stunts_inputs
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.formats.slplog.writer import pack
from slpstream.parts.play.cli import jump
from tests.bench.report import Figure, Form
from tests.replays import SHARED, SLP
from tests.synthetic.match import synthetic_match

WHOLE_GAME_FRAMES = 1800
"""Games of half a minute or more count as whole games; shorter ones are excerpts for tests."""
RATIO_TARGET, INPUT_TARGET, JUMP_TARGET_MS, PACK_TARGET = 0.9, 2.2, 20.0, 20.0
_JUMPS = 25
_SHORT = ("game.slp", "netplay.slp")
_FRAMES_PER_SECOND = 60

REAL_GX = ("real_body_ta_sonic_oval.gci",)
"""The only replay with human inputs; the others in the shared data are synthetic."""
REAL_STUNTS = ("1st_Akoss_Poo.rpl", "234zdup.rpl", "DEFAULT_zct5.rpl", "HELL5_full.rpl", "gan_dup.rpl")


class Packed(NamedTuple):
    """One replay."""

    name: str
    size_bytes: int
    gzip_bytes: int
    zstd_bytes: int | None
    log_bytes: int
    frames: int
    seconds: float
    jumps_ms: tuple[float, ...]

    @property
    def ratio(self) -> float | None:
        """Size as a share of zstd's; `None` without zstd."""
        return None if not self.zstd_bytes else self.log_bytes / self.zstd_bytes

    @property
    def speed(self) -> float:
        """Packing speed as a multiple of real time."""
        return self.frames / _FRAMES_PER_SECOND / self.seconds


def zstd() -> Callable[[bytes], int] | None:
    """A function for the size after zstd -19; `None` if zstandard is not installed."""
    if find_spec("zstandard") is None:
        return None
    compressor = import_module("zstandard").ZstdCompressor(level=19)
    return lambda data: len(compressor.compress(data))


def run(form: Form) -> list[Figure]:
    """Print a row for each replay, and return the figures with their targets."""
    size_of = zstd()
    replays = _replays(form)
    packed = [_pack(name, data, size_of, jumps=2 if form.short else _JUMPS) for name, data in replays.items()]
    print(table(packed))
    whole = [one for one in packed if one.frames >= WHOLE_GAME_FRAMES] or packed
    ratios = [one.ratio for one in whole if one.ratio is not None]
    all_ratios = [one.ratio for one in packed if one.ratio is not None and one.frames]
    jumps = [ms for one in whole for ms in one.jumps_ms]
    over = f"{len(whole)} games of {WHOLE_GAME_FRAMES / _FRAMES_PER_SECOND:.0f} s and more"
    log_bytes, zstd_bytes = sum(one.log_bytes for one in whole), sum(one.zstd_bytes or 0 for one in whole)
    figures = [
        Figure("log, worst whole game, parts of zstd -19", [max(ratios, default=0.0)], "", RATIO_TARGET, over),
        Figure(
            "log, all whole games together, parts of zstd -19", [log_bytes / zstd_bytes if zstd_bytes else 0.0], "", 1.0
        ),
        Figure("log, worst file with frames, parts of zstd -19", [max(all_ratios, default=0.0)], ""),
        Figure(
            "log, to pack, the slowest", [min(one.speed for one in whole)], "x", PACK_TARGET, "real time", at_least=True
        ),
        Figure("log, jump to a frame, the slowest", [max(jumps)], "ms", JUMP_TARGET_MS, f"of {len(jumps)} jumps"),
        Figure("log, jump to a frame, median", [sorted(jumps)[len(jumps) // 2]], "ms"),
    ]
    return figures + _inputs()


def table(packed: list[Packed]) -> str:
    """A Markdown table with a row for each replay."""
    lines = [
        "| replay | bytes | gzip -9 | zstd -19 | slplog | of zstd | pack x | slowest jump ms |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in packed:
        ratio = "" if one.ratio is None else f"{one.ratio:.3f}"
        zstd_bytes = "" if one.zstd_bytes is None else f"{one.zstd_bytes:,}"
        jump_ms = f"{max(one.jumps_ms):.1f}" if one.jumps_ms else ""
        sizes = f"{one.size_bytes:,} | {one.gzip_bytes:,} | {zstd_bytes} | {one.log_bytes:,}"
        lines.append(f"| {one.name} | {sizes} | {ratio} | {one.speed:.0f} | {jump_ms} |")
    return "\n".join(lines)


def _replays(form: Form) -> Mapping[str, bytes]:
    paths = sorted(SLP.glob("*.slp"))
    if form.short:
        paths = [path for path in paths if path.name in _SHORT]
    if not paths:
        return {"synthetic": synthetic_match(seed=1, frames=600 if form.short else None, rollbacks=True)}
    return {path.name: path.read_bytes() for path in paths}


def _pack(name: str, data: bytes, size_of: Callable[[bytes], int] | None, *, jumps: int) -> Packed:
    began = time.process_time()
    packed = pack(data, "slippi", name)
    seconds = time.process_time() - began
    log = ReplayLog.of(packed)
    if log.unpack() != data:
        raise AssertionError(f"{name} is not restored")
    keyframes = [block for block in log.blocks if block.has_frames]
    first, last = (
        min((block.first_frame for block in keyframes), default=0),
        max((block.last_frame for block in keyframes), default=-1),
    )
    rng = random.Random(1)
    if keyframes:
        gc.collect()  # exclude the garbage of packing
        _jump_ms(packed, first)  # and tables that a process builds once
    times = tuple(_jump_ms(packed, rng.randint(first, last)) for _ in range(jumps)) if keyframes else ()
    zstd_bytes = None if size_of is None else size_of(data)
    gzip_bytes = len(gzip.compress(data, 9))
    return Packed(name, len(data), gzip_bytes, zstd_bytes, len(packed), last - first + 1, seconds, times)


def _jump_ms(packed: bytes, frame: int) -> float:
    began = time.process_time()
    found = list(jump(ReplayLog.of(packed), frame, frame))
    took = time.process_time() - began
    if any(message.frame != frame for message in found):
        raise AssertionError(f"a jump to frame {frame} returns a different frame")
    return 1000 * took


def gx_bytes_a_frame(path: Path) -> float:
    """Bytes per frame of the inputs in the log of an F-Zero GX replay."""
    data = path.read_bytes()
    found = gx_inputs(data)
    if found is None:
        raise AssertionError(f"{path} has no inputs")
    first_bit, _, runs = found
    return _block_bytes(data, "gci", (first_bit + 7) // 8) / sum(run.frames for run in runs)


def stunts_bytes_a_frame(path: Path) -> float:
    """Bytes per frame of the inputs in the log of a Stunts replay."""
    data = path.read_bytes()
    found = stunts_inputs(data)
    if found is None:
        raise AssertionError(f"{path} has no inputs")
    start, runs = found
    return _block_bytes(data, "stunts", start) / sum(run.frames for run in runs)


def _block_bytes(data: bytes, format: str, source_offset: int) -> int:
    """Size of the block for the part of the replay at `source_offset`, including its header, as written by `pack`.

    Inputs are in a separate block, in the smaller of two codings.
    """
    log = ReplayLog.of(pack(data, format))
    (block,) = (block for block in log.blocks if block.kind in SOURCE_KINDS and block.source_offset == source_offset)
    return HEADER_BYTES + block.payload_bytes


def _inputs() -> list[Figure]:
    gx = [gx_bytes_a_frame(SHARED / "gci" / name) for name in REAL_GX if (SHARED / "gci" / name).is_file()]
    stunts = [
        stunts_bytes_a_frame(SHARED / "stunts" / name) for name in REAL_STUNTS if (SHARED / "stunts" / name).is_file()
    ]
    figures = []
    if gx:
        figures.append(Figure("log, inputs of F-Zero GX, the worst", [max(gx)], "bytes a frame", INPUT_TARGET))
    if stunts:
        figures.append(Figure("log, inputs of Stunts, the worst", [max(stunts)], "bytes a frame", INPUT_TARGET))
    return figures
