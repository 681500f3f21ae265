"""Replays of games in progress, and their ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slpstream.formats.slippi.container import HEADER_BYTES, MAGIC


def begun(path: Path, data: bytes) -> Callable[[], None]:
    """Write the first half of a replay, with an unknown length. The returned function writes the rest."""
    half, length = len(data) // 2, slice(len(MAGIC), HEADER_BYTES)
    path.write_bytes(data[: length.start] + bytes(4) + data[length.stop : half])

    def finish() -> None:
        with path.open("rb+") as file:
            file.seek(half)
            file.write(data[half:])
            file.seek(length.start)
            file.write(data[length])

    return finish
