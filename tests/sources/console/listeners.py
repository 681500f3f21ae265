"""Who is told what a recorder and a source say, for tests that look at it afterwards; and threads that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio


async def inline(work: Callable[[], Any]) -> Any:
    """What blocks runs here and now, so that a clock that jumps does not jump past it."""
    await trio.lowlevel.checkpoint()
    return work()


class Told:
    """Keeps everything that is said. `known` is what the station has of each file past the disk."""

    def __init__(self) -> None:
        self.gaps: list[tuple[int, str]] = []
        self.troubles: list[str | None] = []
        self.said: list[tuple[str, str]] = []
        self.known: dict[Path, bytearray] = {}
        self.received_bytes = 0

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        known = self.known.setdefault(path, bytearray(path.read_bytes() if path.exists() else b""))
        if offset <= len(known) < offset + len(data):
            known += data[len(known) - offset :]
        return len(known)

    def recording_trouble(self, what: str | None) -> None:
        self.troubles.append(what)

    def gap(self, path: Path | None, offset: int, what: str) -> None:
        self.gaps.append((offset, what))

    def connected(self, nick: str, version: str) -> None:
        self.said.append(("connected", nick))

    def disconnected(self, what: str) -> None:
        self.said.append(("disconnected", what))

    def unreachable(self, what: str) -> None:
        self.said.append(("unreachable", what))

    def received(self, size_bytes: int) -> None:
        self.received_bytes += size_bytes
