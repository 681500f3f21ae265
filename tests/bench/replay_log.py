"""The replay log: how small, how fast to pack, how fast to jump, beside gzip and zstd on the same files.

Sizes are exact and the same on every machine: all replays whole, each unpacked again and compared byte for byte. Times
are CPU time of this process. A jump is the whole way: the log opened from its bytes, the index read, the blocks that
have the frame decoded, and the frame's message made. One jump in each replay is not counted before.

peppi's `.slpp` stands beside only where it can be made: peppi-py reads it and does not write it.
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
from typing import Any, NamedTuple

from slpstream.cli.play import jump
from slpstream.formats.slippi.container import MAGIC
from slpstream.formats.slplog.inputs import GX_PAD, STUNTS_PAD, gx_inputs, stunts_inputs
from slpstream.formats.slplog.melee import MELEE_PAD, melee_pads
from slpstream.formats.slplog.pads import Held, pack_track
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.formats.slplog.writer import pack
from slpstream.simulate.match import synthetic_match
from tests.bench.report import Figure, Form
from tests.shared_data import SHARED, SLP

WHOLE_GAME_FRAMES = 1800
"""A game of half a minute and more is a whole game; shorter ones are snippets of tests."""
RATIO_TARGET, INPUT_TARGET, JUMP_TARGET_MS, PACK_TARGET = 0.9, 2.2, 20.0, 20.0
FIVE_MINUTES_TARGET_KB = 150.0
_FIVE_MINUTES_FRAMES = 18_000
_JUMPS = 25
_SHORT = ("game.slp", "netplay.slp")
_FRAMES_PER_SECOND = 60

REAL_GX = ("real_body_ta_sonic_oval.gci",)
"""The one whose inputs a human made; the others of the shared data are made up."""
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
        """To zstd."""
        return None if not self.zstd_bytes else self.log_bytes / self.zstd_bytes

    @property
    def speed(self) -> float:
        """Times real time."""
        return self.frames / _FRAMES_PER_SECOND / self.seconds


def zstd() -> Callable[[bytes], int] | None:
    """Size with zstd -19; `None` when it is not installed."""
    if find_spec("zstandard") is None:
        return None
    compressor = import_module("zstandard").ZstdCompressor(level=19)
    return lambda data: len(compressor.compress(data))


def run(form: Form) -> list[Figure]:
    """Prints a row for each replay, and gives the figures with their targets."""
    size_of = zstd()
    replays = _replays(form)
    packed = [_pack(name, data, size_of, jumps=2 if form.short else _JUMPS) for name, data in replays.items()]
    print(table(packed))
    whole = [one for one in packed if one.frames >= WHOLE_GAME_FRAMES] or packed
    ratios = [one.ratio for one in whole if one.ratio is not None]
    every = [one.ratio for one in packed if one.ratio is not None and one.frames]
    jumps = [ms for one in whole for ms in one.jumps_ms]
    over = f"{len(whole)} games of {WHOLE_GAME_FRAMES / _FRAMES_PER_SECOND:.0f} s and more"
    log_bytes, zstd_bytes = sum(one.log_bytes for one in whole), sum(one.zstd_bytes or 0 for one in whole)
    figures = [
        Figure("log, worst whole game, parts of zstd -19", [max(ratios, default=0.0)], "", RATIO_TARGET, over),
        Figure(
            "log, all whole games together, parts of zstd -19", [log_bytes / zstd_bytes if zstd_bytes else 0.0], "", 1.0
        ),
        Figure("log, worst file with frames, parts of zstd -19", [max(every, default=0.0)], "", None, peppi()),
        Figure(
            "log, to pack, the slowest", [min(one.speed for one in whole)], "x", PACK_TARGET, "real time", least=True
        ),
        Figure("log, jump to a frame, the slowest", [max(jumps)], "ms", JUMP_TARGET_MS, f"of {len(jumps)} jumps"),
        Figure("log, jump to a frame, median", [sorted(jumps)[len(jumps) // 2]], "ms"),
    ]
    return figures + _inputs(replays)


def peppi() -> str:
    """What stands beside of peppi's format."""
    if find_spec("peppi_py") is None:
        return "no .slpp beside: peppi-py is not installed"
    writes = [name for name in dir(import_module("peppi_py")) if name.startswith("write")]
    return (
        f"peppi-py writes: {', '.join(writes)}"
        if writes
        else "no .slpp beside: peppi-py reads it and does not write it"
    )


