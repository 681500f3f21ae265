"""Stats do not depend on how a game is read: frame by frame, in pieces, or resumed from a copy."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Event, Frame, FrameFinalized, GameEnd
from slpstream.stats import SlippiStats
from slpstream.stats.whole import WithoutEvents
from tests.replays import needs_shared, replay
from tests.stats.games import Game, game_of, run
from tests.synthetic.match import synthetic_match

MATCHES = {
    "two": {"seed": 11},
    "netplay": {"seed": 12, "rollbacks": True},
    "climbers": {"seed": 13, "followers": True, "items": True},
    "teams": {"seed": 14, "players": 4, "teams": True, "stocks": 1},
    "three": {"seed": 15, "players": 3, "version": (1, 2, 0)},
    "oldest": {"seed": 16, "version": (0, 1, 0)},
}
REAL = ("doubles", "ics2", "transform")


@cache
def data_of(name: str) -> bytes:
    return replay(name) if name in REAL else synthetic_match(frames=800, **MATCHES[name])  # type: ignore[arg-type]


@cache
def game(name: str) -> Game:
    return game_of(data_of(name))


@cache
def expected(name: str, compat: bool) -> tuple[bytes, ...]:
    return lines(run(game(name), compat=compat)[1])


def lines(emitted: list[Event]) -> tuple[bytes, ...]:
    return tuple(type(event).__name__.encode() + msgspec.json.encode(event) for event in emitted)


def resumed(name: str, cuts: list[int], *, compat: bool) -> None:
    """At each cut the stats continue as a copy. The original continues, too, and must not be affected."""
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
@pytest.mark.parametrize("name", MATCHES)
def test_stats_without_events(name: str, compat: bool) -> None:
    computer = WithoutEvents(SlippiStats(game(name).settings, compat=compat))
    twin = None
    for at, (frame, end_offset) in enumerate(game(name).frames):
        if at == 400:
            twin = computer.copy()
        assert computer.feed(frame, end_offset) == []
        if twin is not None:
            twin.feed(frame, end_offset)
    assert twin is not None
    for each in (computer, twin):
        assert lines(each.finish(game(name).end))[-1:] == expected(name, compat)[-1:]


@pytest.mark.parametrize("name", ["netplay", "climbers", "three", "oldest"])
def test_frames_are_not_decoded_for_the_stats(name: str) -> None:
    frames, end = game_of(data_of(name)).frames, game(name).end
    stats = SlippiStats(game(name).settings)
    emitted = [event for frame, end_offset in frames for event in stats.feed(frame, end_offset)]
    assert lines([*emitted, *stats.finish(end)]) == expected(name, compat=False)
    packed = [frame for frame, _ in frames if isinstance(frame.content, PackedFrame)]
    assert len(packed) > 600
    assert sum(frame.decoded is not None for frame in packed) <= 1, "the last frame decides the winner"


@given(st.sets(st.integers(0, 799), max_size=400), st.sampled_from(["netplay", "climbers", "teams", "three", "oldest"]))
@settings(max_examples=10, deadline=None)
def test_frames_that_others_have_decoded(decoded: set[int], name: str) -> None:
    """Frames are read in part if nobody has decoded them; either way the inputs are those since the frame before."""
    fresh = game_of(data_of(name))
    for at, (frame, _) in enumerate(fresh.frames):
        if at in decoded:
            _ = frame.entry
    assert lines(run(fresh)[1]) == expected(name, compat=False)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("name", MATCHES)
def test_resume_in_the_middle(name: str, compat: bool) -> None:
    @settings(max_examples=4, deadline=None)
    @given(st.lists(st.integers(0, len(game(name).frames) - 1), max_size=3))
    def check(cuts: list[int]) -> None:
        resumed(name, cuts, compat=compat)

    check()


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_resume_of_real_games(name: str) -> None:
    count = len(game(name).frames)
    resumed(name, [count // 3, count // 2, count // 2 + 1, count - 1], compat=False)


@pytest.mark.parametrize("name", MATCHES)
def test_read_in_pieces(name: str) -> None:
    """The file offsets of the events do not depend on how the file is read."""

    @settings(max_examples=3, deadline=None)
    @given(st.integers(1, 60000))
    def check(size: int) -> None:
        data = data_of(name)
        reader = SlippiReader()
        events = [e for at in range(0, len(data), size) for e in reader.feed(data[at : at + size])] + reader.finish()
        stats = SlippiStats(game(name).settings)
        waiting: dict[int, Frame] = {}
        emitted: list[Event] = []
        for event in events:
            if isinstance(event, Frame):
                waiting[event.number] = event
            elif isinstance(event, FrameFinalized):
                for number in sorted(n for n in waiting if n <= event.through):
                    emitted += stats.feed(waiting.pop(number), event.end_offset)
            elif isinstance(event, GameEnd):
                emitted += stats.finish(event)
        assert lines(emitted) == expected(name, False)

    check()


def test_reading_the_stats_changes_nothing() -> None:
    stats = SlippiStats(game("two").settings)
    emitted: list[Event] = []
    for frame, end_offset in game("two").frames:
        emitted += stats.feed(frame, end_offset)
        if frame.number % 7 == 0:
            stats.stats()
    assert lines([*emitted, *stats.finish(game("two").end)]) == expected("two", False)


def test_events_do_not_change_later() -> None:
    """Events and stats are values: later frames do not change them."""
    stats = SlippiStats(game("netplay").settings)
    emitted: list[Event] = []
    at_once: list[bytes] = []
    for frame, end_offset in game("netplay").frames:
        new = stats.feed(frame, end_offset)
        emitted += new
        at_once += lines(new)
    stats.finish(game("netplay").end)
    assert lines(emitted) == tuple(at_once)
