"""Replays for the benchmarks: real ones where they are, else the synthetic match; and a game of any length for the
writers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from slpstream.simulate.match import synthetic_match
from slpstream.slippi.container import HEADER_BYTES, header
from slpstream.slippi.framing import read_event_payloads, width_of_event_payloads
from tests.shared_data import SLP

_GAME_START, _GAME_END, _BOOKEND, _FRAME_START = 0x36, 0x39, 0x3C, 0x3A
_RANDOM_SEED = 0x13D
_FRAME_NUMBER = 1
_WITH_FRAME_NUMBER = frozenset({0x37, 0x38, 0x3A, 0x3B, 0x3C})

REAL = ("items", "Whispy", "v2.0")
"""Whole games of two players: 3.7 with items, 3.17 online with all fields, 2.0 without bookends."""


def replays() -> dict[str, bytes]:
    """Two-player games by name."""
    real = {name: SLP / f"{name}.slp" for name in REAL}
    if all(path.is_file() for path in real.values()):
        return {name: path.read_bytes() for name, path in real.items()}
    return {"synthetic 3.18": synthetic_match(seed=1), "synthetic 2.0": synthetic_match(seed=1, version=(2, 0, 1))}


class Game:
    """A game cut into what comes before the first frame and the frames, to be written as slowly as wanted."""

    def __init__(self, data: bytes | None = None) -> None:
        """`data`: a replay with bookends; the real `items` or a synthetic match by default."""
        data = data or next(iter(replays().values()))
        width = width_of_event_payloads(data, HEADER_BYTES, HEADER_BYTES) or 0
        at = HEADER_BYTES + width
        self._widths = read_event_payloads(data[HEADER_BYTES:at]).widths
        self.payloads = data[HEADER_BYTES:at]
        first = self._until(data, at, _FRAME_START)
        self._before = data[at:first]
        self.frames = list(self._frames(data, first))

    def _until(self, data: bytes, at: int, command: int) -> int:
        while data[at] != command:
            at += self._widths[data[at]]
        return at

    def _frames(self, data: bytes, at: int) -> Iterator[bytes]:
        start = at
        while data[at] != _GAME_END:
            command = data[at]
            at += self._widths[command]
            if command == _BOOKEND:
                yield data[start:at]
                start = at

    def head(self, seed: int) -> bytes:
        """Everything before the first frame; another `seed` makes another game."""
        before = bytearray(self._before)
        if before[0] == _GAME_START:
            struct.pack_into(">I", before, _RANDOM_SEED, seed)
        return header(0) + self.payloads + bytes(before)

    def frame(self, index: int) -> bytes:
        """The n-th frame of an endless game, numbered from -123."""
        number = index - 123
        frame = bytearray(self.frames[index % len(self.frames)])
        at = 0
        while at < len(frame):
            if frame[at] in _WITH_FRAME_NUMBER:
                struct.pack_into(">i", frame, at + _FRAME_NUMBER, number)
            at += self._widths[frame[at]]
        return bytes(frame)
