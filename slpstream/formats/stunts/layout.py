"""The header of a Stunts replay. There are two layouts, and this module can tell them apart.

A replay consists of a header, a copy of the track file, and one input byte for each tic. It is little-endian, and has
neither a magic number nor a checksum. The old layout, from 1990, doesn't have a frequency, so its header is two bytes
shorter. The only way to tell which layout it is, is the length of the file, because it must agree with the tic count.
If the frequency happens to be the tic count plus two, both agree. In this case, the reader assumes that it is the new
layout, and reports this with a diagnostic.
"""

from __future__ import annotations

import struct
from typing import Literal, NamedTuple

import msgspec

from slpstream.formats.stunts.inputs import InputRuns
from slpstream.formats.stunts.track import HIGHEST_TERRAIN, TRACK_BYTES, Track

LayoutName = Literal["new", "old"]

OLD_FREQUENCY_HZ = 20
USUAL_FREQUENCIES_HZ = (20, 10)
BUFFER_TICKS = 12000
"""Size of the game's own buffer: ten minutes at 20 Hz. Longer recordings overwrite other data of the game."""


class Row(NamedTuple):
    """A field of the header: its name, `struct` code and meaning, how sure we are, and whether the old layout has it
    too.
    """

    name: str
    code: str
    doc: str
    sure: str = "documented"
    old: bool = True


ROWS: tuple[Row, ...] = (
    Row("car", "4s", "Id of the player's car, printable ASCII."),
    Row("color", "B", "Paint job of the player's car, 0 to 6 for stock cars."),
    Row("transmission", "B", "0 manual, other values automatic."),
    Row("opponent_id", "B", "0 solo, 1 to 6 stock opponents."),
    Row("opponent_car", "4s", "Id of the opponent's car; solo: 0xFF and three leftover bytes.", "observed"),
    Row("opponent_color", "B", "Paint job of the opponent's car; may be set when solo.", "observed"),
    Row("opponent_transmission", "B", "0 manual, other values automatic."),
    Row("track_name", "9s", "Ends at the first NUL; leftover bytes follow.", "observed"),
    Row("frequency_hz", "H", "Tics a second, 20 or 10.", "documented", False),
    Row("ticks", "H", "Number of input bytes in the file."),
)


class Layout:
    """One of the two layouts."""

    def __init__(self, name: LayoutName) -> None:
        rows = [row for row in ROWS if row.old or name == "new"]
        self.name = name
        self.names = tuple(row.name for row in rows)
        self.struct = struct.Struct("<" + "".join(row.code for row in rows))
        self.header_bytes = self.struct.size
        self.inputs_offset = self.header_bytes + TRACK_BYTES

    def offset_of(self, name: str) -> int:
        """Return the offset of a field of the header."""
        index = self.names.index(name)
        return struct.calcsize("<" + "".join(row.code for row in ROWS[:index]))

    def fits(self, head: bytes, size_bytes: int) -> bool:
        """Whether the tic count agrees with a file of this size. `head` must contain the whole header."""
        if len(head) < self.header_bytes or size_bytes < self.inputs_offset:
            return False
        ticks = int.from_bytes(head[self.header_bytes - 2 : self.header_bytes], "little")
        return ticks + self.inputs_offset == size_bytes


NEW, OLD = Layout("new"), Layout("old")
LAYOUTS: tuple[Layout, ...] = (NEW, OLD)
"""The layouts in order of preference."""

MIN_BYTES = OLD.inputs_offset
MAX_BYTES = NEW.inputs_offset + 0xFFFF


class StuntsReplay(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a replay in the way they are stored, including bytes that are left over."""

    layout: LayoutName = "new"
    car: bytes
    color: int = 0
    transmission: int = 1
    opponent_id: int = 0
    opponent_car: bytes = b"\xff\0\0\0"
    opponent_color: int = 0
    opponent_transmission: int = 0
    track_name: bytes
    frequency_hz: int = OLD_FREQUENCY_HZ
    track: Track
    inputs: InputRuns

    @property
    def manual(self) -> bool:
        """The player changes the gears."""
        return self.transmission == 0


def fitting(head: bytes, size_bytes: int) -> list[Layout]:
    """Return the layouts that fit a file with `size_bytes` that begins with `head`.

    If there are two, the preferred one comes first.
    """
    return [layout for layout in LAYOUTS if layout.fits(head, size_bytes)]


def plausible(head: bytes, layout: Layout) -> bool:
    """Whether these might be the first bytes of a replay.

    We use this instead of a magic number if the file name doesn't tell us that it is a replay.
    """
    if len(head) < layout.header_bytes:
        return False
    values = dict(zip(layout.names, layout.struct.unpack_from(head), strict=True))
    if not all(0x20 <= byte <= 0x7E for byte in values["car"]) or values["transmission"] > 1:
        return False
    terrain = head[layout.header_bytes + TRACK_BYTES // 2 : layout.inputs_offset - 1]
    return all(byte <= HIGHEST_TERRAIN for byte in terrain)


def unpack(data: bytes, layout: Layout) -> StuntsReplay:
    """Decode a whole file, which must fit the layout."""
    values = dict(zip(layout.names, layout.struct.unpack_from(data), strict=True))
    del values["ticks"]
    track = Track(data[layout.header_bytes : layout.inputs_offset])
    return StuntsReplay(layout=layout.name, track=track, inputs=InputRuns(data[layout.inputs_offset :]), **values)


def text(raw: bytes) -> str:
    """Decode a text in the header. It ends at the first NUL."""
    # The DOS code page, in which every byte is a character.
    return raw.partition(b"\0")[0].decode("cp437")
