"""The two headers of a ghost. The outer one is missing in some files. The one of the body describes the race.

Everything is big-endian, except for the Mii's name. In the tables below, each row has the offset and the meaning of a
value, and tells you how sure we are of it: either we have `observed` it in the one real header that is available, or it
is only `documented` by the wiki.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from slpstream.formats.mk8.text import decode_name
from slpstream.formats.mk8.times import RaceTime, driven
from slpstream.model.errors import FramingError, Unsupported, WrongFormat
from slpstream.model.fields import U8, U16, U32, Field, Kind, octets

OUTER_BYTES = 0x48
BODY_BYTES = 0x400
OUTER_MAGIC = b"CTG0"
BODY_MAGIC = bytes.fromhex("0000040003a0")
FOREIGN_MAGICS: Mapping[bytes, str] = {
    b"CTR0": "an MKTV replay, not a ghost",
    b"0GTC": "a ghost of Mario Kart 8 Deluxe, whose layout is another one",
}

DRIVERS = 12
DRIVERS_OFFSET, DRIVER_BYTES = 0x2C, 0x1C
MII_OFFSET, MII_BYTES, MII_NAME_OFFSET = 0x244, 92, 0x1A
MII_CRC_OFFSET = 0x2A2
PLAYER_NAME_OFFSET = 0x304
NAME_UNITS_BYTES = 20
LAP_OFFSETS = (0x330, 0x33C, 0x348, 0x354, 0x360, 0x384, 0x390)
"""Offsets of the seven laps. The wiki has the sixth at 0x378 and the seventh at 0x384."""
WIKI_LAP_OFFSETS = (0x330, 0x33C, 0x348, 0x354, 0x360, 0x378, 0x384)
TOTAL_OFFSET = 0x36C


def _row(name: str, offset: int, kind: Kind, doc: str, sure: str = "observed") -> Field:
    return Field(name, offset, kind, "", doc, sure=sure)


OUTER: Sequence[Field] = (
    _row("magic", 0x00, octets(4), "`CTG0`."),
    _row("version", 0x04, octets(4), "Version of the game.", "documented"),
    _row("file_size", 0x08, U32, "Length of the whole file."),
    _row("crc", 0x38, U32, "CRC-32 of everything after this header."),
)
BODY: Sequence[Field] = (
    _row("version_raw", 0x006, octets(2), "0x0800 in version 4.x of the game; sources differ on older versions."),
    _row("payload_size", 0x008, U32, "Length of the body.", "guessed"),
    _row("year", 0x00C, U32, "Local time of the console."),
    _row("month", 0x010, U32, "1 to 12."),
    _row("day", 0x014, U32, "1 to 31."),
    _row("weekday", 0x018, U32, "0 is Sunday."),
    _row("hour", 0x01C, U32, "0 to 23."),
    _row("minute", 0x020, U32, "0 to 59."),
    _row("second", 0x024, U32, "0 to 59."),
    _row("track", 0x17C, U32, "Track id."),
    _row("online", 0x180, U32, "0 local play."),
    _row("mode", 0x184, U32, "1 time trial."),
    _row("unknown_188", 0x188, U32, "2."),
    _row("unknown_18c", 0x18C, U32, "0 or 1."),
    _row("cc", 0x190, U32, "0 to 3: 50, 100, 150, 200 cc."),
    _row("mirror", 0x194, U8, "1 in mirror mode."),
    _row("team", 0x195, U8, "1 in team play."),
    _row("driver_count", 0x1A8, U32, "Number of driver slots that are in use."),
    _row("mii", MII_OFFSET, octets(MII_BYTES), "The Mii (personal)."),
    _row("mii_crc", MII_CRC_OFFSET, U16, "CRC-16/XMODEM of the Mii and the two bytes after it."),
    _row("country", 0x2A4, U8, "Country id."),
    _row("region", 0x2A5, U8, "Region within the country (personal)."),
    _row("profile", 0x2F4, octets(16), "UUID of the user's profile (personal)."),
    _row("player_name", PLAYER_NAME_OFFSET, octets(NAME_UNITS_BYTES), "10 units of UTF-16, big-endian."),
)
DRIVER: Sequence[Field] = (
    _row("kart", 0x00, U32, "Kart id."),
    _row("wheels", 0x04, U32, "Wheels id."),
    _row("glider", 0x08, U32, "Glider id."),
    _row("character", 0x0C, U32, "Character id."),
    _row("variant", 0x10, U8, "Colour or costume of the character."),
    _row("mii_weight", 0x11, U8, "0 light, 1 medium, 2 heavy; only for Miis."),
    _row("cpu", 0x14, U32, "0 human, 1 computer, 3 the opposing ghost, 4 unused slot."),
    _row("team", 0x18, U32, "0 red, 1 blue, 2 no team."),
)

EMPTY_DRIVER = 4


class OuterHeader(msgspec.Struct, frozen=True):
    """The outer header. `version` is eight hex digits; `crc` should equal `computed_crc`."""

    version: str
    file_size: int
    crc: int
    computed_crc: int


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """One of the 12 driver slots, as stored."""

    kart: int
    wheels: int
    glider: int
    character: int
    variant: int
    mii_weight: int
    cpu: int
    team: int

    @property
    def empty(self) -> bool:
        """The slot is unused."""
        return self.cpu == EMPTY_DRIVER


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The body's header, as stored. `mii`, `region` and `profile` are `None` unless personal data was requested."""

    version_raw: str
    payload_size: int
    body_size: int
    year: int
    month: int
    day: int
    weekday: int
    hour: int
    minute: int
    second: int
    drivers: tuple[Driver, ...]
    track: int
    online: int
    mode: int
    unknown_188: int
    unknown_18c: int
    cc: int
    mirror: int
    team: int
    driver_count: int
    mii_crc: int
    computed_mii_crc: int
    country: int
    player_name: str
    laps: tuple[RaceTime, ...]
    wiki_laps: tuple[RaceTime, ...]
    total: RaceTime
    mii: bytes | None
    mii_name: str
    region: int | None
    profile: bytes | None

    @property
    def recorded_at(self) -> str | None:
        """When the ghost was recorded, in the console's local time, as ISO 8601 without a zone.

        If the values aren't a valid date, this is `None`.
        """
        try:
            moment = datetime(self.year, self.month, self.day, self.hour, self.minute, self.second)
        except (ValueError, OverflowError):
            return None
        return moment.isoformat()

    @property
    def driven_laps(self) -> tuple[RaceTime, ...]:
        """The laps that were really driven.

        We read laps 6 and 7 at the offsets that the wiki gives, but only if this is the only way in which the laps add
        up to the total time.
        """
        ours, theirs = driven(self.laps), driven(self.wiki_laps)
        return theirs if not self._adds_up(ours) and self._adds_up(theirs) else ours

    @property
    def laps_add_up(self) -> bool:
        """Whether the laps that were driven add up to the total time."""
        return self._adds_up(self.driven_laps)

    def _adds_up(self, laps: Sequence[RaceTime]) -> bool:
        return sum(lap.total_milliseconds for lap in laps) == self.total.total_milliseconds


