"""The worst files of the formats that are written in one go: how long reading one takes."""

from __future__ import annotations

import time

from slpstream.gci.reader import GciReader
from slpstream.gci.writer import encode
from tests.bench.report import Figure, Form
from tests.gci.test_limits import worst

TARGET_MILLISECONDS = 100.0
_ROUNDS_PER_RUN = 3


def gci_worst(form: Form) -> list[Figure]:
    """F-Zero GX: 31 custom machines, 255 checkpoints and 16,384 runs, from bytes to all that precedes the frames."""
    data = encode(worst())
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    values = []
    for _ in range(rounds):
        began = time.process_time()
        GciReader().read(data)
        values.append((time.process_time() - began) * 1000)
    return [Figure("read, worst F-Zero GX replay", values, "ms CPU", TARGET_MILLISECONDS, f"{len(data):,} B")]


def run(form: Form) -> list[Figure]:
    """One figure for each format."""
    return gci_worst(form)
