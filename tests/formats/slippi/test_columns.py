"""The batch path compared with the live path, and the interface of the columns.

`agreement` has the comparison of both paths; these tests choose the bytes.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from slpstream.formats.slippi.columns import EventColumns, Frames
from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS
from slpstream.formats.slippi.frame_index import FrameIndex
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.model.errors import FieldError
from tests.formats.slippi.agreement import Live, assert_agree, value_of
from tests.formats.slippi.built import Built, bookend, built_replays, item, post, pre, replay_of_version, start
from tests.formats.slippi.logs import event_boundaries
from tests.marks import release
from tests.replays import NOT_REPLAYS, replays


@pytest.mark.parametrize("path", replays(), ids=lambda path: path.stem)
def test_both_paths_agree(path: Path) -> None:
    """Frames and ends, with the values of every 16th sending; the next test compares all values by column."""
    assert_agree(path.read_bytes(), every=16)


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in NOT_REPLAYS], ids=lambda path: path.stem)
def test_every_field_of_every_frame(path: Path) -> None:
    """Whole columns of the last sendings have the values of the live path."""
    data = path.read_bytes()
    live = {frame.number: frame for frame in Live(data).sendings}
    frames = WholeGame(data).frames
    assert frames.number.tolist() == sorted(live)
    entries = [live[number].entry for number in frames.number.tolist()]

    def compare(columns: EventColumns, events: list[Any], where: str) -> None:
        assert columns.present.tolist() == [event is not UNSET for event in events], where
        got = [event for event in events if event is not UNSET]
        for name in columns.fields:
            expected = np.array([value_of(event, name) for event in got])
            assert np.array_equal(
                columns[name][columns.present],
                expected.astype(columns[name].dtype),
                equal_nan=columns[name].dtype.kind == "f",
            ), f"{where} {name}"

    compare(frames.start, [entry.start for entry in entries], "start")
    for side, of_entry in ((frames.players, "players"), (frames.followers, "followers")):
        for index, character in side.items():
            of_live = [(getattr(entry, of_entry) or {}).get(index) for entry in entries]
            compare(character.pre, [UNSET if one is None else one.pre for one in of_live], f"{character!r} pre")
            compare(character.post, [UNSET if one is None else one.post for one in of_live], f"{character!r} post")
    items = [event for entry in entries for event in entry.items or []]
    compare(frames.items, items, "items")
    assert frames.items.counts.tolist() == [len(entry.items or []) for entry in entries]


IN_BETWEEN = ("2.2.0", "3.3.0")
"""Versions that the gate leaves out."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(built_replays().keys() - set(IN_BETWEEN)), *release(*IN_BETWEEN)])
def test_built_replays_cut_anywhere(name: str) -> None:
    """Cut at every event boundary, one byte before it and one byte after it.

    Tables are compared at the boundaries, since the bytes between have the same events.
    """
    data = built_replays()[name]
    for boundary in event_boundaries(data):
        for at in (boundary - 1, boundary, boundary + 1):
            assert_agree(data[:at], every=6, with_tables=at == boundary)


def test_rollback_in_frames_and_sendings() -> None:
    """`sendings` is in file order, the mask selects the last of each number, and items stay with their sending."""
    frames = WholeGame(replay_of_version((3, 18, 0))).frames
    sendings = frames.sendings
    numbers = sendings.number.tolist()
    assert len(numbers) > len(frames) == len(set(numbers))
    lasts = [number not in numbers[row + 1 :] for row, number in enumerate(numbers)]
    assert sendings.is_last_revision.tolist() == lasts
    assert frames.is_last_revision.all()
    firsts = [numbers.index(number) == row for row, number in enumerate(numbers)]
    assert (sendings.revision == 0).tolist() == firsts
    row = frames.row_of(-112)
    of_row = frames.items.of_row(row)
    assert (len(of_row), set(of_row["frame"].tolist())) == (2, {-112})
    assert not len(frames.items.of_row(frames.row_of(-123)))


@given(st.lists(st.integers(-3, 3), max_size=12), st.booleans())
def test_last_sendings_and_revisions(numbers: list[int], far: bool) -> None:
    """Numbers that are close together and far apart are counted in different ways."""
    scaled = np.array(numbers, np.int32) * (500_000_000 if far else 1)
    frames = Frames.of(b"", FrameIndex(scaled, {}, {}, 0, None), {})
    assert frames.number.tolist() == sorted(set(scaled.tolist()))
    assert frames.revision.tolist() == [scaled.tolist().count(number) - 1 for number in frames.number]
    assert frames.revision.dtype == np.int32


def test_more_items_than_the_limit() -> None:
    game = Built().add(start(-123), pre(-123), *(item(-123, i) for i in range(MAX_REPEATED_EVENTS + 2)), post(-123))
    data = game.add(bookend(-123)).frame(-122).end().closed()
    assert_agree(data)
    assert WholeGame(data).frames.items.counts.tolist() == [MAX_REPEATED_EVENTS, 0]


def test_frame_number_that_differs_within_a_frame() -> None:
    """Layouts do not cover frame numbers, so such a game is read event by event."""
    data = bytearray(Built((3, 18, 0)).frames(-123, -60).end().closed())
    at = data.index(b"\x38" + (-80).to_bytes(4, "big", signed=True))
    data[at + 1 : at + 5] = (-79).to_bytes(4, "big", signed=True)
    assert_agree(bytes(data))


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_replays(draw: st.DataObject) -> None:
    """With bytes changed, cut out or doubled, both paths have the same frames, or the same error at the same offset."""
    data = bytearray(built_replays()[draw.draw(st.sampled_from(sorted(built_replays())))])
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(data) - 1))
        kind = draw.draw(st.sampled_from(["set", "cut", "double", "swap"]))
        length = draw.draw(st.integers(1, 200))
        other = draw.draw(st.integers(0, len(data) - 1))
        if kind == "set":
            data[at] = draw.draw(st.integers(0, 255))
        elif kind == "cut":
            del data[at : at + length]
        elif kind == "double":
            data[at:at] = data[at : at + length]
        else:
            data[at : at + length], data[other : other + length] = data[other : other + length], data[at : at + length]
        if not data:
            break
    assert_agree(bytes(data))


@pytest.mark.slow
def test_small_file_cannot_ask_for_gigabytes() -> None:
    """The first frame has updates of 256 players and their followers; frames of nine bytes follow."""
    game = Built().add(start(-123))
    game.add(*(pre(-123, index, follower=follower) for index in range(256) for follower in (False, True)))
    game.add(*(start(number) for number in range(-122, 30_000)))
    data = game.end().closed()
    assert len(data) < 1_000_000
    tracemalloc.start()
    try:
        with pytest.raises(FieldError, match="no game has so many"):
            _ = WholeGame(data).frames
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 32_000_000


def test_columns_of_a_small_file_are_small() -> None:
    """Only the first of many frames has the updates of two players and their followers."""
    game = Built().add(start(-123))
    characters = [(index, follower) for index in range(2) for follower in (False, True)]
    game.add(*(event(-123, index, follower=follower) for index, follower in characters for event in (pre, post)))
    game.add(*(start(number) for number in range(-122, 30_000)))
    frames = WholeGame(game.end().closed()).frames
    posts = [character.post for character in frames.characters]
    tracemalloc.start()
    try:
        percents = [post["percent"] for post in posts]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [np.flatnonzero(~np.isnan(percent)).tolist() for percent in percents] == [[0]] * 4
    assert peak_bytes < 3_000_000
