"""What can lie on a tile of a track, and the signs that stand for it in a drawing.

Source of the codes: the Stunts Wiki, "Track file", and the tables of the track viewer Stunts Cartography; drawn with
them, the laps of real tracks hang together. Other codes have no meaning in the game's editor, but tracks can have them.

An element covers one tile, two, or two by two. Its code stands in the north-western tile; the others have a filler
code that says where they lie from there. Each drawing is four signs, one for each tile: north-west, north-east,
south-west, south-east, a blank for a tile that the element does not show on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

FILLER_EAST, FILLER_SOUTH, FILLER_SOUTH_EAST = 0xFF, 0xFE, 0xFD
FILLERS: Mapping[int, tuple[int, int]] = {FILLER_EAST: (0, 1), FILLER_SOUTH: (1, 0), FILLER_SOUTH_EAST: (1, 1)}
"""How far south and east a filler tile lies from the tile with the element's code."""


class Element(NamedTuple):
    """An element in one orientation: what it is, and its drawing."""

    kind: str
    drawing: str


class Family(NamedTuple):
    """An element in all its orientations, which have consecutive codes."""

    first_code: int
    kind: str
    drawings: Sequence[str]


def _each(signs: str) -> list[str]:
    """Drawings of one tile each."""
    return [f"{sign}   " for sign in signs]


_NORTH_SOUTH_EAST_WEST = _each("│─")
_CORNERS = _each("┌┐└┘")
_LARGE_CORNERS = ["╭─│ ", "─╮ │", "│ ╰─", " │─╯"]
_BANKED_CORNERS = ["┏━┃ ", "━┓ ┃", "┃ ┗━", " ┃━┛"]
_ELEVATED_CORNERS = ["╔═║ ", "═╗ ║", "║ ╚═", " ║═╝"]
_LEFT_SPLITS, _RIGHT_SPLITS = _each("┤┬├┴"), _each("├┴┤┬")
_RAMPS = _each("→←↑↓")

FAMILIES: tuple[Family, ...] = (
    Family(0x01, "start and finish", _each("▲")),
    Family(0x04, "paved road", _NORTH_SOUTH_EAST_WEST),
    Family(0x06, "paved sharp corner", _CORNERS),
    Family(0x0A, "paved large corner", _LARGE_CORNERS),
    Family(0x0E, "dirt road", _each("┆┄")),
    Family(0x10, "dirt sharp corner", _CORNERS),
    Family(0x14, "dirt large corner", _LARGE_CORNERS),
    Family(0x18, "icy road", _each("┊┈")),
    Family(0x1A, "icy sharp corner", _CORNERS),
    Family(0x1E, "icy large corner", _LARGE_CORNERS),
    Family(0x22, "elevated road", _each("║═")),
    Family(0x24, "elevated ramp", _RAMPS),
    Family(0x28, "banked transition", _each("┃━┃━┃━┃━")),
    Family(0x30, "banked road", _each("┃┃━━")),
    Family(0x34, "banked corner", _BANKED_CORNERS),
    Family(0x38, "bridge ramp", _RAMPS),
    Family(0x3C, "chicane", ["SSSS"] * 4),
    Family(0x40, "loop", ["L L ", "LL  "]),
    Family(0x42, "tunnel", _each("TT")),
    Family(0x44, "pipe", _each("PP")),
    Family(0x46, "pipe transition", _each("PPPP")),
    Family(0x4A, "paved crossroads", _each("┼")),
    Family(0x4B, "paved sharp split", [*_LEFT_SPLITS, *_RIGHT_SPLITS]),
    Family(0x53, "pipe with obstacle", _each("PP")),
    Family(0x55, "cork left/right", ["C C ", "CC  "]),
    Family(0x57, "large split", ["YYYY"] * 8),
    Family(0x5F, "solid ramp", _RAMPS),
    Family(0x63, "solid elevated road", _each("║═")),
    Family(0x65, "elevated road over road", _each("╫╪")),
    Family(0x67, "elevated span", _each("║═")),
    Family(0x69, "elevated corner", _ELEVATED_CORNERS),
    Family(0x6D, "highway", _each("HH")),
    Family(0x6F, "highway transition", _each("HHHH")),
    Family(0x73, "slalom", _each("ZZ")),
    Family(0x75, "cork up/down", ["UUUU"] * 8),
    Family(0x7D, "dirt crossroads", _each("┼")),
    Family(0x7E, "dirt sharp split", [*_LEFT_SPLITS, *_RIGHT_SPLITS]),
    Family(0x86, "start and finish", _each("▲▼▶◀")),
    Family(0x8A, "icy crossroads", _each("┼")),
    Family(0x8B, "icy sharp split", [*_LEFT_SPLITS, *_RIGHT_SPLITS]),
    Family(0x93, "start and finish", _each("▲▼▶◀")),
    Family(0x97, "palm", _each("♣")),
    Family(0x98, "cactus", _each("♣")),
    Family(0x99, "pine", _each("♣")),
    Family(0x9A, "tennis court", _each("□")),
    Family(0x9B, "gas station", _each("□□□□")),
    Family(0x9F, "barn", _each("□□□□")),
    Family(0xA3, "office building", _each("□□□□")),
    Family(0xA7, "windmill", _each("□□□□")),
    Family(0xAB, "ship", _each("□□□□")),
    Family(0xAF, "Joe's", _each("□□□□")),
    Family(0xB3, "start and finish", _each("▼▶◀")),
)

ELEMENTS: Mapping[int, Element] = {
    family.first_code + index: Element(family.kind, drawing)
    for family in FAMILIES
    for index, drawing in enumerate(family.drawings)
}

UNKNOWN_SIGN = "?"

LEGEND: Mapping[str, str] = {
    "▲▼▶◀": "start and finish",
    "│─": "paved road",
    "┆┄": "dirt",
    "┊┈": "ice",
    "║═": "elevated",
    "┃━": "banked",
    "↑↓→←": "ramp",
    "╫╪": "road over road",
    "S": "chicane",
    "L": "loop",
    "T": "tunnel",
    "P": "pipe",
    "C": "cork left/right",
    "U": "cork up/down",
    "H": "highway",
    "Z": "slalom",
    "Y": "large split",
    "♣": "tree",
    "□": "building",
    UNKNOWN_SIGN: "unknown",
    "~": "water",
    ":": "slope",
    "^": "hill",
}

TERRAIN_SIGNS: str = "." + "~" * 5 + "^" + ":" * 12
"""By terrain code: flat, water and its coasts, hill, slopes."""
