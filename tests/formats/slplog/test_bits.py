"""The memory stream, the bit packer, and inputs coded in bits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slplog.bits import BitPacker, BitUnpacker, MemoryStream
from slpstream.formats.slplog.pads import Held, Pad, held, put_runs, take_runs
from slpstream.model.errors import FieldError

PAD = Pad(12, (256, 141, 1 << 33))

fields = st.one_of(
    st.tuples(st.just("bit"), st.integers(0, 1)),
    st.integers(0, 70).flatmap(lambda bits: st.tuples(st.just(bits), st.integers(0, (1 << bits) - 1))),
    st.tuples(st.just("number"), st.integers(0, 1 << 36)),
    st.tuples(st.just("delta"), st.integers(-(1 << 35), 1 << 35)),
)
states = st.tuples(st.integers(0, (1 << PAD.buttons) - 1), st.tuples(*(st.integers(0, size - 1) for size in PAD.axes)))
runs = st.lists(
    st.builds(lambda state, frames: Held(state[0], state[1], frames), states, st.integers(1, 400)), max_size=40
)


@given(st.lists(fields, max_size=200), st.integers(0, 4))
def test_bit_fields_round_trip(rows: list[tuple[str | int, int]], shift: int) -> None:
    packer = BitPacker()
    for kind, value in rows:
        if kind == "bit":
            packer.put_bit(bool(value))
        elif kind == "number":
            packer.put_number(value, shift)
        elif kind == "delta":
            packer.put_delta(value, shift)
        else:
            packer.put(value, int(kind))
    size = len(packer)
    data = packer.to_bytes()
    assert len(data) == (size + 7) // 8
    bits = BitUnpacker(data)
    for kind, value in rows:
        if kind == "bit":
            assert bits.take_bit() == bool(value)
        elif kind == "number":
            assert bits.take_number(shift) == value
        elif kind == "delta":
            assert bits.take_delta(shift) == value
        else:
            assert bits.take(int(kind)) == value
    assert bits.at == size
    assert bits.left < 8
    with pytest.raises(FieldError):
        bits.take(8)


def test_bit_order_of_the_packer() -> None:
    packer = BitPacker()
    packer.put_bit(True)
    packer.put(0b0110, 4)
    packer.put_number(0)
    packer.put_delta(-1)
    assert packer.to_bytes() == bytes([0b1_0110_1_01, 0b0_0000000])
    with pytest.raises(ValueError, match="does not fit"):
        packer.put(4, 2)


def test_number_without_end_is_rejected() -> None:
    with pytest.raises(FieldError, match="too long"):
        BitUnpacker(bytes(100)).take_number()


@given(runs)
@settings(max_examples=60)
def test_runs_round_trip(given_runs: list[Held]) -> None:
    packer = BitPacker()
    put_runs(packer, PAD, given_runs)
    bits = BitUnpacker(packer.to_bytes())
    assert list(take_runs(bits, PAD, len(given_runs))) == given_runs


def test_pad_at_rest_takes_few_bits() -> None:
    resting = list(held([(0, (0, 0))] * 5000))
    assert resting == [Held(0, (0, 0), 5000)]
    packer = BitPacker()
    put_runs(packer, Pad(8, (256, 256)), resting)
    assert len(packer) < 32


def test_states_that_a_pad_does_not_have_are_rejected() -> None:
    for run in (Held(1 << 12, (0, 0, 0)), Held(0, (256, 0, 0)), Held(0, (0, 0)), Held(0, (0, 0, 0), 0)):
        with pytest.raises(ValueError, match=r"buttons|axis|state"):
            put_runs(BitPacker(), PAD, [run])


@given(st.lists(st.integers(0, 1 << 60)), st.lists(st.integers(-(1 << 59), 1 << 59)), st.binary())
def test_stream_round_trips(numbers: list[int], signed: list[int], octets: bytes) -> None:
    stream = MemoryStream()
    for value in numbers:
        stream.write_number(value)
    for value in signed:
        stream.write_signed(value)
    stream.write_octets(octets)
    read = MemoryStream(stream.to_bytes())
    assert [read.read_number() for _ in numbers] == numbers
    assert [read.read_signed() for _ in signed] == signed
    assert read.read_octets() == octets
    assert read.left == 0
    with pytest.raises(FieldError, match="too early"):
        MemoryStream(b"\x80").read_number()
    with pytest.raises(FieldError, match="too long"):
        MemoryStream(b"\x80" * 20).read_number()
