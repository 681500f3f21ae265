"""The check during a game and on any bytes: live equals batch, final frames only, damaged replays."""

from __future__ import annotations

import math
from functools import cache

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.registry import of_name
from slpstream.model.controller_report import ControllerReport
from slpstream.model.errors import FormatError
from slpstream.model.events import Event, Frame, GameStart, final_frames, first_of
from slpstream.parts.controllers.check import ControllerCheck, checked, player_types
from tests.parts.controllers.hands import analog, box, with_inputs
from tests.synthetic.match import synthetic_match

SMALL = synthetic_match(seed=4, frames=300)


@cache
def of_three_players() -> bytes:
    return with_inputs({0: analog(1), 1: box(2, travel=False), 2: box(3)})


def events_of(data: bytes, chunk_bytes: int = 1 << 20) -> list[Event]:
    reader = of_name("Game_1.slp", data[:64], len(data)).new_reader("Game_1.slp")
    chunks = (data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes))
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.finish()


def report_of(events: list[Event]) -> ControllerReport:
    start = first_of(GameStart, events)
    assert start is not None
    return checked(start.settings, [events])


def test_live_equals_batch() -> None:
    """The report is independent of the number of earlier reports and of the splits of the bytes."""
    events = events_of(of_three_players())
    start = first_of(GameStart, events)
    assert start is not None
    live = ControllerCheck(player_types(start.settings))
    for i, event in enumerate(events_of(of_three_players(), 777)):
        for frame in final_frames([event]):
            live.take(frame.number, frame.content)
        if i % 500 == 0:
            live.report()
    assert live.report() == report_of(events)


def test_packed_decoded_and_encoded_frames_agree() -> None:
    events = events_of(SMALL)
    start = first_of(GameStart, events)
    assert start is not None
    frames = [event for event in events if isinstance(event, Frame)]
    reports = []
    for form in (lambda f: f.content, lambda f: f.entry, lambda f: msgspec.json.encode(f.entry)):
        check = ControllerCheck(player_types(start.settings))
        for frame in frames:
            check.take(frame.number, form(frame))
        reports.append(check.report())
    assert reports[0] == reports[1] == reports[2]
    assert reports[0].players[0].frames == len(frames)


def test_rolled_back_frames_do_not_count() -> None:
    online = synthetic_match(seed=5, frames=600, rollbacks=True)
    events = events_of(online)
    frames = [event for event in events if isinstance(event, Frame)]
    numbers = {frame.number for frame in frames}
    assert len(frames) > len(numbers)
    assert report_of(events).players[0].frames == len(numbers)


@settings(max_examples=60)
@given(st.integers(0, len(SMALL)), st.lists(st.tuples(st.integers(15, len(SMALL) - 1), st.integers(0, 7)), max_size=40))
def test_damaged_replays_are_checked_up_to_the_damage(size: int, flips: list[tuple[int, int]]) -> None:
    data = bytearray(SMALL)
    for at, bit in flips:
        data[at] ^= 1 << bit
    try:
        events = events_of(bytes(data[:size]))
    except FormatError:
        return
    start = first_of(GameStart, events)
    if start is None:
        return
    report = checked(start.settings, [events])
    msgspec.json.encode(report)
    for player in report.players:
        for finding in player.findings:
            assert math.isfinite(finding.score)
            assert finding.frames == sorted(set(finding.frames))
