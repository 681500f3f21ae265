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

import msgspec

from slpstream.formats.name_tables import names_by_text, read_table
from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import GAME_START, GECKO_LIST, MESSAGE_SPLITTER
from slpstream.formats.slippi.framing import EVENT_PAYLOADS, read_event_payloads, walk_events, width_of_event_payloads
from slpstream.formats.slippi.message_splitter import MAX_BYTES, block
from slpstream.formats.slippi.names import FOLDER
from slpstream.model.errors import FieldError
from slpstream.model.prepared import prepared
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


def fingerprint(codes: Iterable[GeckoCode]) -> str:
    """Return a hash over the type, address and length of each code. It has 32 hex digits."""
    digest = hashlib.sha256(b"".join(_FINGERPRINTED.pack(*code) for code in codes))
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


def code_list(data: bytes) -> CodeList:
    """Convert a list to a form that is the same for all formats. Raises `FieldError` if the list is damaged."""
    codes = walk(data)
    return CodeList(
        fingerprint=fingerprint(codes),
        count=len(codes),
        sets=known_sets(codes),
        codes=[Code(type=f"{code.type:02X}", address=f"{code.address:08X}", bytes=code.length_bytes) for code in codes],
    )


@prepared
class _KnownSet(msgspec.Struct, frozen=True):
    name: str
    family: str
    addresses: list[str]
    confidence: str = "documented"


@functools.cache
def _sets() -> Sequence[tuple[CodeSet, frozenset[int]]]:
    rows = read_table(FOLDER, "code_sets", "sets")["rows"].values()
    known = [msgspec.convert(row, _KnownSet) for row in rows]
    return [
        (CodeSet(name=each.name, family=each.family), frozenset(int(address, 16) for address in each.addresses))
        for each in known
    ]


families = names_by_text(FOLDER, "code_sets", "families")
"""Names of the families of known sets, by key."""


def known_sets(codes: Iterable[GeckoCode]) -> list[CodeSet]:
    """Return the known sets for which all addresses are in the list. In each family, the last one in the table wins."""
    addresses = {code.address for code in codes}
    return list({each.family: each for each, needed in _sets() if needed <= addresses}.values())


class GeckoListFinder:
    """Finds the Gecko List in the first bytes of a file.

    You can pass them in pieces of any size, and no frames are decoded.
    """

    def __init__(self) -> None:
        self.data: bytes | None = None
        """The list, or `None` until it is complete, and in replays without one."""
        self.done = False
        """Whether further bytes cannot change the result."""
        self._buffer = b""
        self._widths: Sequence[int] | None = None
        self._parts = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file. If it doesn't begin like a replay, this raises `FormatError`."""
        if self.done:
            return
        self._buffer += data
        if self._widths is None:
            self._widths = self._read_widths()
        if self._widths is not None:
            self._take_events(self._widths)

    def _read_widths(self) -> Sequence[int] | None:
        container.check_magic(self._buffer)
        start = container.HEADER_BYTES
        if len(self._buffer) <= start:
            return None
        width = width_of_event_payloads(self._buffer, start, start)
        if width is None or len(self._buffer) < start + width:
            return None
        payloads = read_event_payloads(self._buffer[start : start + width])
        self._buffer = self._buffer[start + width :]
        self.done = not payloads.widths[MESSAGE_SPLITTER]
        return payloads.widths

    def _take_events(self, widths: Sequence[int]) -> None:
        """Take the events before the first frame."""
        past = 0
        for command, start, end in walk_events(self._buffer, 0, len(self._buffer), widths):
            if self.done:
                break
            past = end
            if command == MESSAGE_SPLITTER:
                self._take_part(block(self._buffer, start, end))
            elif command not in (GAME_START, GECKO_LIST, EVENT_PAYLOADS):
                self.done = True
        self._buffer = self._buffer[past:]
        if self._buffer and not widths[self._buffer[0]]:
            self.done = True  # the events end here

    def _take_part(self, part: tuple[bytes, bool] | None) -> None:
        if part is None:
            return
        data, is_last = part
        self._parts += data
        if len(self._parts) > MAX_BYTES:
            self.done = True
        elif is_last:
            self.data, self.done = bytes(self._parts), True


def read_code_list(chunks: Iterable[bytes]) -> CodeList | None:
    """Return the codes of the game in a file, or `None` if there is no complete list. This only takes as many bytes as
    it needs.

    Raises `FormatError` if there's something other than codes in the list, or if the file doesn't begin like a replay.
    """
    finder = GeckoListFinder()
    for chunk in chunks:
        finder.feed(chunk)
        if finder.done:
            break
    return None if finder.data is None else code_list(finder.data)
