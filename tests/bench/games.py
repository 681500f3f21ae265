"""Replays for the benchmarks (real ones, or synthetic matches if those are missing), and games of any length."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

from slpstream.formats.slippi import commands
from slpstream.formats.slippi.container import HEADER_BYTES, header
from slpstream.formats.slippi.framing import event_payloads_of
from tests.replays import SLP
from tests.synthetic.match import synthetic_match

FIRST_FRAME = commands.FIRST_FRAME
_FRAME_START, _BOOKEND = commands.FRAME_START.command, commands.FRAME_BOOKEND.command
_NUMBERED = frozenset(
    {table.command for table in (commands.PRE_FRAME, commands.POST_FRAME, commands.ITEM_UPDATE)}
    | {_FRAME_START, _BOOKEND, *commands.STAGE_EVENT_KINDS}
)
_NUMBER = struct.Struct(">i")
_NUMBER_OFFSET, _LATEST_FINALIZED_OFFSET = 1, 5
_RANDOM_SEED_OFFSET = 0x13D
_METADATA = b"U\x08metadata"

REPLAYS = ("FodPlatforms", "Whispy", "items", "v2.0")
"""Complete games of two players: two online games of version 3.17, one with many stage events; 3.7 with items; 2.0,
which lacks bookends."""
_WRITTEN = "Whispy"


def replays() -> dict[str, bytes]:
    """Two-player games by name."""
    real = {name: SLP / f"{name}.slp" for name in REPLAYS}
    if all(path.is_file() for path in real.values()):
        return {name: path.read_bytes() for name, path in real.items()}
    return {
        "synthetic 3.18": synthetic_match(seed=1, rollbacks=True),
        "synthetic 3.18 items": synthetic_match(seed=2, items=True),
        "synthetic 2.0": synthetic_match(seed=3, version=(2, 0, 1)),
    }


class EndlessGame:
    """A two-player game without end: it repeats the frames of a replay, renumbered."""

    def __init__(self) -> None:
        path = SLP / f"{_WRITTEN}.slp"
        data = path.read_bytes() if path.is_file() else synthetic_match(seed=1)
        found = event_payloads_of(data)
        assert found is not None
        payloads, start = found
        self._widths = payloads.widths
        self._has_latest_finalized = payloads.sizes.get(_BOOKEND, 0) >= _LATEST_FINALIZED_OFFSET + _NUMBER.size - 1
        self._opening = header(0) + data[HEADER_BYTES:start]
        first = start
        while data[first] != _FRAME_START:
            first += self._widths[data[first]]
        self._before = data[start:first]
        self._frames = list(self._cut(data, first))
        self._after = data[first + sum(map(len, self._frames)) :]

    def _cut(self, data: bytes, start: int) -> Iterator[bytes]:
        end = start
        while data[end] in _NUMBERED:
            command = data[end]
            end += self._widths[command]
            if command == _BOOKEND:
                yield data[start:end]
                start = end

    def head(self, seed: int) -> bytes:
        """The bytes before the first frame. A different random seed makes a different game."""
        before = bytearray(self._before)
        struct.pack_into(">I", before, _RANDOM_SEED_OFFSET, seed)
        return self._opening + bytes(before)

    def end(self, file: IO[bytes]) -> None:
        """End a game like Slippi: write Game End, metadata, and then the raw length in the header."""
        file.write(self._after)
        raw_length_bytes = file.tell() - HEADER_BYTES - len(self._after) + self._after.index(_METADATA)
        file.seek(0)
        file.write(header(raw_length_bytes))

    def frame(self, index: int) -> bytes:
        """The frame with the number `FIRST_FRAME + index`. It becomes final with the same delay as in the replay."""
        number = FIRST_FRAME + index
        frame = bytearray(self._frames[index % len(self._frames)])
        shift = number - _NUMBER.unpack_from(frame, _NUMBER_OFFSET)[0]
        start = 0
        while start < len(frame):
            command = frame[start]
            _shift(frame, start + _NUMBER_OFFSET, shift)
            if command == _BOOKEND and self._has_latest_finalized:
                _shift(frame, start + _LATEST_FINALIZED_OFFSET, shift)
            start += self._widths[command]
        return bytes(frame)


def _shift(frame: bytearray, offset: int, by: int) -> None:
    _NUMBER.pack_into(frame, offset, _NUMBER.unpack_from(frame, offset)[0] + by)
