"""The walk over events, the layouts learned from frames, and the decoding of whole frames by layout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.commands import GAME_END, PRE_FRAME
from slpstream.formats.slippi.frame_decoder import FrameDecoders, PackedFrame
from slpstream.formats.slippi.frame_layout import FrameLayout, FrameLayouts, frame_widths, read_frame
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Event, Frame
from tests.formats.slippi.built import Built, bookend, item, post, pre, start
from tests.formats.slippi.logs import bytewise, event_boundaries
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


def first_frame(game: Built) -> tuple[bytes, int, list[int]]:
    """The bytes of a replay, the offset after Game Start, and its widths."""
    data = game.end().closed()
    return data, event_boundaries(data)[2], game.writer.payloads.widths


def test_frame_widths_exclude_game_end_and_too_small_events() -> None:
    _, _, widths = first_frame(Built())
    assert frame_widths(widths)[GAME_END.command] == 0
    smallest = size_of_table_at(PRE_FRAME, (0, 1, 0)) + 1
    for width, usable in ((5, 0), (smallest - 1, 0), (smallest, smallest)):
        widths[PRE_FRAME.command] = width
        assert frame_widths(widths)[PRE_FRAME.command] == usable


def test_no_more_layouts_than_the_limit() -> None:
    data, at, widths = first_frame(Built().frame(-123).frame(-122, items=1))
    layouts: FrameLayouts[FrameLayout] = FrameLayouts(widths, max_layouts=1)
    added = []
    for _ in range(2):
        events, end, _ = read_frame(data, at, len(data), frame_widths(widths))
        added.append(layouts.add(FrameLayout(data, events, end), data, at, len(data)))
        at = end
    assert added == [True, False]


class Read(NamedTuple):
    """The reader's output for a replay."""

    events: list[Event]
    command_counts: dict[str, int]

    @property
    def frames(self) -> list[Frame]:
        return [event for event in self.events if isinstance(event, Frame)]

    @property
    def packed(self) -> list[int]:
        """The numbers of the frames that were decoded by layout."""
        return [frame.number for frame in self.frames if isinstance(frame.content, PackedFrame)]


def read(pieces: Iterable[bytes]) -> Read:
    reader = SlippiReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return Read([*events, *reader.finish()], reader.take_command_counts())


def test_decoded_frames_equal_those_read_event_by_event() -> None:
    """Frames with followers, items and all stage events, decoded by layout and in pieces of one byte."""
    game = Built().frames(-123, -110, items=2).frames(-109, -100, followers=(1,), stage_events=True)
    data = game.frames(-99, -90, items=1, stage_events=True).end().closed()
    assert read([data]).frames == read(bytewise(data)).frames


def test_layouts_are_learned_from_one_frame_at_a_time() -> None:
    """A frame that is shorter than those before is not taken for the beginning of one of them."""
    game = Built().frames(-123, -114, followers=(0,)).frames(-113, -104)
    assert read(game.parts).packed == [*range(-122, -113), *range(-112, -103)]


def test_layouts_are_found_by_their_items() -> None:
    """Frames with and without an item take turns, and soon both are decoded by layout."""
    game = Built()
    for number in range(-123, -103):
        game.frame(number, items=number % 2)
    assert read([game.end().closed()]).packed == [-121, *range(-119, -103)]


@pytest.mark.parametrize("version", [(0, 1, 0), (2, 2, 0)], ids=str)
def test_frames_before_3_0_are_decoded_by_layout(version: tuple[int, int, int]) -> None:
    """All but the first of each layout, and the one after the first without a follower: that one waits for it."""
    game = Built(version).frames(-123, -114, followers=(0,)).frames(-113, -104)
    parts = [b"".join(game.parts[:2]), *game.parts[2:]]
    in_pieces, whole = read(parts), read([b"".join(parts)])
    assert in_pieces.packed == whole.packed == [*range(-122, -113), *range(-111, -103)]
    assert in_pieces == whole == read(bytewise(b"".join(parts)))


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
        [start(-122), *(item(-122, i) for i in range(24)), bookend(-122)],
    ],
    ids=["post missing", "post before pre", "too many events"],
)
def test_frames_that_are_not_decoded_by_layout(events: list[object]) -> None:
    data, at, widths = first_frame(Built().add(*events, *events))
    decoders = FrameDecoders(widths)
    for _ in range(2):
        assert decoders.take(data, at, len(data)) is None
