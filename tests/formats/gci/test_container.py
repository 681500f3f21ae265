"""The container: checksum, field tables, times, texts, rejected files, and `sniff`."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.gci.container import (
    BODY_AT,
    MAX_BYTES,
    Entry,
    checksum,
    read_container,
    sniff,
)
from slpstream.model.errors import FormatError, FramingError, Unsupported, WrongFormat
from tests.formats.gci.logs import time_attack
from tests.formats.gci.writer import encode


def crc_x25(data: bytes) -> int:
    """CRC-16/X-25 bit by bit, straight from its definition."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
    return crc ^ 0xFFFF


def test_checksum_has_the_published_check_value() -> None:
    assert crc_x25(b"123456789") == 0x906E
    assert checksum(bytes(0x42) + b"123456789") == 0x906E


@given(st.binary(max_size=300))
def test_checksum_equals_the_definition(data: bytes) -> None:
    assert checksum(data) == crc_x25(data[0x42:])


@pytest.mark.parametrize(
    ("comment", "modified", "name", "saved"),
    [
        # The time of the directory entry is in the minute of the comment, and has the seconds.
        (b"18/05/08 12:34", 579098096, b"", "2018-05-08T12:34:56"),
        # In a copy the entry has another time, but the file name has the seconds.
        (b"18/05/08 12:34", 600000000, b"fzr000035805352CF304F4256.dat", "2018-05-08T12:34:56"),
        (b"18/05/08 12:34", 600000000, b"anything.dat", "2018-05-08T12:34:00"),
        # No time in the comment.
        (b"18/13/08 12:34", 579098096, b"fzr000035805352CF304F4256.dat", "2018-05-08T12:34:56"),
        (b"my best race", 0, b"", "2000-01-01T00:00:00"),
        (b"", 0xFFFFFFFF, b"fzrFFFFFFFFFFFFFFFFFFFFFF.dat", "2136-02-07T06:28:15"),
    ],
)
def test_saved_at_combines_comment_entry_and_file_name(comment: bytes, modified: int, name: bytes, saved: str) -> None:
    assert Entry(comment=comment, modified=modified, file_name=name).saved_at.isoformat() == saved


def test_file_name_of_a_replay_has_the_console_clock() -> None:
    assert Entry(file_name=b"fzr000035804D31D70EE97E77.dat\0\0\0").named_at == dt.datetime(2016, 12, 31, 12, 37, 15)
    assert Entry(file_name=b"fzg000035804D31D70EE97E77.dat\0\0\0").named_at is None


@pytest.mark.parametrize(
    ("game_code", "raw", "text"),
    [
        (b"GFZE", b"F-ZERO GX\0leftover", "F-ZERO GX"),
        (b"GFZP", b"Caf\xe9 \x81", "Café �"),
        (b"GFZJ", "エフゼロ－".encode("cp932"), "エフゼロ－"),
        (b"GFZJ", b"\x81 \x81", "� �"),
    ],
)
def test_texts_end_at_the_first_nul(game_code: bytes, raw: bytes, text: str) -> None:
    entry = Entry(game_code=game_code, title=raw.ljust(32, b"\0"), comment=raw.ljust(60, b"\0"))
    assert (entry.title_text, entry.comment_text) == (text, text)


GOOD = encode(time_attack(20))


def altered(offset: int, octets: bytes) -> bytes:
    return GOOD[:offset] + octets + GOOD[offset + len(octets) :]


@pytest.mark.parametrize(
    ("data", "error", "offset", "message"),
    [
        (b"", WrongFormat, 0, "game code"),
        (b"GFZ", WrongFormat, 0, "game code"),
        (altered(0, b"GALE"), WrongFormat, 0, "GALE"),
        (altered(3, b"\xc9"), WrongFormat, 0, "game code"),
        (GOOD[:4], FramingError, 4, "ends inside"),
        (GOOD[: BODY_AT - 1], FramingError, BODY_AT - 1, "ends inside"),
        (altered(0x42, b"\x02\x01"), Unsupported, 0x42, "no replay: ghost"),
        (altered(0x42, b"\x03\x01")[:0x100], Unsupported, 0x42, "no replay: garage"),
        (altered(0x42, b"\x04\x01"), Unsupported, 0x42, "no replay: emblem"),
        (altered(0x42, b"\x01\x0b"), Unsupported, 0x42, "no replay: save"),
        (altered(0x42, b"\x99\x99"), Unsupported, 0x42, "unknown kind .file type 0x9999"),
        (GOOD.ljust(MAX_BYTES + 1, b"\0"), FramingError, MAX_BYTES, "longer"),
    ],
)
def test_other_and_damaged_files_are_rejected(data: bytes, error: type[FormatError], offset: int, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        read_container(data)
    assert type(caught.value) is error
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("head", "size_bytes", "name", "answer"),
    [
        (GOOD[:0x500], len(GOOD), "a.gci", "yes"),
        (GOOD[:0x44], None, "", "yes"),
        (GOOD[:0x43], None, "a.gci", "maybe"),
        (b"G", None, "", "maybe"),
        (altered(0x42, b"\x02\x01")[:0x500], None, "", "yes"),
        (altered(0x42, b"\x99\x99")[:0x500], None, "", "maybe"),
        (altered(0, b"GALE")[:0x500], len(GOOD), "a.gci", "no"),
        (b"{U\x03raw", None, "a.gci", "no"),
        (b"", None, "A.GCI", "maybe"),
        (b"", None, "a.slp", "no"),
        (b"", 0, "a.gci", "no"),
    ],
)
def test_sniff(head: bytes, size_bytes: int | None, name: str, answer: str) -> None:
    assert sniff(head, size_bytes, name) == answer
