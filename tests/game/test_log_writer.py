"""Both writers of logs give the same messages the same positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_writer import Batch, LogWriter, new_log_writer
from slpstream.model.events import Event, Frame, FrameFinalized, GameEvent, PackedEntry
from slpstream.model.messages import FramesMode, LogMessage, Position, content_of
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match

GAME = "0123456789abcdef0123456789abcdef"

pytestmark = pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here")


def frames() -> list[Frame]:
    """A frame as bytes, if the kernel is there, and one that is decoded."""
    events = SlippiReader().feed(synthetic_match(seed=1, frames=3))
    packed = next(event for event in events if isinstance(event, Frame))
    return [packed, Frame(packed.end_offset, packed.number, 2, packed.entry)]


FRAMES = frames()
MODES: tuple[FramesMode, ...] = ("live", "finalized")


class Derived:
    """Derives events from each final frame; by default none."""

    def __init__(self, events: int = 0) -> None:
        self.computer: Any = self
        self._events = events

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        return [GameEvent(end_offset, "derived", frame.number, {"n": n}) for n in range(self._events)]


def written(writer: LogWriter, events: list[Event], deriver: Any = None) -> Batch:
    """Let a writer write the events, and those that aren't about frames just as they are."""

    def write_other(batch: Batch, event: Event) -> None:
        batch.notable.append(event)
        writer.write(content_of(event), event.end_offset)

    return writer.write_events(events, deriver or Derived(), write_other)


def event(offset: int, what: int) -> Event:
    if what < 2:
        return structs.replace(FRAMES[what], end_offset=offset)
    if what < 4:
        return FrameFinalized(offset, 7, FRAMES[: what - 1])
    return GameEvent(offset, "lap", 7, {})


@given(
    st.sampled_from([MODES, *((mode,) for mode in MODES)]),
    st.lists(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 4))), max_size=4),
    st.integers(0, 2),
)
def test_batches_are_the_same_with_and_without_the_kernel(
    modes: tuple[FramesMode, ...], batches: list[list[tuple[int, int]]], derived: int
) -> None:
    writers: list[LogWriter] = [new_log_writer(modes), LogWriter(modes)]
    for number, steps in enumerate(batches):
        if number == 1:
            for writer in writers:
                writer.begin_game(GAME)
        events = [event(*step) for step in steps]
        by_kernel, by_python = (written(writer, events, Derived(derived)) for writer in writers)
        assert by_kernel == by_python
        assert writers[0].last_frame == writers[1].last_frame
        assert list(by_kernel.logs) == list(modes)
        whole = [FRAMES[what] for _, what in steps if what < 2]
        assert by_kernel.frames == len(whole)
        assert by_kernel.resent_frames == sum(frame.revision > 0 for frame in whole)
        finals = sum(what - 1 for _, what in steps if what in (2, 3))
        others = sum(what == 4 for _, what in steps) + finals * derived
        announced = sum(what < 4 for _, what in steps)
        expected = {"live": announced + others, "finalized": finals + others}
        assert {mode: len(messages) for mode, messages in by_kernel.logs.items()} == {m: expected[m] for m in modes}


def test_positions_count_the_messages_of_an_offset() -> None:
    writer = new_log_writer(MODES)
    writer.begin_game(GAME)
    finals: list[Event] = [FrameFinalized(offset, 7, FRAMES[:1]) for offset in (5, 5, 3, 8)]
    batch = written(writer, finals)
    logs = batch.logs
    assert (batch.frames, batch.resent_frames, writer.last_frame) == (0, 0, None)
    for mode in MODES:
        assert [message.position for message in logs[mode]] == [(5, 0), (5, 1), (5, 2), (8, 0)]
    assert {(message.type, message.mode, message.game_id, message.frame) for message in logs["finalized"]} == {
        ("frame", "finalized", GAME, FRAMES[0].number)
    }
    assert logs["live"][0] == LogMessage("finalized", GAME, "live", 5, 0, b'"through":7}', None)


def test_highest_frame_number_is_kept() -> None:
    for writer in (new_log_writer(MODES), LogWriter(MODES)):
        for number, highest in ((-123, -123), (7, 7), (-5, 7), (8, 8)):
            written(writer, [structs.replace(FRAMES[0], number=number)])
            assert writer.last_frame == highest
            assert writer.copy().last_frame == highest


def test_derived_events_come_after_their_frame() -> None:
    batch = written(new_log_writer(MODES), [FrameFinalized(5, 7, FRAMES)], Derived(1))
    logs = batch.logs
    assert [event.frame for event in batch.notable if isinstance(event, GameEvent)] == [f.number for f in FRAMES]
    assert [message.type for message in logs["live"]] == ["finalized", "event", "event"]
    assert [message.type for message in logs["finalized"]] == ["frame", "event", "frame", "event"]


@pytest.mark.parametrize("make", [LogWriter, new_log_writer])
def test_copies_and_batches_are_independent(make: Callable[[Sequence[FramesMode]], LogWriter]) -> None:
    writer = make(["live"])
    writer.begin_game(GAME)
    laps = [event(offset, 4) for offset in (5, 6)]
    first = written(writer, laps[:1])
    twin = writer.copy()
    second = written(writer, laps[:1])
    third = written(twin, laps[1:])
    assert [[message.position for message in batch.logs["live"]] for batch in (first, second, third)] == [
        [Position(5, 0)], [Position(5, 1)], [Position(6, 0)],
    ]  # fmt: skip
    assert third.logs["live"][0].game_id == GAME


def test_errors_of_others_pass_through() -> None:
    def fail(*arguments: Any) -> Any:
        raise LookupError

    failing: Any = Derived()
    failing.feed = fail
    for writer in (new_log_writer(MODES), LogWriter(MODES)):
        with pytest.raises(LookupError):
            writer.write_events([event(5, 4)], Derived(), fail)
        with pytest.raises(LookupError):
            written(writer, [event(5, 2)], failing)
        assert [m.position for m in written(writer, [event(6, 0)]).logs["live"]] == [(6, 0)]


def test_what_is_no_message_is_refused() -> None:
    assert kernel is not None
    types = LogMessage, PackedEntry, Frame, FrameFinalized, Batch, content_of
    writer: Any = new_log_writer(MODES)
    lap = content_of(event(5, 4))
    with pytest.raises(RuntimeError, match="batch"):
        writer.write(lap, 5)
    logs = written(writer, []).logs
    no_list: Any = Derived()
    no_list.feed = lambda frame, end_offset: ()
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (writer.write, (lap,)),
        (writer.write, (lap[:2], 5)),
        (writer.write, (list(lap), 5)),
        (writer.write, (lap, "5")),
        (writer.write_events, ([],)),
        (writer.write_events, ((), Derived(), print)),
        (writer.write_events, ([event(5, 2)], no_list, print)),
        (writer.write_events, ([Frame("5", 1, 0, FRAMES[0].content)], Derived(), print)),  # type: ignore[arg-type]
        (kernel.LogWriter, (("live",), (LogMessage, "packed", *types[2:]))),
        (kernel.LogWriter, (["live"], types)),
        (kernel.LogWriter, (("live",), types[:5])),
    ]
    for call, arguments in calls:
        with pytest.raises(TypeError):
            call(*arguments)
    for modes in (("live", "live"), ("dead",), (1,)):
        with pytest.raises(ValueError, match="modes"):
            kernel.LogWriter(modes, types)
    with pytest.raises(AttributeError):
        writer.write_events([event(5, 2)], object(), print)
    assert logs == {"live": [], "finalized": []}
