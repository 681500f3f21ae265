"""The track inside of a replay, which consists of the 1,802 bytes of a track file. You can also draw it as text.

In a track, there are 900 element codes (30 rows of 30), one byte for the horizon, 900 terrain codes, and one filler
byte. Columns run from west to east. **Rows of elements are stored from south to north, but rows of terrain from north
to south.**
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from slpstream.formats.stunts import names

SIDE_TILES = 30
TILES = SIDE_TILES * SIDE_TILES
TRACK_BYTES = 2 * TILES + 2
HIGHEST_TERRAIN = 18

FILLERS: Mapping[int, tuple[int, int]] = {0xFF: (0, 1), 0xFE: (1, 0), 0xFD: (1, 1)}
"""Codes of the tiles that a larger element covers besides the north-western one, which has its code: how many tiles to
the south and to the east of that tile they are."""
UNKNOWN_SIGN = "?"

_HORIZON_OFFSET = TILES
_TERRAIN_OFFSET = TILES + 1


class Track(msgspec.Struct, frozen=True):
    """A track.

    `data` contains the 1,802 bytes of the track file. Rows and columns count from the north-western tile.
    """

    data: bytes

    @property
    def horizon(self) -> int:
        """The id of the horizon. In the game's editor, it is 0 to 4, but there can be other values too."""
        return self.data[_HORIZON_OFFSET]

    @property
    def sha256(self) -> str:
        """The SHA-256 of the 1,802 bytes, as 64 hex digits.

        It is the same in every replay with this track, and for the track file.
        """
        return hashlib.sha256(self.data).hexdigest()

    @property
    def elements(self) -> tuple[bytes, ...]:
        """The element codes. There is one `bytes` for each row, from north to south."""
        rows = range(TILES - SIDE_TILES, -1, -SIDE_TILES)
        return tuple(self.data[at : at + SIDE_TILES] for at in rows)

    @property
    def terrain(self) -> tuple[bytes, ...]:
        """The terrain codes (0 to 18). There is one `bytes` for each row, from north to south."""
        rows = range(_TERRAIN_OFFSET, _TERRAIN_OFFSET + TILES, SIDE_TILES)
        return tuple(self.data[at : at + SIDE_TILES] for at in rows)


def draw(track: Track) -> str:
    """Draw a track as text. This gives you 30 lines of 30 signs with north at the top, the horizon, and a legend of the
    signs that occur.

    On each tile, you see its element, or if there isn't one, its terrain. A filler tile shows the part of the element
    to which it belongs.
    """
    elements = track.elements
    signs = [[names.terrain_signs().get(code, UNKNOWN_SIGN) for code in row] for row in track.terrain]
    for y, row in enumerate(elements):
        for x, code in enumerate(row):
            if code:
                sign = _element_sign(elements, y, x, code)
                if sign != " ":
                    signs[y][x] = sign
    lines = ["".join(row) for row in signs]
    horizon = names.horizons().get(track.horizon, str(track.horizon))
    used = set("".join(lines))
    legend = [f"{key} {meaning}" for key, meaning in names.legend().items() if used & set(key)]
    return "\n".join([*lines, f"horizon: {horizon}", *legend]) + "\n"


def _element_sign(elements: tuple[bytes, ...], y: int, x: int, code: int) -> str:
    """Return the sign of the element that covers a tile. If the element doesn't have a sign there, this is a space."""
    south, east = FILLERS.get(code, (0, 0))
    if y < south or x < east:
        return UNKNOWN_SIGN
    drawing = names.element_drawings().get(elements[y - south][x - east])
    return UNKNOWN_SIGN if drawing is None else drawing[2 * south + east]
