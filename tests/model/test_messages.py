"""Messages: the envelope, the cursor, the cut-down frame, and the equivalence of all forms of a message."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model import events
from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import (
    DROPPABLE_TYPES,
    Cursor,
    LogMessage,
    Position,
    body_of,
    parse_cursor,
    timestamp,
    to_messagepack,
)
from slpstream.model.topics import TOPIC_OF_TYPE, TOPICS
from tests.formats.slippi.built import varied_replay
from tests.formats.slippi.logs import logs_of

GAME = "0123456789abcdef0123456789abcdef"

games = st.text("0123456789abcdef", min_size=32, max_size=32)
positions = st.builds(Position, st.integers(0, 10**18 - 1), st.integers(0, 10**9 - 1))
cursors = st.one_of(
    st.builds(Cursor, games, st.sampled_from(["live", "finalized"]), positions, st.none()),
    st.builds(Cursor, games, st.none(), st.none(), st.integers(-(10**9) + 1, 10**9 - 1)),
)


def message(event: events.Event, *, game_id: str | None = GAME, offset: int = 5, count: int = 0) -> LogMessage:
    kind, body, frame = body_of(event)
    return LogMessage(kind, game_id, "live", offset, count, body, frame)


def frame_message() -> LogMessage:
    return LogMessage("frame", GAME, "live", 9, 0, msgspec.json.encode({"frame": FRAME})[1:], 7)


def decoded(line: bytes) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.json.decode(line)
    return value


@given(cursors)
def test_cursor_round_trips(cursor: Cursor) -> None:
    assert parse_cursor(str(cursor)) == cursor


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        (f"{GAME}/l814.0", Cursor(GAME, "live", Position(814, 0))),
        (f"{GAME}/f1234567.12", Cursor(GAME, "finalized", Position(1234567, 12))),
        (f"{GAME}/frame:-123", Cursor(GAME, None, None, -123)),
        (f"{GAME}/frame:0", Cursor(GAME, None, None, 0)),
    ],
)
def test_cursor_text(text: str, cursor: Cursor) -> None:
    assert parse_cursor(text) == cursor
    assert str(cursor) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "live",
        "start",
        GAME,
        f"{GAME}/",
        f"{GAME}/l5",
        f"{GAME}/5.0",
        f"{GAME}/x5.0",
        f"{GAME}/l-5.0",
        f"{GAME}/l5.-1",
        f"{GAME}/l5.0 ",
        f"{GAME}/l5.0\n",
        f" {GAME}/l5.0",
        f"{GAME}/l{'9' * 19}.0",
        f"{GAME}/l5.{'9' * 10}",
        f"{GAME}/frame:",
        f"{GAME}/frame:1.5",
        f"{GAME}/frame:{'9' * 10}",
        f"{GAME}/frame:+1",
        f"{GAME.upper()}/l5.0",
        f"{GAME[:-1]}/l5.0",
        f"{GAME}0/l5.0",
        f"{GAME}/l\u0665.0",  # a digit of another script
        f"{GAME}/l5.0/l5.0",
        "../../etc/passwd",
        "x" * 100_000,
    ],
    ids=lambda text: text[:50],
)
def test_invalid_cursor_is_refused(text: str) -> None:
    with pytest.raises(ProtocolViolation) as refused:
        parse_cursor(text)
    assert len(str(refused.value)) < 200, "a long text is not repeated"


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        cursor = parse_cursor(text)
    except ProtocolViolation:
        return
    assert parse_cursor(str(cursor)) == cursor


def test_envelope_without_station() -> None:
    line = message(events.FrameFinalized(5, -4, []), offset=5, count=2).json()
    assert line == f'{{"type":"finalized","gameId":"{GAME}","cursor":"{GAME}/l5.2","through":-4}}'.encode()


@pytest.mark.parametrize("station", ["main", "stage 2", 'a"b\\c', "ステージ", "\n"])
def test_envelope_with_station(station: str) -> None:
    log_message = message(events.FrameFinalized(5, -4, []))
    with_station, without = decoded(log_message.json(station)), decoded(log_message.json())
    assert list(with_station)[:4] == ["type", "station", "gameId", "cursor"]
    assert parse_cursor(with_station["cursor"]).position == log_message.position == Position(5, 0)
    assert with_station == {**without, "station": station}


def test_diagnostic_from_before_game_start_has_no_cursor() -> None:
    log_message = message(events.Diagnostic(0, "error", "wrong_format", 0, "not a Slippi replay"), game_id=None)
    expected = {
        "type": "diagnostic",
        "severity": "error",
        "code": "wrong_format",
        "offset": 0,
        "message": "not a Slippi replay",
    }
    assert decoded(log_message.json()) == expected
    assert decoded(log_message.json("main")) == {**expected, "station": "main"}
    assert log_message.cursor is None


def test_payloads_of_events() -> None:
    start = events.GameStart(5, "gci", GAME, {"laps": 3}, (60, 1))
    assert payload(start) == {"type": "game_start", "format": "gci", "rate": [60, 1], "settings": {"laps": 3}}
    event = events.GameEvent(5, "stock_lost", 100, {"playerIndex": 1})
    assert payload(event) == {"type": "event", "kind": "stock_lost", "frame": 100, "playerIndex": 1}
    stats = events.StatsUpdate(5, 100, {"lastFrame": 100})
    assert payload(stats) == {"type": "stats", "frame": 100, "stats": {"lastFrame": 100}}
    assert payload(events.Metadata(5, {"playedOn": "dolphin"})) == {
        "type": "metadata",
        "metadata": {"playedOn": "dolphin"},
    }
    assert payload(events.GameEnd(5, "incomplete")) == {"type": "game_end", "reason": "incomplete", "winners": []}
    end = events.GameEnd(5, "file_end", None, (), 80, 1.5, {"finished": "likely"})
    assert payload(end) == {
        "type": "game_end",
        "reason": "file_end",
        "winners": [],
        "lastFrame": 80,
        "durationSeconds": 1.5,
        "finished": "likely",
    }


def payload(event: events.Event) -> dict[str, Any]:
    values = decoded(message(event).json())
    assert values.pop("gameId") == GAME
    assert values.pop("cursor") == f"{GAME}/l5.0"
    return values


def test_every_type_has_a_topic() -> None:
    assert set(TOPIC_OF_TYPE.values()) == set(TOPICS)
    assert {"frame", "finalized", "stats"} == DROPPABLE_TYPES
    assert message(events.FrameFinalized(5, 0, [])).topic == "frame"


@pytest.mark.parametrize("mode", ["live", "finalized"])
def test_messagepack_is_equivalent_to_json(mode: str) -> None:
    for log_message in getattr(logs_of([varied_replay()]), mode):
        for station in (None, "main"):
            line = log_message.json(station)
            assert msgspec.msgpack.decode(to_messagepack(line)) == msgspec.json.decode(line)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_null(value: float) -> None:
    stats = message(events.StatsUpdate(5, 100, {"ratio": value, "list": [value, 1.0]}))
    assert decoded(stats.json())["stats"] == {"ratio": None, "list": [None, 1.0]}


def test_non_finite_numbers_in_a_frame_are_null() -> None:
    lines = [m.json() for m in logs_of([varied_replay()]).live if m.frame == -94]
    assert [decoded(line)["frame"]["players"]["1"]["post"]["percent"] for line in lines] == [None]
    assert not any(word in line for line in lines for word in (b"NaN", b"Infinity"))


def test_entry_of_a_frame_is_its_value() -> None:
    for log_message in logs_of([varied_replay()]).live:
        if log_message.frame is not None:
            assert msgspec.json.decode(log_message.entry()) == decoded(log_message.json())["frame"]
            assert decoded(log_message.json())["frame"]["frame"] == log_message.frame


FRAME: dict[str, Any] = {
    "frame": 7,
    "revision": 1,
    "start": {"frame": 7, "seed": 99, "sceneFrameCounter": 130},
    "players": {
        "0": {
            "pre": {"frame": 7, "joystickX": 0.5},
            "post": {"percent": 10.5, "stocksRemaining": 3, "selfInducedSpeeds": {"airX": 1.0, "y": 2.0}},
        },
        "1": {"pre": {"frame": 7, "joystickX": -0.5}},
    },
    "followers": {"0": {"post": {"percent": 3.5, "stocksRemaining": 3}}},
    "items": [{"typeId": 54, "spawnId": 1}],
}
ALWAYS = {"frame": 7, "revision": 1}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([], {}),
        (
            ["post.percent"],
            {"players": {"0": {"post": {"percent": 10.5}}, "1": {}}, "followers": {"0": {"post": {"percent": 3.5}}}},
        ),
        (
            ["post.selfInducedSpeeds.y"],
            {
                "players": {"0": {"post": {"selfInducedSpeeds": {"y": 2.0}}}, "1": {}},
                "followers": {"0": {"post": {}}},
            },
        ),
        (
            ["pre", "post.percent", "post.stocksRemaining"],
            {
                "players": {
                    "0": {"pre": {"frame": 7, "joystickX": 0.5}, "post": {"percent": 10.5, "stocksRemaining": 3}},
                    "1": {"pre": {"frame": 7, "joystickX": -0.5}},
                },
                "followers": {"0": {"post": {"percent": 3.5, "stocksRemaining": 3}}},
            },
        ),
        (["items"], {"items": [{"typeId": 54, "spawnId": 1}]}),
        (["start.seed"], {"start": {"seed": 99}}),
        (["start"], {"start": FRAME["start"]}),
        (["frame", "revision"], {}),
        (["players"], {"players": FRAME["players"]}),
        (["nothing.of.ours"], {"players": {"0": {}, "1": {}}, "followers": {"0": {}}}),
        (["start.seed.deeper"], {"start": {}}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, list) else "",
)
def test_frame_is_cut_down_to_the_requested_fields(fields: list[str], expected: dict[str, Any]) -> None:
    envelope = {"type": "frame", "station": "main", "gameId": GAME, "cursor": f"{GAME}/l9.0"}
    assert decoded(frame_message().json("main", tuple(fields))) == {**envelope, "frame": ALWAYS | expected}
    packed = msgspec.msgpack.decode(frame_message().messagepack("main", tuple(fields)))
    assert packed == {**envelope, "frame": ALWAYS | expected}


def test_field_and_its_part_can_both_be_requested() -> None:
    """The order of the fields does not matter, and the message is unchanged."""
    cut = frame_message()
    for fields in (("start", "start.seed"), ("start.seed", "start")):
        assert decoded(cut.json(fields=fields))["frame"]["start"] == FRAME["start"]
    assert decoded(cut.json())["frame"] == FRAME


@given(st.lists(st.text("aprostefm.c", max_size=20), max_size=5))
def test_any_field_names_can_be_cut(fields: list[str]) -> None:
    cut = decoded(frame_message().json(fields=tuple(fields)))
    assert cut["frame"].items() >= ALWAYS.items()


@pytest.mark.parametrize(
    ("unix_seconds", "expected"),
    [
        (1_700_000_000.5, "2023-11-14T22:13:20.500Z"),
        (0.0, "1970-01-01T00:00:00.000Z"),
        (253402383599.0, "9999-12-31T23:59:59.000Z"),
        (1e18, "9999-12-31T23:59:59.000Z"),
        (-1e18, "0001-01-01T00:00:00.000Z"),
    ],
)
def test_timestamps_stay_within_the_years_of_iso_8601(unix_seconds: float, expected: str) -> None:
    assert timestamp(unix_seconds) == expected
