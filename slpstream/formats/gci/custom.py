"""The block of a custom machine. It contains the parts and colours of the machine, its pilot, and its four emblems.

The game copies the block out of the stream byte by byte. There are always four slots for emblems, no matter how many of
them are used. We keep pictures as bytes, and identify them by their hash.

There is a published exploit that uses invalid ids of parts to overwrite the game's memory. Here, they are just numbers,
and if there are any, you find them in `invalid_parts`.
"""

from __future__ import annotations

import hashlib

import msgspec

from slpstream.formats.gci.rows import ByteRow, ByteTable, as_float

CUSTOM_BYTES = 33216
EMBLEM_SLOTS = 4
EMBLEM_BYTES = 8288
EMBLEM_PIXELS = (64, 64)
"""Width and height, as RGB5A3 in tiles of 4 by 4."""

LAST_PART = 74

ORIGINAL = b"\xc0\0\0\0\0"
PILOT_EXCLUSIVE = b"\x80\0\0\0\0"
KINDS = {ORIGINAL: "original", PILOT_EXCLUSIVE: "pilot_exclusive"}
"""Original machines are built from parts; pilot-exclusive ones are machines of the game, with emblems."""

EMBLEM = ByteTable(
    [
        ByteRow("part", 0, "H", "Part that has the emblem: 0 body, 1 cockpit, 2 booster."),
        ByteRow("unknown_2", 2, "2s", "Unknown.", sure="guessed"),
        ByteRow("unknown_4", 4, "I", "Unknown number.", sure="guessed"),
        ByteRow("rotation_vertical", 8, "H", "0x0800 to 0x3FFF, which is the default."),
        ByteRow("rotation_horizontal", 10, "H", "0x10000 is a whole turn; 0 is the default.", sure="observed"),
        ByteRow("unknown_12", 12, "4s", "Unknown.", sure="guessed"),
        ByteRow("base_x", 16, "I", "Some kind of position; depends on the part.", sure="guessed"),
        ByteRow("base_y", 20, "I", "Some kind of position; depends on the part.", sure="guessed"),
        ByteRow("unknown_24", 24, "16s", "Unknown.", sure="guessed"),
        ByteRow("position_1", 40, "I", "Related to the position.", sure="guessed"),
        ByteRow("position_2", 44, "I", "Related to the position.", sure="guessed"),
        ByteRow("position_3", 48, "I", "5.0 in all known replays.", sure="observed"),
        ByteRow("position_4", 52, "I", "Related to the position.", sure="guessed"),
        ByteRow("position_5", 56, "I", "Related to the position.", sure="guessed"),
        ByteRow("unknown_60", 60, "4s", "Unknown.", sure="guessed"),
        ByteRow("width", 64, "I", "0.05 to 0.35 in the game's menu."),
        ByteRow("height", 68, "I", "0.05 to 0.35 in the game's menu."),
        ByteRow("unknown_72", 72, "24s", "Unknown.", sure="guessed"),
        ByteRow("pixels", 96, "8192s", "64 by 64 pixels, RGB5A3 in tiles of 4 by 4."),
    ]
)

CUSTOM = ByteTable(
    [
        ByteRow("kind", 0, "5s", "C0 00 00 00 00 original, 80 00 00 00 00 pilot-exclusive."),
        ByteRow("machine", 5, "B", "Machine id; 50 is an original machine."),
        ByteRow("color_swap", 6, "B", "Related to the color swap: 1 or 2.", sure="observed"),
        ByteRow("emblem_count", 7, "B", "Number of emblem slots in use, 0 to 4."),
        ByteRow("unknown_8", 8, "7s", "03 or 01, then 00 and `AV   `.", sure="observed"),
        ByteRow("slider", 15, "B", "Acceleration (0) to maximum speed (100); the value that the game uses."),
        ByteRow("unknown_16", 16, "16s", "Zeros.", sure="observed"),
        ByteRow("emblem_blocks", 32, f"{EMBLEM_SLOTS * EMBLEM_BYTES}s", "Four emblems, used or not."),
        ByteRow("pilot", 33184, "B", "Pilot id."),
        ByteRow("pilot_rest", 33185, "3s", "Unused.", sure="observed"),
        ByteRow("body", 33188, "B", "Part id, 0 to 24; 0 for pilot-exclusive machines."),
        ByteRow("body_rest", 33189, "3s", "Unused.", sure="observed"),
        ByteRow("body_color", 33192, "4s", "Red, green, blue, 1."),
        ByteRow("cockpit", 33196, "B", "Part id, 25 to 49."),
        ByteRow("cockpit_rest", 33197, "3s", "Unused.", sure="observed"),
        ByteRow("cockpit_color", 33200, "4s", "Red, green, blue, 1."),
        ByteRow("booster", 33204, "B", "Part id, 50 to 74."),
        ByteRow("booster_rest", 33205, "3s", "Unused.", sure="observed"),
        ByteRow("booster_color", 33208, "4s", "Red, green, blue, 1."),
        ByteRow("unknown_33212", 33212, "4s", "Zeros.", sure="observed"),
    ]
)


