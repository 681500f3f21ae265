"""The writer: decoded files are written back byte for byte, and new or edited replays can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slpstream.formats.gci.body import (
    GO_FRAME,
    Body,
    Checkpoint,
    InputRun,
    Racer,
    read_body,
)
from slpstream.formats.gci.container import CHECKSUM_AT, checksum, read_container
from slpstream.formats.gci.custom import read_custom, write_custom
from slpstream.formats.gci.settings import Replay
from tests.formats.gci.logs import (
    GCI,
    codes,
    custom_machine,
    events_of,
    files,
    grand_prix,
    of_kind,
    runs,
    time_attack,
    with_custom,
)
from tests.formats.gci.writer import (
    MAX_RUN_FRAMES,
    ORIGIN,
    encode,
    equal_laps,
    fitted,
    new_replay,
    place,
    read_replay,
    write_body,
    write_emblems,
)
from tests.replays import needs_shared

REAL = [pytest.param(path, id=path.stem) for path in (*files(), *files(GCI / "bad"))]
REJECTED = {"truncated_header", "type_ghost", "other_game", "emblem"}
WRONG_CHECKSUM = {"bad_checksum", "body_bitflip"}


@needs_shared
@pytest.mark.parametrize("path", [param for param in REAL if param.id not in REJECTED])
def test_real_files_round_trip(path: Path) -> None:
    data = path.read_bytes()
    again = encode(read_replay(data))
    if path.stem in WRONG_CHECKSUM:
        assert again[:CHECKSUM_AT] + data[CHECKSUM_AT : CHECKSUM_AT + 2] + again[CHECKSUM_AT + 2 :] == data
        assert again[CHECKSUM_AT : CHECKSUM_AT + 2] == checksum(data).to_bytes(2, "big")
    else:
        assert again == data


@pytest.mark.parametrize("replay", [time_attack(), grand_prix(), with_custom()], ids=["ta", "gp", "custom"])
def test_synthetic_replays_round_trip(replay: Replay) -> None:
    data = encode(replay)
    assert read_replay(data) == replay
    assert codes(events_of(data, strict=True)) == []


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


def test_longer_body_makes_a_longer_file() -> None:
    replay = time_attack(10)
    assert (replay.length_bytes, replay.entry.block_count) == (0x4040, 2)
    edited = replace(replay, body=replace(replay.body, inputs=tuple(runs(3000)), total_frames=9999))
    with pytest.raises(ValueError, match=r"see fitted\(\)"):
        encode(edited)
    longer = fitted(edited)
    assert (longer.length_bytes, longer.entry.block_count) == (0x8040, 4)
    assert codes(events_of(encode(longer), strict=True)) == [("info", "clamped")]


def test_edit_of_the_same_length_keeps_the_padding() -> None:
    data = bytearray(encode(time_attack(10)))
    data[-1] = 0x80
    data[CHECKSUM_AT : CHECKSUM_AT + 2] = checksum(bytes(data)).to_bytes(2, "big")
    replay = read_replay(bytes(data))
    assert replay.body.rest[-1:] == b"\x80"
    assert encode(replay) == bytes(data)
    edited = encode(replace(replay, body=replace(replay.body, course=36)))
    assert read_container(edited).body[-1:] == b"\x80"
    assert read_replay(edited).body.course == 36


def test_new_replays_have_laps() -> None:
    events = events_of(encode(time_attack(300)))
    assert [(lap.values["index"], lap.values["frames"]) for lap in of_kind(events, "lap")]
    assert [c.frame1 for c in equal_laps(3, 3314)] == [182, 1226, 2270, 3315]


def test_custom_machines_round_trip() -> None:
    machine = custom_machine()
    assert read_custom(write_custom(machine)) == machine
    assert machine.emblems[0].size == pytest.approx((0.35, 0.2))
    assert [emblem.part for emblem in machine.emblems] == [0, 1, 0, 0]
    assert write_emblems(*machine.emblems) == machine.emblem_blocks
    with pytest.raises(ValueError, match="4 emblem slots"):
        write_emblems(*machine.emblems, machine.emblems[0])


BODY = time_attack(10).body
RUN = InputRun()
CASES: dict[str, dict[str, Any]] = {
    "racers: 32": {"racers": (Racer(human=0),) * 32, "human_flags": (), "human_pairs": ()},
    "inputs: 0": {"inputs": ()},
    "inputs: 16385": {"inputs": (RUN,) * 16385},
    "human_flags: 0 for 1": {"human_flags": ()},
    "human_pairs: 2": {"human_pairs": (0, 0)},
    "total_frames: needed": {"total_frames": None},
    "total_frames: 1048576": {"total_frames": 1 << 20},
    "course: 64": {"course": 64},
    "color: needed": {"racers": (Racer(),)},
    "a CPU has no custom": {"racers": (Racer(human=0, custom=custom_machine()), Racer(color=0))},
    "frames: -1 does": {"inputs": (InputRun(frames=0),)},
    "frames: 256 does": {"inputs": (InputRun(frames=257),)},
    "strafe: 128": {"inputs": (InputRun(strafe=128),)},
    "accel: 128": {"inputs": (InputRun(accel=128),)},
    "checkpoint_count: 256": {"checkpoints": tuple(equal_laps(255, 9999))},
    "frame1: 16384": {"checkpoints": (Checkpoint(frame1=1 << 14, frame2=0, places=(ORIGIN,) * 4),)},
}


@pytest.mark.parametrize("message", CASES)
def test_body_that_does_not_fit_is_rejected(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_body(replace(BODY, **CASES[message]))


def test_texts_and_pictures_that_do_not_fit_are_rejected() -> None:
    with pytest.raises(ValueError, match="needs 61 bytes"):
        new_replay([RUN], comment="x" * 61)
    with pytest.raises(ValueError, match="banner and icon end"):
        encode(replace(time_attack(5), banner=b""))
    with pytest.raises(ValueError, match="slider"):
        write_custom(replace(custom_machine(), slider=256))


def test_places_are_rounded_to_binary32() -> None:
    checkpoint = Checkpoint(frame1=GO_FRAME, frame2=GO_FRAME, places=(place(0.1, -1.5, 0.0), ORIGIN, ORIGIN, ORIGIN))
    assert checkpoint.positions[0] == (0.10000000149011612, -1.5, 0.0)
    body = replace(BODY, checkpoints=(checkpoint,))
    assert read_body(write_body(body)).body.checkpoints == (checkpoint,)
