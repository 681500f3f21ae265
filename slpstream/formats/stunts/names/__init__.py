"""The names of the ids in a Stunts replay, and drawings of a track's elements and terrain as text."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from slpstream.formats.name_tables import names_by_text, names_of, rows_of

FOLDER: Final = Path(__file__).parent

cars = names_by_text(FOLDER, "cars")
"""Stock cars by their four-character id; add-on cars have other ids."""
opponents = names_of(FOLDER, "opponents")
horizons = names_of(FOLDER, "horizons")
legend = names_by_text(FOLDER, "track", "legend")
"""The meaning of the signs in a drawing. A key is one sign, or several with the same meaning."""


class _Element(msgspec.Struct, frozen=True):
    name: str
    drawings: Sequence[str]


class _Terrain(msgspec.Struct, frozen=True):
    name: str
    sign: str


_elements = rows_of(FOLDER, "track", _Element, "elements")
_terrain = rows_of(FOLDER, "track", _Terrain, "terrain")


@functools.cache
def element_drawings() -> Mapping[int, str]:
    """Return drawings of the elements in all their orientations, by element code.

    A drawing consists of four signs, for the north-western, north-eastern, south-western and south-eastern tile. If the
    element doesn't show on a tile, there's a space.
    """
    return {
        first_code + orientation: drawing
        for first_code, element in _elements().items()
        for orientation, drawing in enumerate(element.drawings)
    }


@functools.cache
def terrain_signs() -> Mapping[int, str]:
    """Signs of the terrain, by terrain code (0 to 18)."""
    return {code: terrain.sign for code, terrain in _terrain().items()}
