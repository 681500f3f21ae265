"""The track inside a replay: the 1,802 bytes of a track file, what is where in them, and a drawing of it as text.

900 elements (30 rows of 30), one byte for the horizon, 900 bytes of terrain, one byte of filling. Columns run from west
to east in both. **The rows of the elements are stored south to north, those of the terrain north to south.**
"""

from __future__ import annotations

import hashlib

import msgspec

from slpstream.formats.stunts.elements import ELEMENTS, FILLERS, LEGEND, TERRAIN_SIGNS, UNKNOWN_SIGN
from slpstream.formats.stunts.names import HORIZONS

SIDE_TILES = 30
TILES = SIDE_TILES * SIDE_TILES
TRACK_BYTES = 2 * TILES + 2
HIGHEST_TERRAIN = 18

_HORIZON_OFFSET = TILES
_TERRAIN_OFFSET = TILES + 1


class Track(msgspec.Struct, frozen=True):
    """A track: `data` is the 1,802 bytes of the track file. Rows and columns count from the north-western tile."""

    data: bytes

    @property
    def horizon(self) -> int:
        """0 desert, 1 tropical, 2 alpine, 3 city, 4 country; other values occur."""
        return self.data[_HORIZON_OFFSET]

    @property
    def sha256(self) -> str:
        """Of all 1,802 bytes, as 64 hex digits: the same track has the same in every replay and as a file."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def elements(self) -> tuple[bytes, ...]:
        """The element codes, one `bytes` a row from north to south."""
        rows = range(TILES - SIDE_TILES, -1, -SIDE_TILES)
        return tuple(self.data[at : at + SIDE_TILES] for at in rows)

    @property
    def terrain(self) -> tuple[bytes, ...]:
        """The terrain codes (0 to 18), one `bytes` a row from north to south."""
        rows = range(_TERRAIN_OFFSET, _TERRAIN_OFFSET + TILES, SIDE_TILES)
        return tuple(self.data[at : at + SIDE_TILES] for at in rows)


def draw(track: Track) -> str:
    """The track as text, north above: 30 lines of 30 signs, the horizon, and a legend of the signs that occur.

    A tile shows what lies on it, or else its terrain. A filler tile shows its part of the element it belongs to.
    """
    elements = track.elements
    signs = [[_terrain_sign(code) for code in row] for row in track.terrain]
    for y, row in enumerate(elements):
        for x, code in enumerate(row):
            if code:
                sign = _sign(elements, y, x, code)
                if sign != " ":
                    signs[y][x] = sign
    lines = ["".join(row) for row in signs]
    horizon = HORIZONS.get(track.horizon, str(track.horizon))
    used = set("".join(lines))
    legend = [f"{key} {meaning}" for key, meaning in LEGEND.items() if used & set(key)]
    return "\n".join([*lines, f"horizon: {horizon}", *legend]) + "\n"


def _terrain_sign(code: int) -> str:
    return TERRAIN_SIGNS[code] if code < len(TERRAIN_SIGNS) else UNKNOWN_SIGN


def _sign(elements: tuple[bytes, ...], y: int, x: int, code: int) -> str:
    """What a tile shows of the element on it; a blank when that is nothing."""
    south, east = FILLERS.get(code, (0, 0))
    if y < south or x < east:
        return UNKNOWN_SIGN
    element = ELEMENTS.get(elements[y - south][x - east])
    return UNKNOWN_SIGN if element is None else element.drawing[2 * south + east]
