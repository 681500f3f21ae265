"""The GameCube container of a `.gci`, with its directory entry, checksum, file type, title, comment, banner and icon.

A `.gci` consists of the memory card's directory entry, which is 64 bytes long, and then the blocks of the file, which
have 8,192 bytes each. Everything here is big-endian and byte aligned. What you find at 0x20A0 depends on the file type.
The offsets of the image and of the comment are in the directory entry, but the game doesn't look at them. It uses fixed
offsets, which are the same in all of its files, so we do this too.
"""

from __future__ import annotations

import binascii
import datetime as dt
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from slpstream.formats.gci.bits import REVERSED_BITS
from slpstream.formats.gci.rows import ByteRow, ByteTable
from slpstream.formats.text import UNDECODABLE
from slpstream.model.errors import FramingError, Unsupported, WrongFormat

BLOCK_BYTES = 0x2000
ENTRY_BYTES = 0x40
BODY_AT = 0x20A0
"""Offset of the replay body, and the minimum length of a file."""

# The largest possible body (31 custom machines, 16,384 inputs) takes about 1.1 MiB.
MAX_BYTES = 2 << 20

REGIONS: Mapping[str, str] = {"GFZE": "NTSC-U", "GFZP": "PAL", "GFZJ": "NTSC-J"}
"""Regions by game code."""

REPLAY = 0x0504
"""The file type of replays."""

FILE_KINDS: Mapping[int, str] = {
    0x010B: "save",
    0x0201: "ghost",
    0x0301: "garage",
    0x0401: "emblem",
    REPLAY: "replay",
}
"""The kinds of files that the game writes to a memory card, by file type."""

CHECKSUM_AT = 0x40
CHECKED_FROM = 0x42
FILE_TYPE_AT = 0x42
BLOCK_COUNT_AT = 0x38
BANNER_AT, BANNER_SIZE = 0xA0, (96, 32)
"""Width and height in pixels, as RGB5A3 in tiles of 4 by 4: 2 bytes a pixel."""
ICON_AT, ICON_SIZE = 0x18A0, (32, 32)

EPOCH = dt.datetime(2000, 1, 1)
"""Epoch of the console's clock, which has no time zone."""
TICKS_PER_SECOND = 40_500_000

ENTRY = ByteTable(
    [
        ByteRow("game_code", 0x00, "4s", "GFZE (NTSC-U), GFZP (PAL), GFZJ (Japan)."),
        ByteRow("maker", 0x04, "2s", "8P."),
        ByteRow("unused_6", 0x06, "B", "0xFF.", sure="observed"),
        ByteRow("banner_flags", 0x07, "B", "Format of banner and icon: 2.", sure="observed"),
        ByteRow("file_name", 0x08, "32s", "The name on the card: ASCII, NUL padded."),
        ByteRow("modified", 0x28, "I", "Seconds since 2000-01-01 00:00, console local time; changes when copied."),
        ByteRow("image_offset", 0x2C, "I", "0x60, counted from 0x40.", sure="observed"),
        ByteRow("icon_format", 0x30, "H", "2.", sure="observed"),
        ByteRow("animation_speed", 0x32, "H", "3.", sure="observed"),
        ByteRow("permissions", 0x34, "B", "4.", sure="observed"),
        ByteRow("copy_count", 0x35, "B", "Number of times the file was copied."),
        ByteRow("first_block", 0x36, "H", "The file's first block on the card."),
        ByteRow("block_count", 0x38, "H", "Number of blocks of 8,192 bytes after the entry."),
        ByteRow("unused_3a", 0x3A, "H", "0xFFFF.", sure="observed"),
        ByteRow("comment_offset", 0x3C, "I", "4, counted from 0x40.", sure="observed"),
        ByteRow("checksum", 0x40, "H", "CRC-16/X-25 of everything from 0x42 on, padding included."),
        ByteRow("file_type", 0x42, "H", "Kind of file; 0x0504 is a replay."),
        ByteRow("title", 0x44, "32s", "Title: F-ZERO GX, NUL padded; cp1252, cp932 in Japan."),
        ByteRow("comment", 0x64, "60s", "Comment: the time of creation, YY/MM/DD HH:MM.", sure="observed"),
    ]
)