def table(packed: list[Packed]) -> str:
    """Every replay as a row of a Markdown table."""
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
        raise AssertionError(f"{name} does not come back")
    keyframes = [block for block in log.blocks if block.has_frames]
    first, last = (
        min((block.first_frame for block in keyframes), default=0),
        max((block.last_frame for block in keyframes), default=-1),
    )
    chance = random.Random(1)
    if keyframes:
        gc.collect()  # what packing left behind is not the jump's
        _jump_ms(packed, first)  # nor are the tables that a process makes once
    times = tuple(_jump_ms(packed, chance.randint(first, last)) for _ in range(jumps)) if keyframes else ()
    zstd_bytes = None if size_of is None else size_of(data)
    gzip_bytes = len(gzip.compress(data, 9))
    return Packed(name, len(data), gzip_bytes, zstd_bytes, len(packed), last - first + 1, seconds, times)


def _jump_ms(packed: bytes, frame: int) -> float:
    began = time.process_time()
    found = list(jump(ReplayLog.of(packed), frame, frame))
    took = time.process_time() - began
    if any(message.frame != frame for message in found):
        raise AssertionError(f"a jump to frame {frame} gives another one")
    return 1000 * took


def bytes_a_frame(pad: Any, runs: list[Held]) -> float:
    """Of a track with its keyframes."""
    return len(pack_track(pad, runs)) / sum(run.frames for run in runs)


def gx_bytes_a_frame(path: Path) -> float:
    """Inputs of a GX replay."""
    found = gx_inputs(path.read_bytes())
    if found is None:
        raise AssertionError(f"{path} has no inputs")
    return bytes_a_frame(GX_PAD, list(found[2]))


def stunts_bytes_a_frame(path: Path) -> float:
    """Inputs of a Stunts replay."""
    found = stunts_inputs(path.read_bytes())
    if found is None:
        raise AssertionError(f"{path} has no inputs")
    return bytes_a_frame(STUNTS_PAD, list(found[1]))


def _inputs(replays: Mapping[str, bytes]) -> list[Figure]:
    """What inputs alone take, with a keyframe every 120 frames."""
    gx = [gx_bytes_a_frame(SHARED / "gci" / name) for name in REAL_GX if (SHARED / "gci" / name).is_file()]
    stunts = [
        stunts_bytes_a_frame(SHARED / "stunts" / name) for name in REAL_STUNTS if (SHARED / "stunts" / name).is_file()
    ]
    melee = [
        bytes_a_frame(MELEE_PAD, runs)
        for data in replays.values()
        if data.startswith(MAGIC)
        for runs in melee_pads(data).values()
        if sum(run.frames for run in runs) >= WHOLE_GAME_FRAMES
    ]
    figures = []
    if gx:
        figures.append(Figure("inputs, GX, one pad", [max(gx)], "bytes a frame", INPUT_TARGET, "keyframes included"))
    if stunts:
        figures.append(Figure("inputs, Stunts, the worst", [max(stunts)], "bytes a frame", INPUT_TARGET))
    if melee:
        two = 2 * max(melee) * _FIVE_MINUTES_FRAMES / 1000
        middle = sorted(melee)[len(melee) // 2]
        figures += [
            Figure("inputs, Melee, one pad, median", [middle], "bytes a frame", None, f"of {len(melee)} players"),
            Figure("inputs, Melee, one pad, the worst", [max(melee)], "bytes a frame"),
            Figure(
                "inputs, Melee, five minutes of two of the worst", [two], "kB", FIVE_MINUTES_TARGET_KB, "with keyframes"
            ),
        ]
    return figures
