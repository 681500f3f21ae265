"""The walk over events, and the frames that the kernel takes whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.commands import GAME_END, ITEM_UPDATE, PRE_FRAME
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.frame_events import frame_widths
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Diagnostic, Event, Frame
from tests.formats.slippi.built import Built, bookend, item, post, pre, start, wrong_header
from tests.formats.slippi.logs import bytewise, event_boundaries
from tests.formats.slippi.pure import is_compiled, without_kernel
from tests.formats.slippi.writer import size_of_table_at

pytestmark = pytest.mark.usefixtures("with_and_without_kernel")

WIDTHS = [0] * 256
WIDTHS[1], WIDTHS[2] = 1, 3


@pytest.mark.parametrize(
    ("data", "limit", "expected"),
    [
        (b"", 0, []),
        (b"\1\2ab\1", 5, [(1, 0, 1), (2, 1, 4), (1, 4, 5)]),
        (b"\1\2ab\1", 4, [(1, 0, 1), (2, 1, 4)]),
        (b"\1\2ab\1", 3, [(1, 0, 1)]),
        (b"\1\2a", 3, [(1, 0, 1)]),
        (b"\1\3\1", 3, [(1, 0, 1)]),
        (b"\3\1", 2, []),
    ],
    ids=["empty", "all", "up to the limit", "limit in an event", "incomplete", "undeclared", "undeclared at once"],
)
def test_walk_events(data: bytes, limit: int, expected: list[tuple[int, int, int]]) -> None:
    assert list(walk_events(data, 0, limit, WIDTHS)) == expected


def taken_whole(*numbers: int) -> list[int]:
    """These numbers with the kernel. Without it, no frame is taken whole."""
    return [*numbers] if is_compiled() else []


def first_frame(game: Built) -> tuple[bytes, int, tuple[int, ...]]:
    """The bytes of a replay, the offset after Game Start, and its widths."""
    data = game.end().closed()
    return data, event_boundaries(data)[2], game.writer.payloads.widths


def test_frame_widths_exclude_game_end_and_too_small_events() -> None:
    _, _, widths = first_frame(Built())
    assert frame_widths(widths)[GAME_END.command] == 0
    smallest = size_of_table_at(PRE_FRAME, (0, 1, 0)) + 1
    for width, usable in ((5, 0), (smallest - 1, 0), (smallest, smallest)):
        changed = [*widths]
        changed[PRE_FRAME.command] = width
        assert frame_widths(changed)[PRE_FRAME.command] == usable


class Read(NamedTuple):
    """The reader's output for a replay."""

    events: list[Event]
    command_counts: dict[str, int]

    @property
    def frames(self) -> list[Frame]:
        return [event for event in self.events if isinstance(event, Frame)]

    @property
    def packed(self) -> list[int]:
        """The numbers of the frames that were taken whole."""
        return [frame.number for frame in self.frames if isinstance(frame.content, PackedFrame)]


def read(pieces: Iterable[bytes]) -> Read:
    reader = SlippiReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return Read([*events, *reader.finish()], reader.take_command_counts())


def test_frames_taken_whole_equal_those_read_event_by_event() -> None:
    """Frames with followers, items and all stage events, in one piece and in pieces of one byte."""
    game = Built().frames(-123, -110, items=2).frames(-109, -100, followers=(1,), stage_events=True)
    data = game.frames(-99, -90, items=1, stage_events=True).end().closed()
    whole, in_bytes = read([data]), read(bytewise(data))
    with without_kernel():
        event_by_event = read(bytewise(data))
    assert whole == in_bytes == event_by_event
    assert whole.packed == in_bytes.packed
    assert not event_by_event.packed


def test_a_frame_that_is_cut_off_is_read_event_by_event_at_the_end() -> None:
    data = Built().frames(-123, -121).so_far()
    for cut in range(len(Built().frames(-123, -122).so_far()), len(data) + 1):
        reader = SlippiReader()
        events = [*reader.feed(data[:cut]), *reader.finish()]
        with without_kernel():
            expected = SlippiReader()
            assert events == [*expected.feed(data[:cut]), *expected.finish()]
            assert reader.take_command_counts() == expected.take_command_counts()


