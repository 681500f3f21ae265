"""Both writers of logs give the same messages the same positions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.log_writer import LogWriter, PythonLogWriter, new_log_writer
from slpstream.model.events import Frame, GameEvent
from slpstream.model.messages import LogMessage, Position, content_of
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match

GAME = "0123456789abcdef0123456789abcdef"
OTHER = content_of(GameEvent(0, "lap", 7, {}))

pytestmark = pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here")


def frames() -> list[Frame]:
    """A frame as bytes, if the kernel is there, and one that is decoded."""
    events = SlippiReader().feed(synthetic_match(seed=1, frames=3))
    packed = next(event for event in events if isinstance(event, Frame))
    return [packed, Frame(packed.end_offset, packed.number, 0, packed.entry)]


FRAMES = frames()


@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 2)), max_size=20))
def test_positions_are_the_same_with_and_without_the_kernel(steps: list[tuple[int, int]]) -> None:
    writers: list[LogWriter] = [new_log_writer("live"), PythonLogWriter("live")]
    logs = [writer.begin() for writer in writers]
    for offset, what in steps:
        for writer in writers:
            if what < 2:
                writer.write_frame(GAME, FRAMES[what], offset)
            else:
                writer.write(GAME, OTHER, offset)
    assert logs[0] == logs[1]
    assert len(logs[0]) == len(steps)


def test_positions_count_the_messages_of_an_offset() -> None:
    writer = new_log_writer("finalized")
    log = writer.begin()
    for offset in (5, 5, 3, 8):
        writer.write_frame(GAME, FRAMES[0], offset)
    assert [message.position for message in log] == [(5, 0), (5, 1), (5, 2), (8, 0)]
    assert {(message.type, message.mode, message.game_id, message.frame) for message in log} == {
        ("frame", "finalized", GAME, FRAMES[0].number)
    }


@pytest.mark.parametrize("make", [PythonLogWriter, new_log_writer])
def test_copies_and_batches_are_independent(make: Any) -> None:
    writer: LogWriter = make("live")
    first = writer.begin()
    writer.write(GAME, OTHER, 5)
    twin, second = writer.copy(), writer.begin()
    writer.write(None, OTHER, 5)
    third = twin.begin()
    twin.write(GAME, OTHER, 6)
    assert [[message.position for message in log] for log in (first, second, third)] == [
        [Position(5, 0)], [Position(5, 1)], [Position(6, 0)],
    ]  # fmt: skip
    assert second == [LogMessage("event", None, "live", 5, 1, OTHER[1], None)]


def test_what_is_no_message_is_refused() -> None:
    assert kernel is not None
    writer: Any = new_log_writer("live")
    log = writer.begin()
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (writer.write, (GAME, OTHER)),
        (writer.write, (GAME, OTHER[:2], 5)),
        (writer.write, (GAME, list(OTHER), 5)),
        (writer.write, (GAME, OTHER, "5")),
        (writer.write_frame, (GAME, FRAMES[0])),
        (writer.write_frame, (GAME, FRAMES[0], None)),
        (kernel.LogWriter, ("live", LogMessage, "packed", content_of)),
        (kernel.LogWriter, (1, LogMessage, int, content_of)),
    ]
    for call, arguments in calls:
        with pytest.raises(TypeError):
            call(*arguments)
    with pytest.raises(AttributeError):
        writer.write_frame(GAME, object(), 5)
    assert log == []
