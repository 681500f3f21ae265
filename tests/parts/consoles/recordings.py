"""Recorders for tests, and the games that they record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slpstream.parts.consoles.recorder import Recorder
from tests.formats.slippi.built import Built
from tests.parts.consoles.disks import Disk
from tests.parts.consoles.listeners import inline
from tests.parts.consoles.wii import raw_of

GAME = raw_of(Built().frames(-123, 60).end().closed())
OTHER = raw_of(Built(random_seed=9).frames(-123, -60).end().closed())


def recorder_of(folder: Path, listener: Any, **options: Any) -> Recorder:
    """A recorder that works inline, on a disk that works, at a constant time."""
    arguments: dict[str, Any] = {
        "played_on": "nintendont",
        "max_unwritten_bytes": 1 << 20,
        "in_thread": inline,
        "wall_clock": lambda: 1_700_000_000.0,
        "open_file": Disk().open,
        **options,
    }
    return Recorder(folder, listener, **arguments)


def recorded(folder: Path) -> list[bytes]:
    """The recordings in a folder, in the order in which they began."""
    return [path.read_bytes() for path in sorted(folder.glob("*.slp"), key=lambda path: (len(path.name), path.name))]
