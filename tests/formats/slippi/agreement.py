"""Comparison of the two reading paths: the live path and the batch path on the same bytes, down to the last value.

The live path is the reference. Both decode with the same field tables, but find the events in different ways. Where the
compiled kernel is built, the batch path is compared with and without it as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from msgspec import UNSET

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.arrow import frames_table, items_table
from slpstream.formats.slippi.columns import Array, EventColumns, Frames
from slpstream.formats.slippi.commands import STAGE_EVENT_KINDS
from slpstream.formats.slippi.frame_index import FrameIndex
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.model.errors import FormatError
from slpstream.model.events import Event, Frame, GameEnd, GameStart, Metadata
from tests.formats.slippi.pure import without_kernel


class Live:
    """The events of the live path."""

    def __init__(self, data: bytes) -> None:
        reader = SlippiReader()
        self.events: list[Event] = [*reader.feed(data), *reader.finish()]
        self.failure = reader.failure
        self.sendings = [event for event in self.events if isinstance(event, Frame)]

    def first(self, kind: type[Event]) -> Any:
        return next((event for event in self.events if isinstance(event, kind)), None)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are equal; NaN equals NaN."""
    return bool(ours == theirs) or (isinstance(theirs, float) and math.isnan(theirs) and math.isnan(ours))


def value_of(event: Any, name: str) -> Any:
    for part in name.split("."):
        event = getattr(event, part)
    return event


def event_differs(columns: EventColumns, row: int, event: Any, where: str) -> Iterator[str]:
    """The differences between a row of columns and a decoded event, which is `UNSET` when absent."""
    if bool(columns.present[row]) != (event is not UNSET):
        yield f"{where}: present {columns.present[row]}"
    elif event is not UNSET:
        for name in columns.fields:
            if not same(columns[name][row].item(), value_of(event, name)):
                yield f"{where}.{name}: {columns[name][row]!r}, not {value_of(event, name)!r}"


def sending_differs(frames: Frames, row: int, frame: Frame) -> Iterator[str]:
    """The differences between a row of `sendings` and the frame of the live path."""
    where, entry = f"frame {frame.number} revision {frame.revision}", frame.entry
    if (frames.number[row], frames.revision[row]) != (frame.number, frame.revision):
        yield f"{where}: columns have {frames.number[row]} revision {frames.revision[row]}"
        return
    yield from event_differs(frames.start, row, entry.start, f"{where} start")
    for side, expected_side in ((frames.players, entry.players), (frames.followers, entry.followers or {})):
        if not expected_side.keys() <= side.keys():
            yield f"{where}: characters {sorted(expected_side)}"
        for index, character in side.items():
            expected = expected_side.get(index)
            for name in ("pre", "post"):
                event = UNSET if expected is None else getattr(expected, name)
                yield from event_differs(getattr(character, name), row, event, f"{where} {character!r} {name}")
    items = entry.items or []
    if frames.items.counts[row] != len(items):
        yield f"{where}: {frames.items.counts[row]} items, not {len(items)}"
    else:
        for i, expected in enumerate(items):
            yield from event_differs(frames.items, int(frames.items.firsts[row]) + i, expected, f"{where} item {i}")
    for kind in STAGE_EVENT_KINDS.values():
        expected = [event for event in entry.stage_events or [] if event.kind == kind]
        columns = frames.stage_events.get(kind)
        count = 0 if columns is None else int(columns.counts[row])
        if count != len(expected):
            yield f"{where}: {count} {kind}, not {len(expected)}"
        elif columns is not None:
            for i, event in enumerate(expected):
                yield from event_differs(columns, int(columns.firsts[row]) + i, event, f"{where} {kind} {i}")


def assert_agree(data: bytes, *, every: int = 1, with_tables: bool = True) -> None:
    """Assert that both paths agree on these bytes. The values of every `every`-th sending are compared one by one.

    Tables follow from where the events are. Without them, only this is compared between the kernel and Python.
    """
    live = Live(data)
    start = live.first(GameStart)
    if start is None:
        with pytest.raises(FormatError) as raised:
            WholeGame(data)
        assert description(raised.value) == description(live.failure)
        return
    game = WholeGame(data)
    assert_kernel_agrees(game, with_tables=with_tables)
    assert msgspec.json.encode(game.start) == msgspec.json.encode(start)
    sendings = game.frames.sendings
    assert sendings.number.tolist() == [frame.number for frame in live.sendings]
    assert sendings.revision.tolist() == [frame.revision for frame in live.sendings]
    rows = range(0, len(live.sendings), every)
    differences = (text for row in rows for text in sending_differs(sendings, row, live.sendings[row]))
    assert next(differences, None) is None
    assert description(game.failure) == description(live.failure)
    assert msgspec.json.encode(game.end) == msgspec.json.encode(live.first(GameEnd))
    assert msgspec.json.encode(game.metadata) == msgspec.json.encode(live.first(Metadata))


def assert_kernel_agrees(game: WholeGame, *, with_tables: bool = True) -> None:
    """Assert that the kernel finds the same events as Python, and makes the same columns and tables of them."""
    if kernel is None:
        return
    with without_kernel():
        python = WholeGame(game.data)
        assert_same_index(game.index, python.index)
        if not with_tables:
            return
        expected = [*tables(python.frames), *tables(python.frames.sendings)]
        columns = [*all_columns(python.frames)]
    for (name, ours), (expected_name, theirs) in zip(all_columns(game.frames), columns, strict=True):
        assert (name, ours.dtype) == (expected_name, theirs.dtype)
        assert ours.tobytes() == theirs.tobytes()
    for ours, theirs in zip([*tables(game.frames), *tables(game.frames.sendings)], expected, strict=True):
        ours.validate(full=True)
        assert ours.schema.equals(theirs.schema, check_metadata=True)
        assert same_columns(ours, theirs)


def all_columns(frames: Frames) -> Iterator[tuple[str, Array]]:
    """The columns of all events, with their names."""
    events = [frames.start, frames.bookend, frames.items, *frames.stage_events.values()]
    events += [event for character in frames.characters for event in (character.pre, character.post)]
    for event in events:
        for name in event.fields:
            yield name, event[name]


def tables(frames: Frames) -> list[pa.Table]:
    return [frames_table(frames), items_table(frames)]


def same_columns(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same values and nulls; a NaN equals a NaN with the same bits."""
    return all(bits(a).equals(bits(b)) for a, b in zip(one.columns, other.columns, strict=True))


def bits(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column in one piece, those of floats as integers."""
    values = column.combine_chunks()
    return values.view(pa.uint32()) if values.type == pa.float32() else values


def assert_same_index(one: FrameIndex, other: FrameIndex) -> None:
    assert np.array_equal(one.numbers, other.numbers)
    assert one.numbers.dtype == other.numbers.dtype
    assert list(one.slots) == list(other.slots)
    assert list(one.repeated) == list(other.repeated)
    for slot, offsets in one.slots.items():
        assert np.array_equal(offsets, other.slots[slot])
    for command, repeated in one.repeated.items():
        assert np.array_equal(repeated.offsets, other.repeated[command].offsets)
        assert np.array_equal(repeated.firsts, other.repeated[command].firsts)
    assert one.stop == other.stop
    assert description(one.failure) == description(other.failure)


def description(error: FormatError | None) -> tuple[str, str] | None:
    """The code of an error, and its text with the offset."""
    return None if error is None else (error.code, str(error))
