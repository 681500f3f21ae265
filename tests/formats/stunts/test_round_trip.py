"""Any values are read as they were written, in both layouts."""

from __future__ import annotations

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
