"""Memory that the worst files take. Their time is measured in `tests/bench/other_formats.py`."""

from __future__ import annotations

import tracemalloc

import pytest

from slpstream.formats.gci.body import InputRun, Racer, read_body
from slpstream.formats.gci.container import BODY_AT, MAX_BYTES
from slpstream.formats.gci.reader import MAX_FRAMES, GciReader
from slpstream.formats.gci.settings import Replay
from slpstream.model.messages import body_of
from tests.formats.gci.logs import GCI, custom_machine, equal_checkpoints, events_of
from tests.formats.gci.writer import MAX_RACERS, encode, new_replay
from tests.replays import needs_shared

MAX_MEMORY_BYTES = 64 << 20


def worst() -> Replay:
    """The largest possible body: 31 custom machines, 255 checkpoints, 16,384 runs of 256 frames."""
    return new_replay(
        [InputRun(buttons=index & 0xFF, frames=256) for index in range(1 << 14)],
        racers=[Racer(machine=50, color=0, custom=custom_machine())] * MAX_RACERS,
        checkpoints=equal_checkpoints(255),
        total_frames=(1 << 20) - 1,
    )


def assert_cheap(data: bytes, frames: int) -> None:
    """Read `data` to its end as a subscriber would, and check the peak memory."""
    tracemalloc.start()
    try:
        reader = GciReader()
        reader.feed(data)
        events = reader.finish()
        seen = 0
        while events:
            seen += sum(type(event).__name__ == "Frame" for event in events)
            for event in events:
                body_of(event)
            events = reader.more(20_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reader.closed
    assert seen == frames
    assert peak < MAX_MEMORY_BYTES


@pytest.mark.slow
def test_largest_body_takes_little_memory() -> None:
    data = encode(worst())
    assert 1_100_000 < len(data) < MAX_BYTES
    assert_cheap(data, MAX_FRAMES)


@needs_shared
def test_hostile_file_takes_little_memory() -> None:
    assert_cheap((GCI / "bad" / "hostile_max_values.gci").read_bytes(), MAX_FRAMES)


@pytest.mark.slow
@pytest.mark.parametrize("octet", [b"\0", b"\xff"])
def test_files_of_one_byte_value_take_little_memory(octet: bytes) -> None:
    data = encode(new_replay([InputRun()]))[:BODY_AT].ljust(MAX_BYTES, octet)
    frames = sum(type(event).__name__ == "Frame" for event in events_of(data, step=20_000))
    assert_cheap(data, frames)


def test_declared_counts_allocate_nothing_without_the_bytes() -> None:
    data = encode(worst())[BODY_AT:]
    for length in (20, 2_000, 40_000, 1_020_000):
        tracemalloc.start()
        try:
            reading = read_body(data[:length])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert reading.damage is not None
        assert peak < 8 * length + (1 << 16)
