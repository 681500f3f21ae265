"""Fuzzing: a damaged replay gives a `FormatError` or a log that keeps the rules of all logs.

A normal run tries a few thousand inputs. `python -m tests.formats.gci.test_fuzz --seconds 600` runs for ten minutes
and prints how many inputs it tried. `SLPSTREAM_FUZZ_SECONDS` sets the approximate duration of a normal run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slpstream.formats.gci.bits import OutOfBits
from slpstream.formats.gci.body import InputRun, Racer, read_body
from slpstream.formats.gci.container import BODY_AT, CHECKSUM_AT, read_container, sniff
from slpstream.formats.gci.reader import MAX_FRAMES, GciReader
from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Event, Frame, GameEnd, GameStart
from slpstream.model.messages import body_of
from tests.formats.gci.logs import GCI, custom_machine, files, grand_prix, runs, time_attack, with_checksum, with_custom
from tests.formats.gci.writer import encode, new_replay, read_replay
from tests.replays import needs_shared

SECONDS = float(os.environ.get("SLPSTREAM_FUZZ_SECONDS", "10"))
# Measured on a slow machine; hypothesis limits the number of examples, not the time.
EXAMPLES_PER_SECOND = 60

STEP_FRAMES = 60

Edit = tuple[str, int, int]
"""Kind of change, offset (limited to the length of the file), and a value."""


@cache
def built() -> tuple[bytes, ...]:
    """Good files made by the project's own writer."""
    humans = [Racer(color=0), Racer(color=1, custom=custom_machine()), Racer(human=0)]
    replays = [
        time_attack(40),
        grand_prix(),
        with_custom(),
        new_replay([InputRun(frames=256)] * 30),
        new_replay(runs(30), racers=humans, mode=1),
        new_replay(runs(30), racers=[Racer(color=0, ai=None, slider=None, old_slider=1)], array_type=0),
    ]
    return tuple(encode(replay) for replay in replays)


@cache
def real() -> tuple[bytes, ...]:
    """The files of the data folder."""
    return tuple(path.read_bytes() for path in (*files(), *files(GCI / "bad")))


OFFSETS = st.one_of(
    st.integers(0, 0x80),
    st.integers(0, 40).map(lambda at: BODY_AT + at),
    st.integers(0, 600).map(lambda at: BODY_AT + at),
    st.integers(0, 0x20000),
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["bit", "bit", "byte", "fill", "cut", "drop", "repeat", "splice"]),
        OFFSETS,
        st.integers(0, 0xFFFF),
    ),
    min_size=1,
    max_size=8,
)


def edited(data: bytes, edits: list[Edit], other: bytes) -> bytes:
    """A file after some edits."""
    buffer = bytearray(data)
    for kind, offset, value in edits:
        at = min(offset, max(len(buffer) - 1, 0))
        if not buffer:
            break
        if kind == "bit":
            buffer[at] ^= 1 << (value & 7)
        elif kind == "byte":
            buffer[at] = value & 0xFF
        elif kind == "fill":
            buffer[at : at + value % 300] = bytes([value >> 8]) * min(value % 300, len(buffer) - at)
        elif kind == "cut":
            del buffer[at + value % 64 :]
        elif kind == "drop":
            del buffer[at : at + value % 64]
        elif kind == "repeat":
            buffer[at:at] = buffer[at : at + value % 512]
        else:
            buffer[at:] = other[at:]
    return bytes(buffer)


@st.composite
def inputs_from(draw: st.DrawFn, bases: tuple[bytes, ...]) -> bytes:
    """A damaged file; in half of all cases its checksum is right."""
    data = edited(draw(st.sampled_from(bases)), draw(EDITS), draw(st.sampled_from(bases)))
    return with_checksum(data) if draw(st.booleans()) and len(data) > CHECKSUM_AT + 2 else data


def check(data: bytes) -> str:
    """Check the rules that hold for any bytes. Returns `read`, or the code of the error."""
    assert sniff(data[:0x500], len(data), "a.gci") in {"yes", "no", "maybe"}
    for strict in (True, False):
        reader = GciReader(strict=strict)
        events = reader.feed(data) + reader.finish()
        if reader.failure is not None:
            check_failure(reader, events, len(data))
        else:
            check_log(reader, events, len(data))
    if reader.failure is not None:
        return reader.failure.code
    check_round_trip(data)
    return "read"


