"""Any body that the bit stream can represent is read as it was written."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slpstream.formats.gci.body import Body, Checkpoint, InputRun, Racer
from slpstream.formats.gci.settings import Replay
from tests.formats.gci.logs import custom_machine, events_of
from tests.formats.gci.writer import MAX_RUN_FRAMES, encode, fitted, read_replay
from tests.formats.logs import codes

bits = st.integers


def places() -> st.SearchStrategy[tuple[int, int, int]]:
    pattern = bits(0, 0xFFFFFFFF)
    return st.tuples(pattern, pattern, pattern)


CHECKPOINTS = st.builds(
    Checkpoint,
    frame1=bits(0, 0x3FFF),
    frame2=bits(0, 0x3FFF),
    places=st.tuples(places(), places(), places(), places()),
    unknown_1=bits(0, 15),
    **{f"unknown_{number}": bits(0, 31) for number in range(2, 7)},
)
SIGNED = bits(-128, 127)
RUNS = st.builds(
    InputRun,
    buttons=bits(0, 255),
    strafe=SIGNED,
    accel=bits(0, 127),
    brake=bits(0, 127),
    frames=bits(1, MAX_RUN_FRAMES),
    steer_x=SIGNED,
    steer_y=SIGNED,
)
MACHINES = st.builds(
    lambda machine, octets: replace(
        machine, kind=octets[:5], unknown_8=octets[5:12], unknown_16=octets[12:28], pilot_rest=octets[28:]
    ),
    st.sampled_from([custom_machine(), replace(custom_machine(), body=200)]),
    st.binary(min_size=31, max_size=31),
)


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    """Any body that the bit stream can represent, of any racer array type."""
    array_type = draw(st.sampled_from([5, 5, 5, 0, 1, 2, 3, 4, 6, 127]))
    racers = []
    for human in draw(st.lists(bits(0, 1), max_size=6)):
        values: dict[str, Any] = {"human": human, "machine": draw(bits(0, 63))}
        values["ai"] = draw(bits(0, 31)) if array_type >= 4 else None
        values["slider"] = draw(bits(0, 127)) if array_type >= 3 else None
        if human:
            values["color"] = draw(bits(0, 3))
            values["old_slider"] = draw(bits(0, 127)) if array_type <= 1 else None
            values["custom"] = draw(st.none() | st.none() | MACHINES)
        racers.append(Racer(**values))
    humans = sum(racer.human for racer in racers)
    return Body(
        tick_low=draw(bits(0, 255)),
        array_type=array_type,
        course=draw(bits(0, 63)),
        unknown_a=draw(bits(0, 0xFFFFFFFF)),
        unknown_b=draw(bits(0, 0xFFFFFFFF)),
        difficulty=draw(bits(0, 7)),
        mode=draw(bits(0, 3)),
        unknown_flag=draw(bits(0, 1)),
        laps=draw(bits(0, 127)),
        racers=tuple(racers),
        human_flags=tuple(draw(st.tuples(*[bits(0, 1)] * humans))) if array_type >= 5 else (),
        human_pairs=tuple(draw(st.tuples(*[bits(0, 3)] * humans))),
        total_frames=draw(bits(0, (1 << 20) - 1)) if array_type >= 5 else None,
        checkpoints=tuple(draw(st.lists(CHECKPOINTS, max_size=5))),
        inputs=tuple(draw(st.lists(RUNS, min_size=1, max_size=12))),
    )


@settings(max_examples=40, deadline=None)
@given(bodies())
def test_any_body_round_trips(body: Body) -> None:
    replay = fitted(Replay(body=body))
    data = encode(replay)
    assert read_replay(data) == replay
    assert encode(read_replay(data)) == data
    assert codes(events_of(data))[:1] != [("warning", "checksum")]
