"""Yaz0: round trips, and rejection of hostile blocks."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.mk8.sections import BLOCK_BYTES
from slpstream.formats.mk8.yaz0 import decompress
from slpstream.model.errors import FramingError
from tests.formats.mk8.built import yaz0


def unpacked(block: bytes, max_work: int = 10**6) -> bytes:
    return decompress(block, max_bytes=BLOCK_BYTES, max_work=max_work, offset=1000)[0]


def block(size: int, body: bytes) -> bytes:
    return b"Yaz0" + struct.pack(">I8x", size) + body


@given(st.one_of(st.binary(max_size=200), st.lists(st.integers(0, 3), max_size=1500).map(bytes)), st.booleans())
@settings(max_examples=150)
def test_round_trip(data: bytes, padded: bool) -> None:
    assert unpacked(yaz0(data, padded=padded)) == data


@given(st.binary(max_size=300), st.integers(0, 0x8000))
@settings(max_examples=200)
def test_any_bytes_give_the_declared_size_or_a_format_error(body: bytes, size: int) -> None:
    try:
        data = unpacked(block(size, body))
    except FramingError as error:
        offset = error.offset
    else:
        assert len(data) == size
        return
    assert 1000 <= offset <= 1000 + 16 + len(body)


@given(st.lists(st.integers(0, 3), min_size=20, max_size=400).map(bytes), st.integers(1, 15))
@settings(max_examples=80)
def test_truncated_block_is_rejected(data: bytes, cut: int) -> None:
    packed = yaz0(data, padded=False)
    with pytest.raises(FramingError):
        unpacked(packed[:-cut])


def test_copies_may_overlap_their_own_output() -> None:
    assert unpacked(block(1 + 3, b"\x80A\x10\x00")) == b"AAAA"
    assert unpacked(block(1 + 17, b"\x80A\xf0\x00")) == b"A" * 18
    assert unpacked(block(1 + 18, b"\x80A\x00\x00\x00")) == b"A" * 19
    assert unpacked(block(1 + 273, b"\x80A\x00\x00\xff")) == b"A" * 274
    assert unpacked(block(9, b"\xc0AB\x50\x01")) == b"ABABABABA"
    assert unpacked(block(6, b"\xf0ABCD\x10\x03")) == b"ABCDAB", "the last copy is cut at the size"
    assert unpacked(block(0, b"")) == b""
    assert unpacked(block(2, b"\xc0AB" + bytes(40))) == b"AB", "padding is ignored"


@pytest.mark.parametrize(
    ("data", "offset", "words"),
    [
        (b"", 1000, "no room"),
        (b"Yaz1" + bytes(20), 1000, "begins with"),
        (block(0xFFFFFFFF, bytes(1000)), 1004, "are the most"),
        (block(0x8001, bytes(1000)), 1004, "are the most"),
        (block(0x8000, bytes(100)), 1004, "cannot hold"),
        (block(10, b"\x00\x10\x00"), 1019, "before the start"),
        (block(10, b"\x80A\x10\x01"), 1020, "before the start"),
        (block(10, b"\xffABCD"), 1021, "after 4 of the 10"),
        (block(10, b"\x80A\x10"), 1019, "after 1 of the 10"),
        (block(30, b"\x80A\x00\x00"), 1020, "after 1 of the 30"),
    ],
)
def test_hostile_block_is_rejected(data: bytes, offset: int, words: str) -> None:
    with pytest.raises(FramingError, match=words) as caught:
        unpacked(data)
    assert caught.value.offset == offset


def test_work_is_counted_and_limited() -> None:
    data = bytes(range(256)) * 2
    packed = yaz0(data)
    _, work = decompress(packed, max_bytes=BLOCK_BYTES, max_work=1000, offset=0)
    assert 32 * 2 < work < 1000
    with pytest.raises(FramingError, match="more work"):
        unpacked(packed, work // 2)