@pytest.mark.parametrize("raw_length_bytes", [None, -200, -20, -1, 0, 5, 40, 1000])
def test_a_header_that_changes_within_a_frame(raw_length_bytes: int | None) -> None:
    """The raw length is given relative to the bytes that were read before; `None` is a header of another format."""
    data = Built().frames(-123, -121).so_far()

    def events(cut: int) -> list[Event]:
        reader = SlippiReader()
        raw_length = 0 if raw_length_bytes is None else cut - HEADER_BYTES + raw_length_bytes
        header = bytes(HEADER_BYTES) if raw_length_bytes is None else wrong_header(raw_length)
        return [*reader.feed(data[:cut]), *reader.rewrite(header), *reader.feed(data[cut:]), *reader.finish()]

    for cut in range(len(Built().frames(-123, -122).so_far()), len(data) + 1):
        with without_kernel():
            expected = events(cut)
        assert events(cut) == expected


@pytest.mark.parametrize("version", [(0, 1, 0), (2, 2, 0), (3, 0, 0), (3, 18, 0)], ids=str)
def test_frames_are_taken_whole(version: tuple[int, int, int]) -> None:
    """Before 3.0, the first frame without a follower waits for it until the next one begins, so these two are not."""
    game = Built(version).frames(-123, -114, followers=(0,)).frames(-113, -104)
    first = -111 if version < (3, 0, 0) else -113
    assert read([game.end().closed()]).packed == taken_whole(*range(-123, -113), *range(first, -103))


def test_frames_with_all_kinds_of_events_are_taken_whole() -> None:
    game = Built().frames(-123, -114, items=15, followers=(0, 1), stage_events=True)
    assert read([game.end().closed()]).packed == taken_whole(*range(-123, -113))


def test_frames_with_events_that_lack_fields_are_read_event_by_event() -> None:
    """The first such event is reported."""
    sizes = Built().writer.payloads.sizes | {ITEM_UPDATE.command: 8}
    whole = read([Built(sizes=sizes).frame(-123).frame(-122, items=1).frame(-121).end().closed()])
    assert whole.packed == taken_whole(-123, -121)
    assert [event.code for event in whole.events if isinstance(event, Diagnostic)] == ["short_event"]


OF_FRAMES = st.tuples(
    st.integers(0, 2),  # how far the number is from the one before
    st.sampled_from([(0, 1), (0, 1), (0,), (1,)]),
    st.sampled_from([(), (), (0,)]),
    st.integers(1, 6),  # how many such frames follow each other
)


@settings(max_examples=100)
@given(st.sampled_from([(0, 1, 0), (2, 2, 0)]), st.lists(OF_FRAMES, max_size=8), st.integers(1, 2000))
def test_frames_before_3_0_do_not_depend_on_how_they_are_decoded(
    version: tuple[int, int, int], kinds: list[tuple[int, tuple[int, ...], tuple[int, ...], int]], size: int
) -> None:
    """Characters come and go, and numbers come again, so that some frames of known layouts are late or not complete."""
    game, number = Built(version).frames(-3, 0), 0
    for step, players, followers, times in kinds:
        for _ in range(times):
            number += step
            game.frame(number, players=players, followers=followers)
    data = game.end().closed()
    whole = read([data])
    assert whole == read(bytewise(data))
    assert whole == read(data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize(
    "events",
    [
        [start(-122), pre(-122), pre(-122, 1), post(-122), bookend(-122)],
        [start(-122), post(-122), pre(-122), bookend(-122)],
        [start(-122), pre(-122, 1), pre(-122), post(-122), post(-122, 1), bookend(-122)],
        [start(-122), pre(-122), pre(-122), post(-122), bookend(-122)],
        [start(-122), pre(-122), post(-122), post(-122), bookend(-122)],
        [start(-122), pre(-122, 3), post(-122, 3), bookend(-122)],
        [start(-122), pre(-122), post(-121), bookend(-122)],
        [start(-122), pre(-122), start(-122), post(-122), bookend(-122)],
        [start(-122), *(item(-122, i) for i in range(63)), bookend(-122)],
    ],
    ids=[
        "post missing", "post before pre", "players out of order", "pre twice", "post twice", "unknown player",
        "two numbers", "start twice", "too many events",
    ],
)  # fmt: skip
def test_frames_that_are_not_taken_whole(events: list[object]) -> None:
    game = Built().frame(-123).add(*events).frame(-120).end()
    whole = read([game.closed()])
    assert whole.packed == taken_whole(-123, -120)
    assert whole == read(bytewise(game.closed()))
