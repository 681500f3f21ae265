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
from slpstream.game.log_writer import LogWriter, PythonLogWriter, new_log_writer
from slpstream.model.events import Frame, FrameFinalized, GameEvent, PackedEntry
from slpstream.model.messages import FramesMode, LogMessage, Position, content_of
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


FINAL = FrameFinalized(5, 7, FRAMES)
MODES: tuple[FramesMode, ...] = ("live", "finalized")


@given(
    st.sampled_from([MODES, *((mode,) for mode in MODES)]), st.lists(st.tuples(st.integers(-1, 9), st.integers(0, 5)))
)
def test_positions_are_the_same_with_and_without_the_kernel(
    modes: tuple[FramesMode, ...], steps: list[tuple[int, int]]
) -> None:
    writers: list[LogWriter] = [new_log_writer(modes), PythonLogWriter(modes)]
    logs = [writer.begin() for writer in writers]
    for offset, what in steps:
        for writer in writers:
            if what < 2:
                writer.write_frame(GAME, structs.replace(FRAMES[what], end_offset=offset))
            elif what < 4:
                writer.write_final_frame(GAME, FRAMES[what - 2], offset)
            elif what == 4:
                writer.write_finalized(GAME, structs.replace(FINAL, end_offset=offset))
            else:
                writer.write(GAME, OTHER, offset)
    assert logs[0] == logs[1]
    assert list(logs[0]) == list(logs[1]) == list(modes)
    assert len(logs[0].get("live", ())) in (0, sum(what not in (2, 3) for _, what in steps))


def test_positions_count_the_messages_of_an_offset() -> None:
    writer = new_log_writer(MODES)
    logs = writer.begin()
    for offset in (5, 5, 3, 8):
        writer.write_final_frame(GAME, FRAMES[0], offset)
    writer.write_finalized(GAME, FINAL)
    assert [message.position for message in logs["finalized"]] == [(5, 0), (5, 1), (5, 2), (8, 0)]
    assert {(message.type, message.mode, message.game_id, message.frame) for message in logs["finalized"]} == {
        ("frame", "finalized", GAME, FRAMES[0].number)
    }
    assert logs["live"] == [LogMessage("finalized", GAME, "live", 5, 0, b'"through":7}', None)]


@pytest.mark.parametrize("make", [PythonLogWriter, new_log_writer])
def test_copies_and_batches_are_independent(make: Callable[[Sequence[FramesMode]], LogWriter]) -> None:
    writer = make(["live"])
    first = writer.begin()
    writer.write(GAME, OTHER, 5)
    twin, second = writer.copy(), writer.begin()
    writer.write(None, OTHER, 5)
    third = twin.begin()
    twin.write(GAME, OTHER, 6)
    assert [[message.position for message in logs["live"]] for logs in (first, second, third)] == [
        [Position(5, 0)], [Position(5, 1)], [Position(6, 0)],
    ]  # fmt: skip
    assert second == {"live": [LogMessage("event", None, "live", 5, 1, OTHER[1], None)]}


def test_what_is_no_message_is_refused() -> None:
    assert kernel is not None
    writer: Any = new_log_writer(MODES)
    with pytest.raises(RuntimeError, match="begin"):
        writer.write(GAME, OTHER, 5)
    logs = writer.begin()
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (writer.write, (GAME, OTHER)),
        (writer.write, (GAME, OTHER[:2], 5)),
        (writer.write, (GAME, list(OTHER), 5)),
        (writer.write, (GAME, OTHER, "5")),
        (writer.write_frame, (GAME,)),
        (writer.write_finalized, (GAME, FINAL, 5)),
        (writer.write_final_frame, (GAME, FRAMES[0], None)),
        (kernel.LogWriter, (("live",), LogMessage, "packed", content_of)),
        (kernel.LogWriter, (["live"], LogMessage, PackedEntry, content_of)),
    ]
    for call, arguments in calls:
        with pytest.raises(TypeError):
            call(*arguments)
    for modes in (("live", "live"), ("dead",), (1,)):
        with pytest.raises(ValueError, match="modes"):
            kernel.LogWriter(modes, LogMessage, PackedEntry, content_of)
    for write in (writer.write_frame, writer.write_finalized):
        with pytest.raises(AttributeError):
            write(GAME, object())
    assert logs == {"live": [], "finalized": []}
