"""Time to read the worst files of the formats whose files are written in one go."""

from __future__ import annotations

import time
from collections.abc import Callable

from slpstream.formats.gci.reader import GciReader
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.formats.whole_file import WholeFileReader
from tests.bench.report import Figure, Form
from tests.formats.whole_files import bombed, bombs, longest_gci, longest_stunts

TARGET_MILLISECONDS = 100.0
_ROUNDS_PER_RUN = 3


def gci_worst(form: Form) -> list[Figure]:
    """F-Zero GX: 31 custom machines, 255 checkpoints and 16,384 input runs, up to the events before the frames."""
    data = longest_gci()
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    values = []
    for _ in range(rounds):
        began = time.process_time()
        GciReader().read(data)
        values.append((time.process_time() - began) * 1000)
    return [Figure("read, worst F-Zero GX replay", values, "ms CPU", TARGET_MILLISECONDS, f"{len(data):,} B")]


def stunts_worst(form: Form) -> list[Figure]:
    """Stunts: the longest possible file, with a different input in every tick, from bytes to the last event."""
    return [_whole_log("Stunts", lambda: StuntsReader(name="worst.rpl"), longest_stunts(), form)]


def mk8_worst(form: Form) -> list[Figure]:
    """Mario Kart 8: the most expensive blocks to unpack, from bytes to the last section."""
    figures = [_whole_log("Mario Kart 8", Mk8Reader, bombed(bomb), form) for bomb in bombs()]
    return [max(figures, key=lambda figure: max(figure.values))]


def _whole_log(name: str, make: Callable[[], WholeFileReader], data: bytes, form: Form) -> Figure:
    values, max_step_seconds, count = [], 0.0, 0
    for _ in range(1 if form.short else form.runs):
        reader = make()
        reader.feed(data)
        began = time.process_time()
        count = len(reader.finish())
        while reader.pending:
            before = time.process_time()
            count += len(reader.more(512))
            max_step_seconds = max(max_step_seconds, time.process_time() - before)
        values.append((time.process_time() - began) * 1000)
    note = f"{len(data):,} B, {count:,} events; the longest single step {max_step_seconds * 1000:.0f} ms"
    return Figure(f"whole log, worst {name} file", values, "ms CPU", TARGET_MILLISECONDS, note)


def run(form: Form) -> list[Figure]:
    """One figure for each format."""
    return [*gci_worst(form), *stunts_worst(form), *mk8_worst(form)]