def check_failure(reader: GciReader, events: list[Event], size_bytes: int) -> None:
    failure = reader.failure
    assert isinstance(failure, FormatError)
    assert 0 <= failure.offset <= size_bytes
    assert failure.code in {"wrong_format", "unsupported", "framing", "truncated", "checksum"}
    (event,) = events
    assert isinstance(event, Diagnostic)
    assert (event.severity, event.code, event.offset) == ("error", failure.code, failure.offset)
    assert reader.closed


def check_log(reader: GciReader, events: list[Event], size_bytes: int) -> None:
    recording = reader.recording
    assert recording is not None
    count = recording.frame_count
    assert 0 <= count <= MAX_FRAMES
    # Frames at the start come from the reader, those at the end from the recording; there may be 100,000 in between.
    events += reader.more(STEP_FRAMES)
    if reader.pending:
        events += recording.frame_events(max(count - STEP_FRAMES, STEP_FRAMES), count)
        events += recording.tail
    assert isinstance(events[0], GameStart)
    assert isinstance(events[-1], GameEnd)
    assert sum(isinstance(event, GameStart | GameEnd) for event in events) == 2
    diagnostics = [event for event in events if isinstance(event, Diagnostic)]
    assert diagnostics == events[1 : 1 + len(diagnostics)]
    assert max(Counter(event.code for event in diagnostics).values(), default=0) <= 1
    assert all(event.severity != "error" and 0 <= event.offset <= size_bytes for event in diagnostics)
    offsets = [event.end_offset for event in events]
    assert offsets == sorted(offsets)
    assert offsets[0] > 0
    assert offsets[-1] == size_bytes
    numbers = [event.number for event in events if isinstance(event, Frame)]
    expected = [n for n in range(count) if n < STEP_FRAMES or n >= max(count - STEP_FRAMES, STEP_FRAMES)]
    assert numbers == [native - 182 for native in expected]
    for event in events:
        message: Any = msgspec.json.decode(b"{" + body_of(event)[1])
        if isinstance(event, Frame):
            for player in message["frame"]["players"].values():
                check_inputs(player["inputs"])


def check_inputs(inputs: dict[str, Any]) -> None:
    assert all(-1 <= inputs[axis] <= 1 for axis in ("steer", "pitch", "strafe"))
    assert all(0 <= inputs[trigger] <= 1 for trigger in ("throttle", "brake"))
    assert inputs["raw"].keys() == {"buttons", "strafe", "accel", "brake", "steerX", "steerY"}


def check_round_trip(data: bytes) -> None:
    """Check that a file that can be read to its end is written back unchanged, except for a wrong checksum."""
    container = read_container(data)
    if read_body(container.body).damage is not None:
        with pytest.raises(OutOfBits):
            read_replay(data)
        return
    replay = read_replay(data)
    assert encode(replay) == with_checksum(data)
    again = read_replay(encode(replay))
    assert replace(again, entry=replace(again.entry, checksum=replay.entry.checksum)) == replay


def fuzz(bases: tuple[bytes, ...], examples: int, outcomes: Counter[str], seed_: int | None = None) -> None:
    """Try `examples` inputs, and count their outcomes."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=seed_ is None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(inputs_from(bases))
    def attempt(data: bytes) -> None:
        outcomes[check(data)] += 1

    if seed_ is not None:
        attempt = seed(seed_)(attempt)
    attempt()


def test_damaged_synthetic_files() -> None:
    outcomes: Counter[str] = Counter()
    fuzz(built(), max(int(SECONDS * EXAMPLES_PER_SECOND / 2), 20), outcomes)
    assert outcomes["read"] > sum(outcomes.values()) // 4


@needs_shared
def test_damaged_real_files() -> None:
    outcomes: Counter[str] = Counter()
    fuzz(real(), max(int(SECONDS * EXAMPLES_PER_SECOND / 2), 20), outcomes)
    assert outcomes["read"] > sum(outcomes.values()) // 8


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=3))
def test_random_bodies(body: bytes, head: bytes) -> None:
    check(built()[0][:BODY_AT] + body)
    check(head + body)


def main() -> None:
    """Fuzz for a given time and print the outcomes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    seconds = parser.parse_args().seconds
    outcomes: Counter[str] = Counter()
    bases = built() + real()
    deadline = time.monotonic() + seconds
    first_seed = time.time_ns()
    rounds = 0
    while time.monotonic() < deadline:
        fuzz(bases, 200, outcomes, first_seed + rounds)
        rounds += 1
    print(f"{sum(outcomes.values())} inputs in {seconds:.0f} seconds: {dict(outcomes.most_common())}")


if __name__ == "__main__":
    main()
