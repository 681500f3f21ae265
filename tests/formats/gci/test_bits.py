"""The bit stream: round trips at any bit position, and the bit order of the format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.gci.bits import BitReader, BitWriter, OutOfBits
from tests.formats.gci.writer import finish, put_octets

MAX_FIELD_BITS = 57
"""The longest field that fits into the reader's window of 8 bytes after up to 7 bits of the field before."""

FIELDS = st.lists(
    st.integers(1, MAX_FIELD_BITS).flatmap(
        lambda bits: st.tuples(st.integers(0, (1 << bits) - 1), st.just(bits)),
    ),
    max_size=40,
)


def bits_of(data: bytes) -> str:
    """The bits of a stream as text: each byte from its least significant bit up."""
    return "".join(str(byte >> bit & 1) for byte in data for bit in range(8))


def test_first_bit_is_lowest_of_byte_and_highest_of_field() -> None:
    reader = BitReader(bytes([0b0000_0001, 0b1000_0000]))
    assert reader.take(1) == 1
    assert reader.take(7) == 0
    assert reader.take(8) == 1


@given(FIELDS)
def test_fields_round_trip_in_the_bit_order_of_the_format(fields: list[tuple[int, int]]) -> None:
    writer = BitWriter()
    for value, bits in fields:
        writer.put(value, bits)
    assert writer.at == sum(bits for _, bits in fields)
    data = writer.finish()
    stream = "".join(f"{value:0{bits}b}" for value, bits in fields)
    assert bits_of(data)[: len(stream)] == stream
    assert set(bits_of(data)[len(stream) :]) <= {"0"}
    reader = BitReader(data)
    assert [reader.take(bits) for _, bits in fields] == [value for value, _ in fields]


@given(st.binary(max_size=60), st.integers(0, 20), st.integers(1, MAX_FIELD_BITS))
def test_reading_many_fields_equals_reading_one_by_one(data: bytes, before: int, bits: int) -> None:
    many, single = BitReader(data), BitReader(data)
    before = min(before, many.size_bits)
    assert many.take(before) == single.take(before)
    count = many.left_bits // bits
    assert many.take_each(bits, count) == [single.take(bits) for _ in range(count)]
    assert many.at == single.at
    with pytest.raises(OutOfBits):
        many.take_each(bits, 1)


@given(st.binary(min_size=1, max_size=60), st.integers(0, 8), st.data())
def test_octets_can_begin_at_any_bit(data: bytes, before: int, draw: st.DataObject) -> None:
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
def test_rest_of_the_stream_round_trips(data: bytes, draw: st.DataObject) -> None:
    reader = BitReader(data)
    writer = BitWriter()
    bits = draw.draw(st.integers(0, min(reader.size_bits, MAX_FIELD_BITS)))
    writer.put(reader.take(bits), bits)
    assert finish(writer, reader.rest()).ljust(len(data), b"\0") == data


def test_error_at_the_end_of_the_stream_names_field_and_offset() -> None:
    reader = BitReader(b"\xff\xff", file_offset=100)
    reader.take(10)
    with pytest.raises(OutOfBits, match=r"inside the laps: 7 bits are needed, 6 are left, at offset 102") as caught:
        reader.take(7, "the laps")
    assert (caught.value.code, caught.value.offset) == ("truncated", 102)
    assert reader.take(6) == 63


@pytest.mark.parametrize(("value", "bits"), [(8, 3), (-1, 3), (1, 0)])
def test_value_that_does_not_fit_is_rejected(value: int, bits: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        BitWriter().put(value, bits)
