"""The batch path against the live path: the same frames, the same values, the same errors; and what analysts ask of it.

The live path is the reference. Both read with the same field tables, but find the events in different ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from slpstream.errors import FormatError
from slpstream.events import Event, Frame, GameEnd, GameStart, Metadata
from slpstream.slippi.columns import Character, EventColumns, Frames
from slpstream.slippi.commands import POST_FRAME, PRE_FRAME, STAGE_EVENT_KINDS, TABLES
from slpstream.slippi.reader import SlippiReader
from slpstream.slippi.whole_game import WholeGame
from tests.shared_data import replays
from tests.slippi.built import OFFLINE, ONLINE, Built, bookend, item, post, pre, start, varied_replay
from tests.slippi.logs import event_boundaries

NOT_REPLAYS = {"not_slp_text"}


class Live:
    """What the live path says of some bytes."""

    def __init__(self, data: bytes) -> None:
        reader = SlippiReader()
        self.events: list[Event] = [*reader.feed(data), *reader.finish()]
        self.failure = reader.failure
        self.sendings = [event for event in self.events if isinstance(event, Frame)]

    def first(self, kind: type[Event]) -> Any:
        return next((event for event in self.events if isinstance(event, kind)), None)


def same(ours: Any, theirs: Any) -> bool:
    """Equal, and NaN is itself."""
    return bool(ours == theirs) or (isinstance(theirs, float) and math.isnan(theirs) and math.isnan(ours))


def value_of(event: Any, name: str) -> Any:
    for part in name.split("."):
        event = getattr(event, part)
    return event


def event_differs(columns: EventColumns, row: int, event: Any, where: str) -> Iterator[str]:
    """What differs between a row of columns and a decoded event (`UNSET` when it did not come)."""
    if bool(columns.present[row]) != (event is not UNSET):
        yield f"{where}: present {columns.present[row]}"
    elif event is not UNSET:
        for name in columns.fields:
            if not same(columns[name][row].item(), value_of(event, name)):
                yield f"{where}.{name}: {columns[name][row]!r}, not {value_of(event, name)!r}"


def sending_differs(frames: Frames, row: int, frame: Frame) -> Iterator[str]:
    """What differs between a row of `sendings` and the frame that the live path gives."""
    where, entry = f"frame {frame.number} revision {frame.revision}", frame.entry
    if (frames.number[row], frames.revision[row]) != (frame.number, frame.revision):
        yield f"{where}: columns have {frames.number[row]} revision {frames.revision[row]}"
        return
    yield from event_differs(frames.start, row, entry.start, f"{where} start")
    for side, of_entry in ((frames.players, entry.players), (frames.followers, entry.followers or {})):
        if not of_entry.keys() <= side.keys():
            yield f"{where}: characters {sorted(of_entry)}"
        for index, character in side.items():
            of_live = of_entry.get(index)
            for name in ("pre", "post"):
                event = UNSET if of_live is None else getattr(of_live, name)
                yield from event_differs(getattr(character, name), row, event, f"{where} {character!r} {name}")
    items = entry.items or []
    if frames.items.counts[row] != len(items):
        yield f"{where}: {frames.items.counts[row]} items, not {len(items)}"
    else:
        for i, of_live in enumerate(items):
            yield from event_differs(frames.items, int(frames.items.firsts[row]) + i, of_live, f"{where} item {i}")
    for kind in STAGE_EVENT_KINDS.values():
        of_live = [event for event in entry.stage_events or [] if event.kind == kind]
        columns = frames.stage_events.get(kind)
        count = 0 if columns is None else int(columns.counts[row])
        if count != len(of_live):
            yield f"{where}: {count} {kind}, not {len(of_live)}"
        elif columns is not None:
            for i, event in enumerate(of_live):
                yield from event_differs(columns, int(columns.firsts[row]) + i, event, f"{where} {kind} {i}")


def assert_agree(data: bytes, *, every: int = 1) -> None:
    """Both paths say the same of these bytes; the values of every `every`-th sending are compared one by one."""
    live = Live(data)
    try:
        game = WholeGame(data)
    except FormatError as error:
        assert live.first(GameStart) is None, error
        assert live.failure is not None
        assert (type(error), str(error)) == (type(live.failure), str(live.failure))
        return
    start, end, metadata = live.first(GameStart), live.first(GameEnd), live.first(Metadata)
    assert msgspec.json.encode(game.start) == msgspec.json.encode(start)
    sendings = game.frames.sendings
    assert sendings.number.tolist() == [frame.number for frame in live.sendings]
    assert sendings.revision.tolist() == [frame.revision for frame in live.sendings]
    rows = range(0, len(live.sendings), every)
    differences = (text for row in rows for text in sending_differs(sendings, row, live.sendings[row]))
    assert next(differences, None) is None
    assert (game.failure is None) == (live.failure is None)
    if game.failure is not None and live.failure is not None:
        assert (type(game.failure), str(game.failure)) == (type(live.failure), str(live.failure))
    assert msgspec.json.encode(game.end) == msgspec.json.encode(end)
    assert (None if game.metadata is None else game.metadata.metadata) == (metadata and metadata.metadata)


def built_replays() -> dict[str, bytes]:
    """Replays of every era, put together by the project's own writer."""
    return {
        str(version): varied_replay(version) for version in ((0, 1, 0), (2, 0, 1), (2, 2, 0), (3, 3, 0), (3, 18, 0))
    }


@pytest.mark.parametrize("path", replays(), ids=lambda path: path.stem)
def test_real_replays(path: Path) -> None:
    """Frames and ends of each; the values of every 16th sending here, of all of them by whole columns below."""
    assert_agree(path.read_bytes(), every=16)


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in NOT_REPLAYS], ids=lambda path: path.stem)
def test_every_field_of_every_frame(path: Path) -> None:
    """Whole columns of the last sendings against the live path's values."""
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


@pytest.mark.parametrize("name", built_replays())
def test_built_replays_cut_anywhere(name: str) -> None:
    """At every event boundary, one byte before and one behind it: what is there is a replay that just stops."""
    data = built_replays()[name]
    for boundary in event_boundaries(data):
        for at in (boundary - 1, boundary, boundary + 1):
            assert_agree(data[:at])


def test_a_frame_number_that_differs_within_a_frame() -> None:
    """The layouts say nothing of frame numbers: such a game is read event by event."""
    data = bytearray(Built((3, 18, 0)).frames(-123, -60).end().closed())
    at = data.index(b"\x38" + (-80).to_bytes(4, "big", signed=True))
    data[at + 1 : at + 5] = (-79).to_bytes(4, "big", signed=True)
    assert_agree(bytes(data))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_replays(draw: st.DataObject) -> None:
    """Bytes flipped, cut out, doubled: the same frames, or the same error at the same offset."""
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