_CREATED = re.compile(r"(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d)", re.ASCII)
_REPLAY_NAME = re.compile(r"fzr[0-9A-Fa-f]{8}([0-9A-Fa-f]{14})\.dat", re.ASCII)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """All fields before the pictures, which are the rows of `ENTRY`. Texts are kept as bytes."""

    game_code: bytes = b"GFZE"
    maker: bytes = b"8P"
    unused_6: int = 0xFF
    banner_flags: int = 2
    file_name: bytes = bytes(32)
    modified: int = 0
    image_offset: int = 0x60
    icon_format: int = 2
    animation_speed: int = 3
    permissions: int = 4
    copy_count: int = 0
    first_block: int = 0
    block_count: int = 2
    unused_3a: int = 0xFFFF
    comment_offset: int = 4
    checksum: int = 0
    file_type: int = REPLAY
    title: bytes = b"F-ZERO GX".ljust(32, b"\0")
    comment: bytes = bytes(60)

    @property
    def encoding(self) -> str:
        """The encoding of title and comment."""
        # Not plain Shift JIS, which cannot decode the full-width minus.
        return "cp932" if self.game_code == b"GFZJ" else "cp1252"

    @property
    def maker_text(self) -> str:
        """The maker."""
        return self.maker.decode("ascii", errors="replace")

    @property
    def file_name_text(self) -> str:
        """The name of the file on the card. It ends at the first NUL."""
        return _text(self.file_name, "ascii")

    @property
    def title_text(self) -> str:
        """The title, up to its first NUL."""
        return _text(self.title, self.encoding)

    @property
    def comment_text(self) -> str:
        """The comment, up to its first NUL."""
        return _text(self.comment, self.encoding)

    @property
    def modified_at(self) -> dt.datetime:
        """When the file was written or copied, in the console's local time."""
        return EPOCH + dt.timedelta(seconds=self.modified)

    def bad_texts(self) -> list[tuple[str, int]]:
        """The names and offsets of those texts that contain bytes we can't decode."""
        texts = {
            "maker": self.maker_text,
            "file_name": self.file_name_text,
            "title": self.title_text,
            "comment": self.comment_text,
        }
        return [(row.name, row.offset) for row in ENTRY.rows if UNDECODABLE in texts.get(row.name, "")]

    @property
    def created_at(self) -> dt.datetime | None:
        """The time in the comment, which is exact to the minute, or `None` if the comment isn't a time."""
        match = _CREATED.fullmatch(self.comment_text)
        if match is None:
            return None
        year, month, day, hour, minute = (int(part) for part in match.groups())
        try:
            return dt.datetime(2000 + year, month, day, hour, minute)
        except ValueError:
            return None

    @property
    def named_at(self) -> dt.datetime | None:
        """The time in the file name of a replay, which is exact to the second, or `None` if the file has any other
        name.
        """
        match = _REPLAY_NAME.fullmatch(self.file_name_text)
        if match is None:
            return None
        return EPOCH + dt.timedelta(seconds=int(match[1], 16) // TICKS_PER_SECOND)

    @property
    def saved_at(self) -> dt.datetime:
        """When the replay was saved, in the console's local time.

        We take the minute from the comment. If `modified_at` or `named_at` is within this minute, we also know the
        seconds. If there is no time in the comment, we use `modified_at`.
        """
        created = self.created_at
        if created is None:
            return self.modified_at
        times = (self.modified_at, self.named_at)
        return next((time for time in times if time is not None and time.replace(second=0) == created), created)


class Container(NamedTuple):
    """The parts of a file, and the checksum that its bytes should have."""

    entry: Entry
    banner: bytes
    icon: bytes
    body: bytes
    computed_checksum: int


def checksum(data: bytes) -> int:
    """Return the CRC-16/X-25 of all bytes from 0x42 on."""
    # This is the standard library's CRC-CCITT with the bits of each byte and of the result reversed. It loops in C,
    # which matters for a file of 2 MiB.
    crc = binascii.crc_hqx(data[CHECKED_FROM:].translate(REVERSED_BITS), 0xFFFF)
    return int(f"{crc:016b}"[::-1], 2) ^ 0xFFFF


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """Find out whether a file belongs to F-Zero GX, by looking at its first bytes.

    You get `yes` for all kinds of files that we know, even if `read_container` rejects them. For other kinds, or if you
    pass fewer than 0x44 bytes and they fit, you get `maybe`. This never raises an error.
    """
    code = head[:4]
    if size_bytes == 0 or not code:
        return "maybe" if size_bytes != 0 and name.lower().endswith(".gci") else "no"
    if not any(known.encode().startswith(code) for known in REGIONS):
        return "no"
    if len(head) < FILE_TYPE_AT + 2:
        return "maybe"
    return "yes" if int.from_bytes(head[FILE_TYPE_AT : FILE_TYPE_AT + 2], "big") in FILE_KINDS else "maybe"


def read_container(data: bytes) -> Container:
    """Split the file of a replay into its parts.

    Raises `WrongFormat` if the file belongs to another game, `Unsupported` if it is of another kind, and `FramingError`
    if it is too short or too long.
    """
    if data[:4].decode("latin-1") not in REGIONS:
        raise WrongFormat(f"not a file of F-Zero GX: the game code is {data[:4]!r}", offset=0)
    if len(data) < FILE_TYPE_AT + 2:
        raise FramingError(f"the file ends inside its header of {BODY_AT} bytes", offset=len(data))
    file_type = int.from_bytes(data[FILE_TYPE_AT : FILE_TYPE_AT + 2], "big")
    if file_type != REPLAY:
        kind = FILE_KINDS.get(file_type, "unknown kind")
        raise Unsupported(
            f"an F-Zero GX file, but no replay: {kind} (file type 0x{file_type:04X})", offset=FILE_TYPE_AT
        )
    if len(data) < BODY_AT:
        raise FramingError(f"the file ends inside its header of {BODY_AT} bytes", offset=len(data))
    if len(data) > MAX_BYTES:
        raise FramingError(f"the file is longer than {MAX_BYTES} bytes", offset=MAX_BYTES)
    entry = Entry(**ENTRY.unpack(data))
    return Container(entry, data[BANNER_AT:ICON_AT], data[ICON_AT:BODY_AT], data[BODY_AT:], checksum(data))


def length_of(block_count: int) -> int:
    """Return the length in bytes of a file with `block_count` blocks."""
    return ENTRY_BYTES + BLOCK_BYTES * block_count


def _text(raw: bytes, encoding: str) -> str:
    return raw.partition(b"\0")[0].decode(encoding, errors="replace")
