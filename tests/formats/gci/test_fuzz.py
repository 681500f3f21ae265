"""Replays that were changed, cut and mixed: nothing but a `FormatError`, and the log keeps the rules of logs.

A normal run tries a few thousand inputs; `python -m tests.formats.gci.test_fuzz --seconds 600` goes on for ten minutes
and prints how many it tried. `SLPSTREAM_FUZZ_SECONDS` sets roughly how long the normal run may take.
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

from slpstream.formats.gci import sniff
from slpstream.formats.gci.bits import OutOfBits
from slpstream.formats.gci.body import InputRun, Racer, read_body
from slpstream.formats.gci.container import BODY_AT, CHECKSUM_AT, read_container
from slpstream.formats.gci.reader import MAX_FRAMES, GciReader
from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Event, Frame, GameEnd, GameStart
from slpstream.model.messages import body_of
from tests.formats.gci.logs import GCI, custom_machine, files, grand_prix, runs, time_attack, with_checksum, with_custom
from tests.formats.gci.writer import encode, new_replay, read_replay
from tests.shared_data import needs_shared

SECONDS = float(os.environ.get("SLPSTREAM_FUZZ_SECONDS", "10"))
EXAMPLES_PER_SECOND = 60
"""Measured on a slow machine; hypothesis counts examples, not seconds."""

STEP_FRAMES = 60

Edit = tuple[str, int, int]
"""What is done, where (cut to the length), and with what."""


@cache
def built() -> tuple[bytes, ...]:
    """Good files of the project's own writer."""
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
    """The files of the data folder, where they are."""
    return tuple(path.read_bytes() for path in (*files(), *files(GCI / "bad")))


PLACES = st.one_of(
    st.integers(0, 0x80),
    st.integers(0, 40).map(lambda at: BODY_AT + at),
    st.integers(0, 600).map(lambda at: BODY_AT + at),
    st.integers(0, 0x20000),
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["bit", "bit", "byte", "fill", "cut", "drop", "repeat", "splice"]),
        PLACES,
        st.integers(0, 0xFFFF),
    ),
    min_size=1,
    max_size=8,
)


def edited(data: bytes, edits: list[Edit], other: bytes) -> bytes:
    """The file after some edits; the game code and the type stay, unless an edit is about them."""
    buffer = bytearray(data)
    for what, place, value in edits:
        at = min(place, max(len(buffer) - 1, 0))
        if not buffer:
            break
        if what == "bit":
            buffer[at] ^= 1 << (value & 7)
        elif what == "byte":
            buffer[at] = value & 0xFF
        elif what == "fill":
            buffer[at : at + value % 300] = bytes([value >> 8]) * min(value % 300, len(buffer) - at)
        elif what == "cut":
            del buffer[at + value % 64 :]
        elif what == "drop":
            del buffer[at : at + value % 64]
        elif what == "repeat":
            buffer[at:at] = buffer[at : at + value % 512]
        else:
            buffer[at:] = other[at:]
    return bytes(buffer)


@st.composite
def inputs_from(draw: st.DrawFn, bases: tuple[bytes, ...]) -> bytes:
    """A good file, changed; in half of the cases with the checksum that the change needs."""
    data = edited(draw(st.sampled_from(bases)), draw(EDITS), draw(st.sampled_from(bases)))
    return with_checksum(data) if draw(st.booleans()) and len(data) > CHECKSUM_AT + 2 else data


def check(data: bytes) -> str:
    """What must hold for any bytes. Returns what became of them."""
    assert sniff(data[:0x500], len(data), "a.gci") in {"yes", "no", "maybe"}
    for strict in (True, False):
        reader = GciReader(strict=strict)
        events = reader.feed(data) + reader.finish()
        if reader.failure is not None:
            check_refusal(reader, events, len(data))
        else:
            check_log(reader, events, len(data))
    if reader.failure is not None:
        return reader.failure.code
    check_round_trip(data)
    return "read"


def check_refusal(reader: GciReader, events: list[Event], size_bytes: int) -> None:
    failure = reader.failure
    assert isinstance(failure, FormatError)
    assert 0 <= failure.offset <= size_bytes
    assert failure.code in {"wrong_format", "unsupported", "framing", "truncated", "checksum"}
    (said,) = events
    assert isinstance(said, Diagnostic)
    assert (said.severity, said.code, said.offset) == ("error", failure.code, failure.offset)
    assert reader.closed


def check_log(reader: GciReader, events: list[Event], size_bytes: int) -> None:
    recording = reader.recording
    assert recording is not None
    count = recording.frame_count
    assert 0 <= count <= MAX_FRAMES
    # The frames at the start through the reader, those at the end from the recording: there may be 100,000.
    events += reader.more(STEP_FRAMES)
    if reader.pending:
        events += recording.frame_events(max(count - STEP_FRAMES, STEP_FRAMES), count)
        events += recording.tail
    assert isinstance(events[0], GameStart)
    assert isinstance(events[-1], GameEnd)
    assert sum(isinstance(event, GameStart | GameEnd) for event in events) == 2
    said = [event for event in events if isinstance(event, Diagnostic)]
    assert said == events[1 : 1 + len(said)]
    assert max(Counter(event.code for event in said).values(), default=0) <= 1
    assert all(event.severity != "error" and 0 <= event.offset <= size_bytes for event in said)
    offsets = [event.end_offset for event in events]
    assert offsets == sorted(offsets)
    assert offsets[0] > 0
    assert offsets[-1] == size_bytes
    numbers = [event.number for event in events if isinstance(event, Frame)]
    wanted = [n for n in range(count) if n < STEP_FRAMES or n >= max(count - STEP_FRAMES, STEP_FRAMES)]
    assert numbers == [native - 182 for native in wanted]
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
    """What can be read to its end comes back byte for byte, but for a wrong checksum."""
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
    """Tries that many inputs, and counts what became of them."""

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


def test_replays_of_the_writer_that_were_changed() -> None:
    outcomes: Counter[str] = Counter()
    fuzz(built(), max(int(SECONDS * EXAMPLES_PER_SECOND / 2), 20), outcomes)
    assert outcomes["read"] > sum(outcomes.values()) // 4


@needs_shared
def test_real_files_that_were_changed() -> None:
    outcomes: Counter[str] = Counter()
    fuzz(real(), max(int(SECONDS * EXAMPLES_PER_SECOND / 2), 20), outcomes)
    assert outcomes["read"] > sum(outcomes.values()) // 8


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=3))
def test_bodies_of_any_bytes(body: bytes, head: bytes) -> None:
    check(built()[0][:BODY_AT] + body)
    check(head + body)


def main() -> None:
    """The long form."""
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
