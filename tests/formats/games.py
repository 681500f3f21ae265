"""Games of the formats whose files are written in one go: synthetic ones, and real ones if these are available."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import PurePath
from typing import Any

import pytest

from tests.formats.gci import writer as gci_writer
from tests.formats.gci.logs import time_attack
from tests.formats.mk8 import built as mk8
from tests.formats.stunts import built as stunts
from tests.formats.stunts import writer as stunts_writer
from tests.replays import SHARED

REAL = ("gci/real_body_ta_sonic_oval.gci", "stunts/1st_Akoss_Poo.rpl", "stunts/DEFAULT_zct5.rpl")


SYNTHETIC = ("race.gci", "race.rpl", f"{mk8.FILE_NAME}.dat")
"""One game of each format."""


@cache
def games() -> Mapping[str, bytes]:
    """Contents of the files by name."""
    synthetic = {
        "race.gci": gci_writer.encode(time_attack(700)),
        "race.rpl": stunts_writer.encode(stunts.replay(ticks=300)),
        f"{mk8.FILE_NAME}.dat": mk8.ghost(),
    }
    real = [SHARED / name for name in REAL] + sorted((SHARED / "mk8").glob("gs*0000.dat"))
    return synthetic | {path.name: path.read_bytes() for path in real if path.is_file()}


def names() -> list[Any]:
    """The file names as parameters of a test: the first one of each format, and the others as slow cases."""
    first: dict[str, str] = {}
    for name in games():
        first.setdefault(PurePath(name).suffix, name)
    return [pytest.param(name, marks=() if name in first.values() else pytest.mark.slow) for name in sorted(games())]
