"""The writer: values to bytes and back, in both layouts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.stunts.inputs import InputRuns
from slpstream.formats.stunts.layout import NEW, OLD, StuntsReplay, unpack
from slpstream.formats.stunts.track import TRACK_BYTES, Track
from tests.formats.stunts import built
from tests.formats.stunts.writer import encode

U8 = st.integers(0, 0xFF)
TRACKS = st.builds(lambda part: Track((part * TRACK_BYTES)[:TRACK_BYTES]), st.binary(min_size=1, max_size=50))


@st.composite
def replays(draw: st.DrawFn) -> StuntsReplay:
    old = draw(st.booleans())
    return StuntsReplay(
        layout="old" if old else "new",
        car=draw(st.binary(min_size=4, max_size=4)),
        color=draw(U8),
        transmission=draw(U8),
        opponent_id=draw(U8),
        opponent_car=draw(st.binary(min_size=4, max_size=4)),
        opponent_color=draw(U8),
        opponent_transmission=draw(U8),
        track_name=draw(st.binary(min_size=9, max_size=9)),
        frequency_hz=20 if old else draw(st.integers(0, 0xFFFF)),
        track=draw(TRACKS),
        inputs=InputRuns(draw(st.binary(max_size=200))),
    )


@given(replays())
@settings(max_examples=150, deadline=None)
def test_round_trip(replay: StuntsReplay) -> None:
    data = encode(replay)
    layout = NEW if replay.layout == "new" else OLD
    assert layout.fits(data, len(data))
    assert unpack(data, layout) == replay
    recording = built.read(data)
    assert recording.replay == replay or recording.replay.layout == "new"
    assert encode(recording.replay) == data


@given(replays(), st.data())
@settings(max_examples=60, deadline=None)
def test_changed_input_byte_changes_one_byte_of_the_file(replay: StuntsReplay, data: st.DataObject) -> None:
    if not len(replay.inputs):
        return
    at = data.draw(st.integers(0, len(replay.inputs) - 1))
    inputs = bytearray(bytes(replay.inputs))
    inputs[at] ^= 0x01
    changed = msgspec.structs.replace(replay, inputs=InputRuns(bytes(inputs)))
    before, after = encode(replay), encode(changed)
    different = [index for index, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert different == [len(before) - len(inputs) + at]


def test_shorter_texts_are_padded() -> None:
    replay = msgspec.structs.replace(built.replay(), track_name=b"A", car=b"X")
    assert encode(replay)[:4] == b"X\0\0\0"
    assert encode(replay)[13:22] == b"A" + bytes(8)


@pytest.mark.parametrize(
    "changes",
    [
        {"color": 256},
        {"frequency_hz": 65536},
        {"car": b"VETTE"},
        {"track_name": b"0123456789"},
        {"inputs": InputRuns(bytes(65536))},
        {"track": Track(b"")},
        {"layout": "old", "frequency_hz": 10},
    ],
)
def test_replay_that_does_not_fit_the_layout_is_rejected(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        encode(msgspec.structs.replace(built.replay(), **changes))
