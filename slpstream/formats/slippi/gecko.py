"""The Gecko list contains the codes that were loaded into the game. It comes from event 0x3D inside of Message Splitter
(0x10), since 3.3.

There is one list, between Game Start and the first frame, in blocks of 512 bytes. It contains the codes as they are in
memory, big-endian and without a terminator. To get the type of a code, take its first byte without the lowest bit. Its
target address is 0x80000000 plus the low 25 bits of the first word.

Codes keep their variables inside of their own words. This means that even if two games have the same setup, their lists
are different. However, the type, address and length of a code never change, so we use a hash over these as the
fingerprint (observed: equal for games of one build, different between builds).
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slpstream.formats.name_tables import names_by_text, read_table
from slpstream.formats.slippi.commands import GECKO_LIST
from slpstream.formats.slippi.names import FOLDER
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.errors import FieldError
from slpstream.model.events import Diagnostic, Event, Frame, GameEnd
from slpstream.model.setup import Code, CodeList, CodeSet

_WORDS = struct.Struct(">II")
_FINGERPRINTED = struct.Struct(">BII")
_FINGERPRINT_DIGITS = 32
_MEMORY = 0x80000000
_ADDRESS_BITS = 0x01FFFFFF
_TYPE_BITS = 0xFE
_MAX_CODES = 4096
"""The longest known list has 457 codes; 1 MiB of short ones would take 25 MiB when decoded."""
_INSERT, _STRING, _SERIAL = 0xC2, 0x06, 0x08
_FIXED_BYTES: Mapping[int, int] = {0x00: 8, 0x02: 8, 0x04: 8, _SERIAL: 16}
"""Lengths of the types that always have the same one: writes of 8, 16 and 32 bits, and serial writes."""


class GeckoCode(NamedTuple):
    """One code."""

    type: int
    address: int
    length_bytes: int


def walk(data: bytes) -> list[GeckoCode]:
    """Return all codes in a list.

    Raises `FieldError` if there's a code with an unknown type or one that goes beyond the end, or if there are too many
    codes.
    """
    codes: list[GeckoCode] = []
    at = 0
    while at < len(data):
        if at + _WORDS.size > len(data):
            raise FieldError("the Gecko List ends in the middle of a code", offset=at, command=GECKO_LIST)
        first, second = _WORDS.unpack_from(data, at)
        type_ = (first >> 24) & _TYPE_BITS
        length_bytes = _length_bytes(type_, second)
        if length_bytes is None:
            raise FieldError(f"Gecko code of the unknown type {type_:#04x}", offset=at, command=GECKO_LIST)
        if length_bytes > len(data) - at:
            raise FieldError("the Gecko List ends in the middle of a code", offset=at, command=GECKO_LIST)
        if len(codes) == _MAX_CODES:
            raise FieldError(f"the Gecko List has more than {_MAX_CODES} codes", offset=at, command=GECKO_LIST)
        codes.append(GeckoCode(type_, _MEMORY + (first & _ADDRESS_BITS), length_bytes))
        at += length_bytes
    return codes


def _length_bytes(type_: int, second_word: int) -> int | None:
    """Return how long a code is in bytes, or `None` if its type is unknown."""
    if type_ == _INSERT:
        return 8 + 8 * second_word
    if type_ == _STRING:
        return 8 + (second_word + 7) // 8 * 8
    return _FIXED_BYTES.get(type_)


def code_list(data: bytes) -> CodeList:
    """Convert a list to a form that is the same for all formats. Raises `FieldError` if the list is damaged.

    A known set is on if all of its addresses are in the list. In each family, the last one in the table wins.
    """
    codes = walk(data)
    digest = hashlib.sha256(b"".join(_FINGERPRINTED.pack(*code) for code in codes))
    addresses = {code.address for code in codes}
    sets = {each.family: each for each, needed in _sets() if needed <= addresses}
    return CodeList(
        fingerprint=digest.hexdigest()[:_FINGERPRINT_DIGITS],
        count=len(codes),
        sets=list(sets.values()),
        codes=[Code(type=f"{code.type:02X}", address=f"{code.address:08X}", bytes=code.length_bytes) for code in codes],
    )


@functools.cache
def _sets() -> Sequence[tuple[CodeSet, frozenset[int]]]:
    rows = read_table(FOLDER, "code_sets", "sets")["rows"].values()
    return [
        (CodeSet(name=row["name"], family=row["family"]), frozenset(int(address, 16) for address in row["addresses"]))
        for row in rows
    ]


families = names_by_text(FOLDER, "code_sets", "families")
"""Names of the families of known sets, by key."""


def read_code_list(chunks: Iterable[bytes]) -> CodeList | None:
    """Return the codes of the game in a file, or `None` if there is no complete list. This only takes as many bytes as
    it needs.

    Raises `FormatError` if there's something other than codes in the list, or if the file doesn't begin like a replay.
    """
    reader = SlippiReader()
    for chunk in chunks:
        events = reader.feed(chunk)
        if reader.gecko_list is not None:
            return code_list(reader.gecko_list)
        if reader.failure is not None or any(map(_is_after_list, events)):
            break
    if reader.failure is not None and reader.event_payloads is None:
        raise reader.failure
    return None


def _is_after_list(event: Event) -> bool:
    """Whether the file has no list if this event comes before one."""
    return isinstance(event, Frame | GameEnd) or (isinstance(event, Diagnostic) and event.code == "gecko_list_too_long")
