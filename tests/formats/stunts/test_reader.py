"""The reader: events of a replay, diagnostics, rejected files, and `sniff`."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.stunts.inputs import InputRuns, likely_finished
from slpstream.formats.stunts.layout import LayoutName
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.formats.stunts.sniff import sniff
from slpstream.model.errors import FramingError, WrongFormat
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameStart
from tests.formats.logs import diagnostics, log_of, payload
from tests.formats.stunts import built
from tests.formats.stunts.writer import encode


def events_of(data: bytes) -> list[Event]:
    return log_of(StuntsReader(name="a.rpl"), data)


def codes(data: bytes) -> list[str]:
    return [code for code, _ in diagnostics(events_of(data))]


def test_messages_of_a_replay() -> None:
    inputs = bytes([0x01, 0x05, 0x0B, 0x0C, 0x11, 0x30, 0xE2]) + bytes(20)
    events = events_of(encode(built.replay(inputs=inputs, opponent=3)))
    start, end = events[0], events[-1]
    assert [type(event) for event in events] == [GameStart, *[Frame, FrameFinalized] * 27, GameEnd]
    assert payload(start) == {
        "type": "game_start",
        "format": "stunts",
        "rate": [20, 1],
        "settings": {
            "layout": "new",
            "ticks": 27,
            "frequencyHz": 20,
            "player": {"car": "VETT", "carName": "Corvette ZR1", "color": 3, "transmission": "manual"},
            "opponent": {
                "id": 3,
                "name": "Smokin' Joe Stallin",
                "car": "PMIN",
                "carName": "Porsche March Indy",
                "color": 2,
                "transmission": "automatic",
            },
            "track": {"name": "DEFAULT", "sha256": built.track().sha256, "horizon": 1, "horizonName": "tropical"},
        },
    }
    frames = [payload(event)["frame"] for event in events if isinstance(event, Frame)]
    assert [frame["frame"] for frame in frames] == [frame["nativeFrame"] for frame in frames] == list(range(27))
    sent = [frame["players"]["0"]["inputs"] for frame in frames]
    assert [(i["steer"], i["throttle"], i["brake"], i["buttons"]) for i in sent[:8]] == [
        (0.0, 1.0, 0.0, []),
        (1.0, 1.0, 0.0, []),
        (-1.0, 0.0, 0.0, []),
        (0.0, 0.0, 0.0, []),
        (0.0, 1.0, 0.0, ["gear_up"]),
        (0.0, 0.0, 0.0, ["gear_up"]),
        (0.0, 0.0, 1.0, ["gear_down"]),
        (0.0, 0.0, 0.0, []),
    ]
    assert bytes(i["raw"]["byte"] for i in sent) == inputs
    assert payload(end) == {
        "type": "game_end",
        "reason": "file_end",
        "winners": [],
        "lastFrame": 26,
        "durationSeconds": 27 / 20,
        "finished": "likely",
        "basis": "inferred",
        "raceSeconds": 7 / 20,
    }


@pytest.mark.parametrize("layout", ["new", "old"])
def test_all_values_are_read(layout: LayoutName) -> None:
    replay = msgspec.structs.replace(built.replay(layout, opponent=3), track_name=b"A\0\xff345678", color=255)
    assert built.read(encode(replay)).replay == replay


def test_old_layout_is_recognised_by_its_length() -> None:
    data = encode(built.replay("old"))
    assert built.read(data).replay == built.replay("old")
    assert events_of(data)[0].rate == (20, 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("ticks", "frequency_hz"), [(18, 20), (8, 10)])
def test_both_layouts_fit_when_the_frequency_is_two_more_than_the_tics(ticks: int, frequency_hz: int) -> None:
    data = encode(built.replay(ticks=ticks, frequency_hz=frequency_hz))
    start, diagnostic = events_of(data)[:2]
    assert isinstance(start, GameStart)
    assert start.settings.layout == "new"
    assert isinstance(diagnostic, Diagnostic)
    assert (diagnostic.code, diagnostic.offset, diagnostic.end_offset) == ("layout_ambiguous", 24, start.end_offset)


def test_unusual_values_are_kept_with_a_diagnostic() -> None:
    replay = built.replay(ticks=100, frequency_hz=0)
    assert codes(encode(replay)) == ["frequency"]
    end = events_of(encode(replay))[-1]
    assert isinstance(end, GameEnd)
    assert (end.duration_seconds, end.last_frame, end.values["finished"]) == (None, 99, "unknown")
    assert codes(encode(built.replay(ticks=12_001))) == ["over_buffer"]
    assert codes(encode(built.replay(ticks=12_000))) == []
    assert codes(encode(msgspec.structs.replace(built.replay(), transmission=7))) == ["transmission"]
    assert codes(encode(msgspec.structs.replace(built.replay(), car=b"AB\x01\xff"))) == ["car_id"]


def test_replay_without_tics() -> None:
    events = events_of(encode(built.replay(ticks=0)))
    assert [type(event) for event in events] == [GameStart, GameEnd]
    assert events[-1].last_frame is None  # type: ignore[attr-defined]


def test_finish_hint_requires_a_whole_idle_second_after_other_tics() -> None:
    assert likely_finished(InputRuns(b"\x01" + bytes(20)), 20)
    assert likely_finished(InputRuns(b"\x01" + b"\xc0" * 20), 20)
    assert not likely_finished(InputRuns(b"\x01" + bytes(19)), 20)
    assert not likely_finished(InputRuns(bytes(20)), 20)
    assert not likely_finished(InputRuns(bytes(20)), 0)


def test_header_must_be_plausible_if_the_name_does_not_fit() -> None:
    data = bytearray(encode(built.replay()))
    assert built.read(bytes(data), "").frame_count == 300
    for at, value in ((0, 0x1F), (5, 2), (26 + 901, 19)):
        damaged = bytearray(data)
        damaged[at] = value
        assert built.read(bytes(damaged)).frame_count == 300
        with pytest.raises(WrongFormat):
            built.read(bytes(damaged), "a.dat")


def test_length_that_fits_no_layout_is_rejected() -> None:
    data = encode(built.replay())
    for wrong in (data[:-1], data + b"\0", data[:1000], data[:26], b""):
        with pytest.raises(FramingError):
            built.read(wrong)
        with pytest.raises(WrongFormat):
            built.read(wrong, "")
    with pytest.raises(WrongFormat, match="plain Stunts track"):
        built.read(built.track().data, "a.trk")


def test_sniff() -> None:
    data = encode(built.replay())
    head = data[:0x500]
    assert sniff(head, len(data), "A.RPL") == "yes"
    assert sniff(head, len(data) - 1, "a.rpl") == "maybe"
    assert sniff(head, None, "a.rpl") == "maybe"
    assert sniff(b"", 0, "a.rpl") == "maybe"
    assert sniff(head, len(data), "") == "maybe"
    assert sniff(head, len(data) + 1, "a") == "no"
    assert sniff(head, None, "a") == "no"
    assert sniff(b"\x7fELF" + head[4:], len(data), "a") == "no"


@given(st.binary(max_size=300), st.integers(0, 310), st.integers(0, 310))
@settings(max_examples=150)
def test_runs_expand_to_the_original_bytes(data: bytes, first: int, stop: int) -> None:
    data = bytes(byte & 3 for byte in data)
    runs = InputRuns(data)
    assert bytes(runs) == data
    assert runs.expand(first, stop) == data[first:stop]