class Emblem(msgspec.Struct, frozen=True, kw_only=True):
    """A slot for an emblem, with the rows of `EMBLEM`. We keep floats as their 32-bit patterns."""

    part: int = 0
    unknown_2: bytes = bytes(2)
    unknown_4: int = 0
    rotation_vertical: int = 0
    rotation_horizontal: int = 0
    unknown_12: bytes = bytes(4)
    base_x: int = 0
    base_y: int = 0
    unknown_24: bytes = bytes(16)
    position_1: int = 0
    position_2: int = 0
    position_3: int = 0
    position_4: int = 0
    position_5: int = 0
    unknown_60: bytes = bytes(4)
    width: int = 0
    height: int = 0
    unknown_72: bytes = bytes(24)
    pixels: bytes = bytes(8192)

    @property
    def pixels_sha256(self) -> str:
        """The hash that identifies the picture."""
        return hashlib.sha256(self.pixels).hexdigest()

    @property
    def base(self) -> tuple[float, float]:
        """`base_x` and `base_y` as floats. They might be NaN or infinite."""
        return as_float(self.base_x), as_float(self.base_y)

    @property
    def size(self) -> tuple[float, float]:
        """The width and height as floats. They might be NaN or infinite."""
        return as_float(self.width), as_float(self.height)


class CustomMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A custom machine: the rows of `CUSTOM`."""

    kind: bytes = ORIGINAL
    machine: int = 50
    color_swap: int = 1
    emblem_count: int = 0
    unknown_8: bytes = b"\x03\0AV   "
    slider: int = 50
    unknown_16: bytes = bytes(16)
    emblem_blocks: bytes = bytes(EMBLEM_SLOTS * EMBLEM_BYTES)
    pilot: int = 0
    pilot_rest: bytes = bytes(3)
    body: int = 0
    body_rest: bytes = bytes(3)
    body_color: bytes = bytes(4)
    cockpit: int = 25
    cockpit_rest: bytes = bytes(3)
    cockpit_color: bytes = bytes(4)
    booster: int = 50
    booster_rest: bytes = bytes(3)
    booster_color: bytes = bytes(4)
    unknown_33212: bytes = bytes(4)

    @property
    def kind_name(self) -> str | None:
        """`original` or `pilot_exclusive`, or `None` if we don't know the kind."""
        return KINDS.get(self.kind)

    @property
    def emblems(self) -> tuple[Emblem, ...]:
        """All four slots, used or not."""
        starts = range(0, EMBLEM_SLOTS * EMBLEM_BYTES, EMBLEM_BYTES)
        return tuple(Emblem(**EMBLEM.unpack(self.emblem_blocks, start)) for start in starts)

    @property
    def sha256(self) -> str:
        """The hash of the whole block. It is the same in all replays with this machine."""
        return hashlib.sha256(write_custom(self)).hexdigest()

    @property
    def invalid_parts(self) -> dict[str, int]:
        """The ids of parts that don't exist in the game, by part."""
        parts = {"body": self.body, "cockpit": self.cockpit, "booster": self.booster}
        return {name: part for name, part in parts.items() if part > LAST_PART}


def read_custom(block: bytes) -> CustomMachine:
    """Decode the 33,216 bytes of a machine."""
    return CustomMachine(**CUSTOM.unpack(block))


def write_custom(machine: CustomMachine) -> bytes:
    """Encode a machine, so that you can read it with `read_custom`.

    If a value doesn't fit its field, this raises `ValueError`.
    """
    return CUSTOM.pack(machine)
