"""Subscriptions in messages and in URLs, and the errors for invalid ones."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import Cursor, Position
from slpstream.model.topics import TOPICS
from slpstream.stream.subscription import MAX_FIELDS, MAX_NAMES, MAX_RATE, Subscription, parse_query, parse_subscription
from slpstream.stream.view import keeps_frame

GAME = "0123456789abcdef" * 2
LIVE = f"{GAME}/l1500.2"
FINALIZED = f"{GAME}/f1500.2"


def subscribe(**keys: Any) -> Subscription:
    return parse_subscription({"op": "subscribe", **keys})


def test_default_subscription_has_everything() -> None:
    assert subscribe() == Subscription()
    everything = subscribe()
    assert everything.stations is None
    assert everything.topics == frozenset(TOPICS)
    assert (everything.frames, everything.delivery, everything.cursor) == ("live", "conflate", "live")
    assert (everything.rate, everything.fields) == (None, None)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"stations": ["main", "side"]}, {"stations": ("main", "side")}),
        ({"stations": ["main", "side", "main"]}, {"stations": ("main", "side")}),
        ({"stations": "*"}, {"stations": None}),
        ({"stations": ["*"]}, {"stations": None}),
        ({"stations": None}, {"stations": None}),
        ({"topics": ["game", "stats"]}, {"topics": frozenset({"game", "stats"})}),
        ({"topics": []}, {"topics": frozenset()}),
        ({"topics": None}, {"topics": frozenset(TOPICS)}),
        ({"also": ["odds", "claps", "odds"]}, {"also": ("odds", "claps")}),
        ({"frames": "finalized"}, {"frames": "finalized"}),
        ({"rate": 30}, {"rate": 30}),
        ({"finality": False}, {"finality": False}),
        ({"rate": MAX_RATE}, {"rate": MAX_RATE}),
        ({"rate": None}, {"rate": None}),
        ({"fields": ["post.percent", "items"]}, {"fields": ("post.percent", "items")}),
        ({"fields": []}, {"fields": ()}),
        ({"delivery": "lossless"}, {"delivery": "lossless"}),
        ({"cursor": "start"}, {"cursor": "start"}),
        ({"cursor": LIVE}, {"cursor": Cursor(GAME, "live", Position(1500, 2))}),
        ({"cursor": FINALIZED, "frames": "finalized"}, {"cursor": Cursor(GAME, "finalized", Position(1500, 2))}),
        ({"cursor": f"{GAME}/frame:-39"}, {"cursor": Cursor(GAME, None, None, -39)}),
        ({"cursor": f"{GAME}/frame:7", "frames": "finalized"}, {"cursor": Cursor(GAME, None, None, 7)}),
        (
            {"cursor": {"main": LIVE, "side": "start"}},
            {"cursor": "live", "cursors": {"main": Cursor(GAME, "live", Position(1500, 2)), "side": "start"}},
        ),
    ],
    ids=lambda keys: str(keys if "frozenset" not in str(keys) else sorted(keys)),
)
def test_every_key_is_parsed(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    parsed = subscribe(**keys)
    assert {name: getattr(parsed, name) for name in expected} == expected


def test_each_station_can_have_its_own_cursor() -> None:
    parsed = subscribe(stations=["main", "side"], cursor={"main": LIVE})
    assert str(parsed.cursor_of("main")) == LIVE
    assert parsed.cursor_of("side") == "live"
    assert subscribe(cursor="start").cursor_of("anything") == "start"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"op": "unsubscribe"}, "op"),
        ({"op": None}, "op"),
        ({"station": ["main"]}, "station"),
        ({"surprise": 1}, "surprise"),
        ({"stations": 5}, "stations"),
        ({"stations": "main"}, "stations"),
        ({"stations": [5]}, "stations"),
        ({"stations": []}, "stations"),
        ({"stations": [""]}, "stations"),
        ({"stations": ["x" * 81]}, "stations"),
        ({"stations": [str(n) for n in range(MAX_NAMES + 1)]}, "stations"),
        ({"topics": ["game", "weather"]}, "topics"),
        ({"topics": "game"}, "topics"),
        ({"frames": "all"}, "frames"),
        ({"rate": 0}, "rate"),
        ({"finality": "no"}, "finality"),
        ({"rate": -5}, "rate"),
        ({"rate": MAX_RATE + 1}, "rate"),
        ({"rate": 29.5}, "rate"),
        ({"rate": True}, "rate"),
        ({"rate": "30"}, "rate"),
        ({"fields": "post"}, "fields"),
        ({"fields": [""]}, "fields"),
        ({"fields": ["x" * 81]}, "fields"),
        ({"fields": ["x"] * (MAX_FIELDS + 1)}, "fields"),
        ({"delivery": "perhaps"}, "delivery"),
        ({"cursor": ""}, "cursor"),
        ({"cursor": "yesterday"}, "cursor"),
        ({"cursor": 5}, "cursor"),
        ({"cursor": GAME}, "cursor"),
        ({"cursor": f"{GAME}/l15"}, "cursor"),
        ({"cursor": f"{GAME}/x1.0"}, "cursor"),
        ({"cursor": f"{GAME}/l-1.0"}, "cursor"),
        ({"cursor": f"{GAME}/l{10**18}.0"}, "cursor"),
        ({"cursor": f"{GAME}/frame:x"}, "cursor"),
        ({"cursor": f"{GAME.upper()}/l1.0"}, "cursor"),
        ({"cursor": {"main": "yesterday"}}, "cursor"),
        ({"cursor": {"main": 5}}, "cursor"),
        ({"cursor": {str(n): "live" for n in range(MAX_NAMES + 1)}}, "cursor"),
        ({"cursor": FINALIZED}, "frames mode"),
        ({"cursor": LIVE, "frames": "finalized"}, "frames mode"),
        ({"cursor": {"main": FINALIZED}}, "frames mode"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_every_error_names_the_wrong_key(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProtocolViolation, match=expected) as raised:
        parse_subscription({"op": "subscribe", **keys})
    assert raised.value.close_code == 4400
    assert len(raised.value.what) < 400


def test_query_without_subscription_keys() -> None:
    assert parse_query([]) is None
    assert parse_query([("token", "secret"), ("_", "1234")]) is None


def test_query_is_equivalent_to_a_message() -> None:
    query = [
        ("station", "main"),
        ("topics", "game,event,stats"),
        ("frames", "finalized"),
        ("finality", "false"),
        ("rate", "30"),
        ("fields", "post.percent,post.stocksRemaining"),
        ("delivery", "lossless"),
        ("cursor", FINALIZED),
        ("token", "secret"),
    ]
    assert parse_query(query) == subscribe(
        stations=["main"],
        topics=["game", "event", "stats"],
        frames="finalized",
        finality=False,
        rate=30,
        fields=["post.percent", "post.stocksRemaining"],
        delivery="lossless",
        cursor=FINALIZED,
    )


@pytest.mark.parametrize(
    ("query", "stations"),
    [
        ([("station", "*")], None),
        ([("station", "a,b")], ("a", "b")),
        ([("stations", "a,,b,")], ("a", "b")),
        ([("cursor", "start")], None),
    ],
)
def test_query_can_list_stations(query: list[tuple[str, str]], stations: tuple[str, ...] | None) -> None:
    parsed = parse_query(query)
    assert parsed is not None
    assert parsed.stations == stations


@pytest.mark.parametrize(
    "query",
    [
        [("station", "")],
        [("topics", "weather")],
        [("rate", "fast")],
        [("rate", "")],
        [("rate", "-1")],
        [("rate", "99999")],
        [("rate", "٣")],
        [("rate", "²")],
        [("frames", "")],
        [("delivery", "x")],
        [("cursor", "")],
        [("fields", "x" * 100)],
    ],
)
def test_invalid_query_is_refused(query: list[tuple[str, str]]) -> None:
    with pytest.raises(ProtocolViolation):
        parse_query(query)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20),
    lambda values: (
        st.lists(values, max_size=4)
        | st.dictionaries(st.text(max_size=10) | st.integers() | st.binary(max_size=4), values, max_size=4)
    ),
    max_leaves=12,
)
KEYS = ("op", "stations", "topics", "frames", "rate", "fields", "delivery", "cursor")
WORDS = st.sampled_from(["subscribe", "*", "game", "live", "finalized", "lossless", "start", LIVE, FINALIZED])


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8) | st.integers(), PLAIN | WORDS, max_size=8))
def test_any_message_is_parsed_or_refused(request: dict[Any, Any]) -> None:
    with suppress(ProtocolViolation):
        assert isinstance(parse_subscription(request), Subscription)


@given(st.lists(st.tuples(st.sampled_from([*KEYS, "station", "token"]) | st.text(max_size=5), WORDS | st.text())))
def test_any_query_is_parsed_or_refused(pairs: list[tuple[str, str]]) -> None:
    with suppress(ProtocolViolation):
        assert isinstance(parse_query(pairs), Subscription | None)


def test_half_the_rate_keeps_every_second_frame() -> None:
    assert [n for n in range(-4, 5) if keeps_frame(n, 30, 60)] == [-4, -2, 0, 2, 4]


@given(st.integers(-(10**6), 10**6), st.integers(1, 240), st.integers(1, 240))
def test_kept_frames_are_evenly_spread(number: int, rate: int, frames_per_second: int) -> None:
    kept = sum(keeps_frame(n, rate, frames_per_second) for n in range(number, number + frames_per_second))
    assert kept == min(rate, frames_per_second)
