"""The bit stream: what is put comes back, wherever it begins; and it is the order that the format has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.gci.bits import BitReader, BitWriter, OutOfBits
from tests.formats.gci.writer import finish, put_octets

MAX_FIELD_BITS = 57
"""What the reader's window of 8 bytes holds after up to 7 bits of the field before."""

FIELDS = st.lists(
    st.integers(1, MAX_FIELD_BITS).flatmap(
        lambda bits: st.tuples(st.integers(0, (1 << bits) - 1), st.just(bits)),
    ),
    max_size=40,
)


def one_by_one(data: bytes) -> str:
    """The stream as text, by the words of the format: each byte from its least significant bit up."""
    return "".join(str(byte >> bit & 1) for byte in data for bit in range(8))


def test_the_first_bit_is_the_lowest_of_the_byte_and_the_highest_of_the_field() -> None:
    reader = BitReader(bytes([0b0000_0001, 0b1000_0000]))
    assert reader.take(1) == 1
    assert reader.take(7) == 0
    assert reader.take(8) == 1


@given(FIELDS)
def test_fields_come_back_and_stand_where_the_format_says(fields: list[tuple[int, int]]) -> None:
    writer = BitWriter()
    for value, bits in fields:
        writer.put(value, bits)
    assert writer.at == sum(bits for _, bits in fields)
    data = writer.finish()
    stream = "".join(f"{value:0{bits}b}" for value, bits in fields)
    assert one_by_one(data)[: len(stream)] == stream
    assert set(one_by_one(data)[len(stream) :]) <= {"0"}
    reader = BitReader(data)
    assert [reader.take(bits) for _, bits in fields] == [value for value, _ in fields]


@given(st.binary(max_size=60), st.integers(0, 20), st.integers(1, MAX_FIELD_BITS))
def test_many_at_once_are_the_same_as_one_by_one(data: bytes, before: int, bits: int) -> None:
    many, single = BitReader(data), BitReader(data)
    before = min(before, many.size_bits)
    assert many.take(before) == single.take(before)
    count = many.left_bits // bits
    assert many.take_each(bits, count) == [single.take(bits) for _ in range(count)]
    assert many.at == single.at
    with pytest.raises(OutOfBits):
        many.take_each(bits, 1)


@given(st.binary(min_size=1, max_size=60), st.integers(0, 8), st.data())
def test_octets_begin_at_any_bit(data: bytes, before: int, draw: st.DataObject) -> None:
    reader, single = BitReader(data), BitReader(data)
    assert reader.take(before) == single.take(before)
    count = draw.draw(st.integers(0, reader.left_bits // 8))
    octets = reader.take_octets(count)
    assert list(octets) == [single.take(8) for _ in range(count)]
    writer = BitWriter()
    writer.put(0, before)
    put_octets(writer, octets)
    again = BitReader(writer.finish())
    again.take(before)
    assert again.take_octets(count) == octets


@given(st.binary(max_size=30), st.data())
def test_what_is_left_comes_back_behind_what_was_taken(data: bytes, draw: st.DataObject) -> None:
    reader = BitReader(data)
    writer = BitWriter()
    bits = draw.draw(st.integers(0, min(reader.size_bits, MAX_FIELD_BITS)))
    writer.put(reader.take(bits), bits)
    assert finish(writer, reader.rest()).ljust(len(data), b"\0") == data


def test_the_end_of_the_stream_is_named() -> None:
    reader = BitReader(b"\xff\xff", file_offset=100)
    reader.take(10)
    with pytest.raises(OutOfBits, match=r"inside the laps: 7 bits are needed, 6 are left, at offset 102") as caught:
        reader.take(7, "the laps")
    assert (caught.value.code, caught.value.offset) == ("truncated", 102)
    assert reader.take(6) == 63


@pytest.mark.parametrize(("value", "bits"), [(8, 3), (-1, 3), (1, 0)])
def test_what_does_not_fit_is_refused(value: int, bits: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        BitWriter().put(value, bits)


def test_a_rest_that_overlaps_is_refused() -> None:
    writer = BitWriter()
    writer.put(1, 3)
    with pytest.raises(ValueError, match="overlaps"):
        finish(writer, b"\x04")
