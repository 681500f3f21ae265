"""Stats do not depend on how a game is read: frame by frame, in pieces, or resumed from a copy."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.game import whole_stats
from slpstream.model.events import Event, StatsUpdate
from tests.formats.slippi.stats.games import SHORT, game, game_of, run
from tests.project import IN_CI
from tests.replays import replay


@cache
def expected(name: str, compat: bool) -> tuple[bytes, ...]:
    return lines(run(game(name), compat=compat)[1])


def lines(emitted: list[Event]) -> tuple[bytes, ...]:
    return tuple(type(event).__name__.encode() + msgspec.json.encode(event) for event in emitted)


def resumed(name: str, cuts: list[int], *, compat: bool) -> None:
    """At each cut the stats continue as a copy. The original continues too and must not be affected."""
    frames, end = game(name).frames, game(name).end
    stats = SlippiStats(game(name).settings, compat=compat)
    emitted: list[Event] = []
    originals: list[tuple[SlippiStats, int, int]] = []
    for at, (frame, end_offset) in enumerate(frames):
        if at in cuts:
            originals.append((stats, at, len(emitted)))
            stats = stats.copy()
        emitted += stats.feed(frame, end_offset)
    emitted += stats.finish(end)
    whole = expected(name, compat)
    assert lines(emitted) == whole
    for original, at, count in originals:
        rest = [event for frame, end_offset in frames[at:] for event in original.feed(frame, end_offset)]
        assert lines([*rest, *original.finish(end)]) == whole[count:]


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("name", SHORT)
def test_stats_without_updates(name: str, compat: bool) -> None:
    stats = SlippiStats(game(name).settings, compat=compat, updates=False)
    twin = None
    for at, (frame, end_offset) in enumerate(game(name).frames):
        if at == 100:
            twin = stats.copy()
        assert not any(isinstance(event, StatsUpdate) for event in stats.feed(frame, end_offset))
        if twin is not None:
            twin.feed(frame, end_offset)
    assert twin is not None
    for each in (stats, twin):
        assert lines(each.finish(game(name).end))[-1:] == expected(name, compat)[-1:]


@pytest.mark.parametrize("crew", [False, True])
@pytest.mark.parametrize("name", SHORT)
def test_stats_of_a_whole_game(name: str, crew: bool) -> None:
    data, reader = replay(name), SlippiReader()
    batches = [*(reader.feed(data[start : start + 1000]) for start in range(0, len(data), 1000)), reader.finish()]
    whole = whole_stats(batches, crew=crew)
    assert whole is not None
    stats, _ = run(game(name), crew=crew)
    assert msgspec.json.encode([whole.stats(), whole.stadium()]) == msgspec.json.encode(
        [stats.stats(), stats.stadium()]
    )


def test_a_file_without_a_game_has_no_stats() -> None:
    reader = SlippiReader()
    assert whole_stats([reader.feed(b"no replay"), reader.finish()]) is None


@pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here")
@pytest.mark.parametrize("name", ["rollbacks_3.18", "ice_climbers_3.18", "free_for_all_1.0", "singles_0.1"])
def test_frames_are_not_decoded_for_the_stats(name: str) -> None:
    frames, end = game_of(replay(name)).frames, game(name).end
    stats = SlippiStats(game(name).settings)
    emitted = [event for frame, end_offset in frames for event in stats.feed(frame, end_offset)]
    assert lines([*emitted, *stats.finish(end)]) == expected(name, compat=False)
    packed = [frame for frame, _ in frames if isinstance(frame.content, PackedFrame)]
    assert len(packed) > 400
    assert sum(frame.decoded is not None for frame in packed) <= 1, "the last frame decides the winner"


@given(st.sets(st.integers(0, 599), max_size=300), st.sampled_from(SHORT))
@settings(max_examples=10)
def test_frames_that_others_have_decoded(decoded: set[int], name: str) -> None:
    """Frames that are not decoded yet are read in part. In both cases the inputs are those since the frame before."""
    fresh = game_of(replay(name))
    for at, (frame, _) in enumerate(fresh.frames):
        if at in decoded:
            _ = frame.entry
    assert lines(run(fresh)[1]) == expected(name, compat=False)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("name", SHORT)
def test_resume_in_the_middle(name: str, compat: bool) -> None:
    @settings(max_examples=4)
    @given(st.lists(st.integers(0, len(game(name).frames) - 1), max_size=3))
    def check(cuts: list[int]) -> None:
        resumed(name, cuts, compat=compat)

    check()


def test_reading_the_stats_changes_nothing() -> None:
    stats = SlippiStats(game("quit_3.18").settings)
    emitted: list[Event] = []
    for frame, end_offset in game("quit_3.18").frames:
        emitted += stats.feed(frame, end_offset)
        if frame.number % 7 == 0:
            stats.stats()
    assert lines([*emitted, *stats.finish(game("quit_3.18").end)]) == expected("quit_3.18", False)


def test_events_do_not_change_later() -> None:
    """Events and stats are values: later frames do not change them."""
    stats = SlippiStats(game("rollbacks_3.0").settings)
    emitted: list[Event] = []
    at_once: list[bytes] = []
    for frame, end_offset in game("rollbacks_3.0").frames:
        new = stats.feed(frame, end_offset)
        emitted += new
        at_once += lines(new)
    stats.finish(game("rollbacks_3.0").end)
    assert lines(emitted) == tuple(at_once)
