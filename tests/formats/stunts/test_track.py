"""The track: its parts and its drawing."""

from __future__ import annotations

from slpstream.formats.name_tables import read_table
from slpstream.formats.stunts import names
from slpstream.formats.stunts.track import HIGHEST_TERRAIN, SIDE_TILES, TILES, TRACK_BYTES, Track, draw
from tests.formats.stunts import built


def with_tiles(elements: dict[tuple[int, int], int], terrain: dict[tuple[int, int], int]) -> Track:
    """A flat track with codes at (row from the north, column)."""
    data = bytearray(TRACK_BYTES)
    for (y, x), code in elements.items():
        data[(SIDE_TILES - 1 - y) * SIDE_TILES + x] = code
    for (y, x), code in terrain.items():
        data[TILES + 1 + y * SIDE_TILES + x] = code
    return Track(bytes(data))


def test_elements_are_stored_south_to_north_and_terrain_north_to_south() -> None:
    data = bytearray(TRACK_BYTES)
    data[0], data[TILES - 1] = 0x04, 0x05
    data[TILES + 1], data[2 * TILES] = 1, 6
    track = Track(bytes(data))
    assert track.elements[-1][0] == 0x04
    assert track.elements[0][-1] == 0x05
    assert track.terrain[0][0] == 1
    assert track.terrain[-1][-1] == 6
    lines = draw(track).splitlines()
    assert (lines[29][0], lines[0][29], lines[0][0], lines[29][29]) == ("│", "─", "~", "^")


def test_large_corner_covers_four_tiles() -> None:
    track = with_tiles({(3, 3): 0x0A, (3, 4): 0xFF, (4, 3): 0xFE, (4, 4): 0xFD, (3, 5): 0x07}, {(4, 4): 1})
    lines = draw(track).splitlines()
    assert lines[3][3:6] == "╭─┐"
    assert lines[4][3:6] == "│~."


def test_unknown_codes_are_drawn_as_unknown() -> None:
    track = with_tiles({(0, 0): 0xFF, (1, 0): 0xFE, (5, 5): 0xC0, (6, 6): 0xFD}, {(7, 7): 200})
    lines = draw(track).splitlines()
    assert (lines[0][0], lines[5][5], lines[6][6], lines[7][7]) == ("?", "?", "?", "?")
    assert "? unknown" in lines


def test_every_element_code_has_a_drawing_of_four_signs() -> None:
    drawings = names.element_drawings()
    assert set(drawings) == set(range(1, 0xB6)) - {2, 3}
    assert all(len(drawing) == 4 for drawing in drawings.values())
    elements = read_table(names.FOLDER, "track", "elements")["rows"].values()
    assert sum(len(element["drawings"]) for element in elements) == len(drawings)


def test_legend_explains_the_sign_of_every_terrain_code() -> None:
    assert set(names.terrain_signs()) == set(range(HIGHEST_TERRAIN + 1))
    for row in read_table(names.FOLDER, "track", "terrain")["rows"].values():
        assert names.legend().get(row["sign"], "flat") == row["name"]


def test_drawing_has_thirty_lines_a_horizon_and_a_legend() -> None:
    lines = draw(built.track(horizon=255)).splitlines()
    assert all(len(line) == SIDE_TILES for line in lines[:SIDE_TILES])
    assert lines[SIDE_TILES] == "horizon: 255"
    used = set("".join(lines[:SIDE_TILES]))
    legend = [key for key, meaning in names.legend().items() if f"{key} {meaning}" in lines]
    assert all(used & set(key) for key in legend)
