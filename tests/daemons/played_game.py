"""A game that is written into a file piece by piece, like by a console or an emulator."""

from __future__ import annotations

from pathlib import Path

from slpstream.formats.slippi.container import HEADER_BYTES, header
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline

_START_BYTES = 20_000
"""More than the size of these games up to the end of their Game Start."""


class PlayedGame:
    """A game whose file has raw length 0 until its end."""

    def __init__(self, path: Path, whole: bytes) -> None:
        self.path = path
        self.whole = whole
        self.game_id = game_id_of(whole)
        self.size_bytes = 0
        """Number of bytes that were written."""

    def unfinished(self) -> bytes:
        """The bytes written so far, as they are in the file."""
        return (header(0) + self.whole[HEADER_BYTES:])[: self.size_bytes]

    def write(self, count: int = 5000) -> None:
        """Write the next bytes."""
        before, self.size_bytes = self.size_bytes, min(self.size_bytes + count, len(self.whole))
        with self.path.open("ab", buffering=0) as file:
            file.write(self.unfinished()[before:])

    def end(self) -> None:
        """Write the rest, and the raw length."""
        self.write(len(self.whole))
        with self.path.open("r+b", buffering=0) as file:
            file.write(self.whole[:HEADER_BYTES])


def game_id_of(data: bytes) -> str:
    """The id of a game of Melee."""
    start = Pipeline(SlippiReader(), ("live",)).feed(data[:_START_BYTES]).logs["live"][0]
    assert start.game_id is not None
    return start.game_id
