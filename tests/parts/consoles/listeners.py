"""A listener that records all notices of a recorder and a source, and a stand-in for worker threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio


async def inline(work: Callable[[], Any]) -> Any:
    """Run blocking work inline, so that an autojump clock does not jump past it."""
    await trio.lowlevel.checkpoint()
    return work()


class Notices:
    """Implements the listeners of a recorder and a source, and keeps everything that they report."""

    def __init__(self) -> None:
        self.gaps: list[tuple[int, str]] = []
        self.disk_errors: list[str | None] = []
        self.connection: list[tuple[str, str]] = []
        """Names and details of the connection's changes of state."""
        self.files: dict[Path, bytearray] = {}
        """The bytes of each file that a station would have received, on disk or not."""
        self.received_bytes = 0

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        known = self.files.setdefault(path, bytearray(path.read_bytes() if path.exists() else b""))
        if offset <= len(known) < offset + len(data):
            known += data[len(known) - offset :]
        return len(known)

    def recording_trouble(self, reason: str | None) -> None:
        self.disk_errors.append(reason)

    def gap(self, path: Path | None, offset: int, reason: str) -> None:
        self.gaps.append((offset, reason))

    def connected(self, nick: str, version: str) -> None:
        self.connection.append(("connected", nick))

    def disconnected(self, reason: str) -> None:
        self.connection.append(("disconnected", reason))

    def unreachable(self, reason: str) -> None:
        self.connection.append(("unreachable", reason))

    def received(self, size_bytes: int) -> None:
        self.received_bytes += size_bytes