def read_outer(data: bytes) -> OuterHeader | None:
    """Read the outer header of a file. If the file has none and begins with the body, this returns `None`.

    Raises `Unsupported` for MKTV replays and Deluxe ghosts, `WrongFormat` if it isn't a ghost at all, and
    `FramingError` if the header is cut off.
    """
    foreign = FOREIGN_MAGICS.get(data[:4])
    if foreign is not None:
        raise Unsupported(foreign, offset=0)
    if data.startswith(BODY_MAGIC):
        return None
    if not data.startswith(OUTER_MAGIC):
        raise WrongFormat("neither a ghost's outer header nor its body begins here", offset=0)
    if len(data) < OUTER_BYTES:
        raise FramingError(f"the outer header ends after {len(data)} of {OUTER_BYTES} bytes", offset=len(data))
    values = unpack_rows(OUTER, data, 0)
    return OuterHeader(
        values["version"].hex(), values["file_size"], values["crc"], zlib.crc32(memoryview(data)[OUTER_BYTES:])
    )


def read_header(data: bytes, at: int, *, personal: bool) -> Header:
    """Read the header of the body, which begins at `at`.

    If you set `personal`, it includes the Mii, the region and the profile. Raises `FramingError` if the header is cut
    off, or if it doesn't begin with the right bytes.
    """
    if not data.startswith(BODY_MAGIC, at):
        raise FramingError("no ghost behind the outer header", offset=at)
    if len(data) - at < BODY_BYTES:
        raise FramingError(f"the header ends after {len(data) - at} of {BODY_BYTES} bytes", offset=len(data))
    values = unpack_rows(BODY, data, at)
    mii = values.pop("mii")
    values |= {
        "version_raw": values["version_raw"].hex(),
        "player_name": decode_name(values["player_name"], "be"),
        "region": values["region"] if personal else None,
        "profile": values["profile"] if personal else None,
    }
    drivers = range(at + DRIVERS_OFFSET, at + DRIVERS_OFFSET + DRIVERS * DRIVER_BYTES, DRIVER_BYTES)
    return Header(
        **values,
        body_size=len(data) - at,
        drivers=tuple(Driver(**unpack_rows(DRIVER, data, driver)) for driver in drivers),
        computed_mii_crc=binascii.crc_hqx(data[at + MII_OFFSET : at + MII_CRC_OFFSET], 0),
        mii=mii if personal else None,
        mii_name=decode_name(mii[MII_NAME_OFFSET : MII_NAME_OFFSET + NAME_UNITS_BYTES], "le"),
        laps=tuple(read_time(data, at + lap) for lap in LAP_OFFSETS),
        wiki_laps=tuple(read_time(data, at + lap) for lap in WIKI_LAP_OFFSETS),
        total=read_time(data, at + TOTAL_OFFSET),
    )


def read_time(data: bytes, at: int) -> RaceTime:
    """Read the record of a time.

    It contains u16 minutes, u8 seconds, a zero byte, u16 milliseconds, and six bytes that we don't understand.
    """
    return RaceTime(*struct.unpack_from(">HBxH", data, at))


def unpack_rows(rows: Sequence[Field], data: bytes, at: int) -> dict[str, Any]:
    """Read the values of a table. Its offsets count from `at`."""
    return {row.name: struct.unpack_from(">" + row.kind.code, data, at + row.offset)[0] for row in rows}
