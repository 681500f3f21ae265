"""All formats whose files are written in one go: reading in pieces, copies, and the worst files."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.gci.body import InputRun
from slpstream.formats.gci.container import BODY_AT, MAX_BYTES
from slpstream.formats.gci.reader import MAX_FRAMES
from slpstream.formats.registry import formats
from slpstream.model.events import Diagnostic, Event, Frame, GameEnd, GameStart
from slpstream.model.messages import body_of
from tests.formats.gci.writer import encode, new_replay
from tests.formats.logs import log_of
from tests.formats.whole_files import FORMATS, WholeFiles, bombed, bombs, longest_gci, longest_stunts
from tests.marks import slow

MAX_MEMORY_BYTES = 64 << 20
FILES = [(name, file) for name, files in FORMATS.items() for file in files.good()]


def case(name: str, file: str) -> tuple[WholeFiles, bytes]:
    return FORMATS[name], FORMATS[name].good()[file]


def wire(events: list[Event]) -> list[tuple[int, str, bytes]]:
    return [(event.end_offset, *body_of(event)[:2]) for event in events]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_log_does_not_depend_on_how_the_file_is_read(name: str, file: str) -> None:
    files, data = case(name, file)
    events = log_of(files.new_reader(), data)
    whole = wire(events)
    assert isinstance(events[0], GameStart)
    assert isinstance(events[-1], GameEnd)
    offsets = [event.end_offset for event in events]
    assert offsets == sorted(offsets)
    assert offsets[0] > 0
    assert offsets[-1] == len(data)
    assert wire(log_of(files.new_reader(), b"", pieces=(data[at : at + 1] for at in range(len(data))))) == whole
    cuts = sorted(random.Random(5).sample(range(len(data)), 20))
    pieces = [data[a:b] for a, b in pairwise([0, *cuts, len(data)])]
    for step in (1, 7, 100_000):
        assert wire(log_of(files.new_reader(), b"", pieces=pieces, step=step)) == whole


@pytest.mark.parametrize(("name", "file"), FILES)
def test_copies_are_independent(name: str, file: str) -> None:
    files, data = case(name, file)
    whole = wire(log_of(files.new_reader(), data))
    reader = files.new_reader()
    reader.feed(data[:900])
    early = reader.copy()
    reader.feed(data[900:])
    begun = reader.finish() + reader.more(50)
    for one in (reader, reader.copy()):
        assert wire(begun + log_of(one, b"more bytes change nothing")) == whole
    assert wire(log_of(early, data[900:])) == whole


@pytest.mark.parametrize("name", FORMATS)
def test_good_files_are_read_and_written_back(name: str) -> None:
    for data in FORMATS[name].files():
        reader = FORMATS[name].new_reader()
        log_of(reader, data)
        if reader.failure is None:  # some real files are damaged
            FORMATS[name].check_round_trip(data, reader.recording)
        else:
            assert data not in FORMATS[name].good().values()


@pytest.mark.parametrize("name", FORMATS)
def test_events_come_at_the_end_of_the_file(name: str) -> None:
    files = FORMATS[name]
    data = next(iter(files.good().values()))
    reader = files.new_reader()
    assert reader.feed(data) == []
    assert (reader.recording, reader.pending, reader.more(5)) == (None, False, [])
    assert reader.finish()
    assert reader.pending
    assert not reader.closed
    assert reader.finish() == []


@pytest.mark.parametrize("name", FORMATS)
def test_longer_file_than_any_is_rejected(name: str) -> None:
    reader = FORMATS[name].new_reader()
    assert reader.feed(bytes(reader.max_bytes)) == []
    [rejected] = reader.feed(b"\0")
    assert isinstance(rejected, Diagnostic)
    assert reader.failure is not None
    assert reader.closed


@settings(max_examples=60)
@given(
    st.binary(max_size=0x60),
    st.none() | st.integers(0, 1 << 40),
    st.sampled_from(["", "a.gci", "a.rpl", "a.dat", "a.slp", "\udcff"]),
    st.sampled_from([b"", *(file[:0x500] for files in FORMATS.values() for file in files.good().values())]),
)
def test_sniff_takes_any_bytes(head: bytes, size_bytes: int | None, name: str, good: bytes) -> None:
    for format_ in formats():
        assert format_.sniff is not None
        for begin in (good + head, good[: len(head)] + head):
            assert format_.sniff(begin, size_bytes, name) in {"yes", "no", "maybe"}


def of_one_byte(octet: bytes) -> Callable[[], bytes]:
    """A GameCube save whose body has the same byte everywhere."""
    return lambda: encode(new_replay([InputRun()]))[:BODY_AT].ljust(MAX_BYTES, octet)


WORST: dict[str, tuple[str, Callable[[], bytes], int | None]] = {
    "longest gci": ("gci", longest_gci, MAX_FRAMES),
    "gci of zeros": ("gci", of_one_byte(b"\0"), None),
    "gci of ones": ("gci", of_one_byte(b"\xff"), None),
    "longest stunts": ("stunts", longest_stunts, 0xFFFF),
    **{bomb: ("mk8", partial(bombed, bomb), 0) for bomb in bombs()},
}
"""The format of each file, its bytes, and how many frames it has."""


@pytest.mark.sweep
@pytest.mark.parametrize("worst", slow(*WORST))
def test_worst_file_takes_little_memory(worst: str) -> None:
    name, make, frames = WORST[worst]
    data = make()
    reader = FORMATS[name].new_reader()
    assert 50_000 < len(data) <= reader.max_bytes
    tracemalloc.start()
    try:
        reader.feed(data)
        events = reader.finish()
        count = seen = 0
        # tracemalloc makes the larger bombs slow, so only the events during which their image grows most are read.
        while events and not (name == "mk8" and worst != "smallest blocks" and count > 400):
            count += len(events)
            seen += sum(isinstance(event, Frame) for event in events)
            for event in events:
                body_of(event)
            events = reader.more(512)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert frames is None or seen == frames
    assert count > 2
    assert peak < (8 << 20 if name == "stunts" else MAX_MEMORY_BYTES)
