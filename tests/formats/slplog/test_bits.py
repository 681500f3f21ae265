"""The memory stream, the bit packer, and inputs coded in bits."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.commands import PRE_FRAME
from slpstream.formats.slplog.bits import BitPacker, BitUnpacker, MemoryStream
from slpstream.formats.slplog.pads import Held, Pad, held, put_runs, take_runs
from slpstream.model.errors import FieldError
from tests.formats.slippi.built import Built, event, post, pre
from tests.formats.slplog.asserting_stream import AssertingStream, Difference
from tests.formats.slplog.input_tracks import (
    EIGHT_STEPS,
    MELEE_PAD,
    Track,
    apply_step,
    axis_pattern,
    melee_pads,
    pack_track,
    quantise_step,
)

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
@settings(deadline=None)
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


@given(st.lists(st.integers(0, 1 << 60)), st.lists(st.integers(-(1 << 59), 1 << 59)), st.floats(), st.binary())
@settings(deadline=None)
def test_stream_round_trips_and_asserts_its_values(
    numbers: list[int], signed: list[int], number: float, octets: bytes
) -> None:
    stream = AssertingStream()
    for value in numbers:
        stream.write_number(value)
    for value in signed:
        stream.write_signed(value)
    stream.write_float(number)
    stream.write_octets(octets)
    read, compared = AssertingStream(stream.to_bytes()), AssertingStream(stream.to_bytes())
    assert [read.read_number() for _ in numbers] == numbers
    assert [read.read_signed() for _ in signed] == signed
    assert struct.pack(">d", read.read_float()) == struct.pack(">d", number)
    assert read.read_octets() == octets
    assert read.left == 0
    for value in numbers:
        compared.assert_number("n", value)
    for value in signed:
        compared.assert_signed("s", value)
    compared.assert_float("f", number)
    compared.assert_octets("o", octets)


def test_assertion_names_the_difference() -> None:
    stream = AssertingStream()
    stream.write_number(7)
    stream.write_float(0.0)
    stream = AssertingStream(stream.to_bytes())
    with pytest.raises(Difference, match="percent: 7 is stored, 8 was found"):
        stream.assert_number("percent", 8)
    with pytest.raises(Difference, match=r"position: 0\.0 is stored, -0\.0 was found"):
        stream.assert_float("position", -0.0)
    nan = AssertingStream()
    nan.write_float(math.nan)
    AssertingStream(nan.to_bytes()).assert_float("nan", math.nan)
    with pytest.raises(FieldError, match="too early"):
        MemoryStream(b"\x80").read_number()
    with pytest.raises(FieldError, match="too long"):
        MemoryStream(b"\x80" * 20).read_number()


@given(runs)
@settings(max_examples=60, deadline=None)
def test_runs_round_trip(given_runs: list[Held]) -> None:
    packer = BitPacker()
    put_runs(packer, PAD, given_runs)
    bits = BitUnpacker(packer.to_bytes())
    assert list(take_runs(bits, PAD, len(given_runs))) == given_runs


@given(runs, st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_track_is_read_at_any_frame(given_runs: list[Held], keyframe_frames: int) -> None:
    frames = [(run.buttons, run.axes) for run in given_runs for _ in range(run.frames)]
    track = Track(pack_track(PAD, given_runs, keyframe_frames))
    assert track.segments == -(-len(frames) // keyframe_frames)
    for frame in range(0, len(frames), 37):
        assert track.at(frame) == frames[frame]
    for outside in (-1, track.segments * keyframe_frames):
        with pytest.raises(IndexError):
            track.at(outside)
    whole = [state for i in range(track.segments) for run in track.runs(i) for state in [run[:2]] * run.frames]
    assert whole == frames


def test_pad_at_rest_takes_few_bits() -> None:
    resting = list(held([(0, (0, 0))] * 5000))
    assert resting == [Held(0, (0, 0), 5000)]
    packer = BitPacker()
    put_runs(packer, Pad(8, (256, 256)), resting)
    assert len(packer) < 32


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_random_bytes_as_a_track_raise_only_field_errors(data: bytes) -> None:
    try:
        track = Track(data)
        for segment in range(min(track.segments, 50)):
            for run in track.runs(segment)[:100]:
                assert run.frames > 0
    except FieldError:
        pass


def test_states_that_a_pad_does_not_have_are_rejected() -> None:
    for run in (Held(1 << 12, (0, 0, 0)), Held(0, (256, 0, 0)), Held(0, (0, 0)), Held(0, (0, 0, 0), 0)):
        with pytest.raises(ValueError, match=r"buttons|axis|state"):
            put_runs(BitPacker(), PAD, [run])


@given(st.integers(0, 255), st.integers(0, 255))
@settings(deadline=None)
def test_quantised_step_restores_the_played_value(old: int, target: int) -> None:
    index, played = quantise_step(old, target)
    if index is None:
        assert played == old
        assert abs(target - old) < 4
    else:
        assert apply_step(old, index) == played
        assert 0 <= index < len(EIGHT_STEPS) == 8
        assert abs(target - played) < abs(target - old) or abs(target - old) <= 8


def test_repeated_steps_approach_the_target() -> None:
    value = 0
    for _ in range(20):
        value = quantise_step(value, 203)[1]
    assert abs(value - 203) < 4


def test_pads_of_a_game_match_its_pre_frame_updates() -> None:
    """Values are on the grid, off it, and not finite; one frame is sent twice."""
    game = Built()
    off_grid = {"joystick_x": 0.123, "c_stick_y": float("nan"), "physical_r_trigger": -0.0, "trigger": 1.0}
    for number in range(-123, -80):
        on_grid = {"joystick_x": (number % 160) / 80 - 1, "physical_l_trigger": 70 / 140}
        values = off_grid if number % 7 == 0 else on_grid
        first = event(PRE_FRAME, frame=number, physical_buttons=number & 0xFFFF, **values)
        game.add(first, pre(number, 1), post(number, 0), post(number, 1))
    game.add(pre(-100, 0, joystick_y=1.0))
    data = game.so_far()
    tracks = {player: Track(pack_track(MELEE_PAD, runs, 10)) for player, runs in melee_pads(data).items()}
    assert set(tracks) == {0, 1}
    offsets = {field.name: field.offset for field in PRE_FRAME.fields}
    names = ("joystick_x", "joystick_y", "c_stick_x", "c_stick_y", "physical_l_trigger", "physical_r_trigger")
    for number in range(-123, -80):
        at = data.rindex(b"\x37" + number.to_bytes(4, "big", signed=True) + b"\0\0")
        buttons_held, axes = tracks[0].at(number + 123)
        assert buttons_held == int.from_bytes(data[at + offsets["physical_buttons"] :][:2], "big")
        for axis, (name, value) in enumerate(zip(names, axes, strict=True)):
            assert axis_pattern(axis, value) == int.from_bytes(data[at + offsets[name] :][:4], "big")
