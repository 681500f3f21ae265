"""Values and messages sent as deltas decode to the original, bit for bit, and are much smaller than JSON."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.api import messages
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.delta import DELTA_TYPES, DeltaDecoder, Image, delta_message
from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import LogMessage, to_messagepack
from slpstream.model.topics import TOPICS
from slpstream.stream.view import DeltaBase
from tests.replays import NOT_REPLAYS, real_replays, replay_path
from tests.synthetic.match import synthetic_match

STATION = "main"
MESSAGES_PER_REPLAY = 400
OWN = (
    *("singles_0.1", "items_3.2", "names_3.9", "ice_climbers_rollbacks_3.18", "rollbacks_items_3.18"),
    *("free_for_all_3.18", "stadium_3.19", "crashed_3.18", "unknown_event_3.18"),
)
REPLAYS = [*map(replay_path, OWN), *(path for path in real_replays() if path.stem not in NOT_REPLAYS)]
WHOLE = ("ice_climbers_3.18", "game", "v3.18", "realtimeTest")
MAX_JSON_RATIO = 0.25
"""Largest accepted size relative to JSON; the goal is a fifth."""

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, 0.0, -0.0, 1.0, True, False]),
    st.text(max_size=3),
)
KEYS = st.sampled_from(["", "0", "1", "10", "frame", "post", "é", "\U0001f600", "\uffff"])
VALUES = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inside: st.one_of(st.lists(inside, max_size=4), st.dictionaries(KEYS, inside, max_size=4)),
        max_leaves=12,
    ),
    max_size=5,
)


def exactly(value: Any) -> bytes:
    """Bytes that are equal for equal values; the order of keys does not matter."""
    return msgspec.json.encode(value, order="sorted")


def as_message(payload: dict[str, Any], offset: int) -> dict[str, Any]:
    return {"type": "frame", "station": STATION, "gameId": "g", "cursor": f"g/l{offset}.0", "value": payload}


def encode(log: list[LogMessage]) -> Iterator[bytes]:
    """A log as received by a subscriber that misses no message."""
    known: dict[str, DeltaBase] = {}
    for message in log:
        base, before = DeltaBase(message, None), known.get(message.type)
        if message.type not in DELTA_TYPES or before is None:
            yield to_messagepack(message.json(STATION))
        else:
            changes, base.image = before.image.change(base.payload())
            step = message.offset - before.message.offset
            yield delta_message(message.type, STATION, step, message.count, changes)
        known[message.type] = base


@settings(max_examples=80)
@given(st.lists(VALUES, min_size=2, max_size=5))
def test_any_value_can_follow_any_other(values: list[dict[str, Any]]) -> None:
    decoder = DeltaDecoder()
    first, *others = values
    assert exactly(decoder.decode(msgspec.msgpack.encode(as_message(first, 7)))) == exactly(as_message(first, 7))
    image = Image({"value": first})
    for offset, value in enumerate(others, 8):
        changes, image = image.change({"value": value})
        data = delta_message("frame", STATION, 1, 0, changes)
        assert exactly(decoder.decode(data)) == exactly(as_message(value, offset))


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ({"a": 1, "b": {"c": 2.5}}, {"a": 1, "b": {"c": 2.5}}, []),
        ({"a": 1, "b": {"c": 2.5}}, {"a": 2, "b": {"c": 3.5}}, [[], b"\0\0"]),
        ({"a": 1.0}, {"a": -1.5}, [[], b"", b"\0", b"\xbf\xc0\0\0"]),
        ({"a": 1.0, "b": 1}, {"a": 0.1, "b": 4}, [[], b"", b"", b"", b"\0\0", 0.1, 4]),
        ({"a": 0}, {"a": False}, [[], b"", b"", b"", b"\0", False]),
        ({"a": 0.0}, {"a": -0.0}, [[], b"", b"\0", b"\x80\0\0\0"]),
        ({"a": -1.0}, {"a": -0.0}, [[], b"", b"\0", b"\x80\0\0\0"]),
        ({"a": [1]}, {"a": [2, 9]}, [[[["a", 1], 9]], b"\0"]),
        ({"a": [1, 2], "b": 1}, {"a": [1]}, [[[["b"]], [["a", 1]]]]),
        ({str(i): 0 for i in range(300)}, {str(i): int(i == 201) for i in range(300)}, [[], b"\x73"]),
        ({"a": [0] * 300}, {"a": [0] * 299 + [1]}, [[], b"\xab\x02"]),
    ],
)  # fmt: skip
def test_change_parts_are_minimal(before: Any, after: Any, parts: list[Any]) -> None:
    assert Image(before).change(after)[0].parts() == parts
    assert exactly(Image(before).changed(parts).value) == exactly(after)


@settings(max_examples=100)
@given(st.data())
def test_damaged_bytes_decode_or_raise_protocol_violation(data: st.DataObject) -> None:
    whole = list(encode(messages_of_a_match()[:12]))
    index = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole[index])
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(damaged)))]
    else:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    decoder = DeltaDecoder()
    for line in whole[:index]:
        decoder.decode(line)
    with contextlib.suppress(ProtocolViolation):
        assert "type" in decoder.decode(bytes(damaged))


@pytest.mark.parametrize(
    "message",
    [
        {"type": "frame", "station": "a", "players": [{"percent": 1, 100: 2}]},
        {"type": "frame", "station": ["a"], "players": []},
        {"type": "stats", "station": {}, "players": []},
    ],
)
def test_message_without_a_json_form_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation, match="not a message as in JSON"):
        DeltaDecoder().decode(msgspec.msgpack.encode(message))


def test_delta_without_its_base_is_refused() -> None:
    with pytest.raises(ProtocolViolation, match="without the message before it"):
        DeltaDecoder().decode(msgspec.msgpack.encode([STATION, 0, 1, 0]))


def test_modifying_a_decoded_message_does_not_affect_later_ones() -> None:
    decoder = DeltaDecoder()
    first = decoder.decode(msgspec.msgpack.encode(as_message({"a": [1, {"b": 2}], "d": []}, 1)))
    first["value"]["a"][1]["b"] = 77
    first["value"]["d"].append(7)
    second = decoder.decode(msgspec.msgpack.encode([STATION, 0, 1, 0, [[["value", "c"], 3]]]))
    assert second["value"] == {"a": [1, {"b": 2}], "d": [], "c": 3}
    second["value"]["d"].append(8)
    assert decoder.decode(msgspec.msgpack.encode([STATION, 0, 1, 0]))["value"]["d"] == []


@functools.cache
def messages_of_a_match() -> list[LogMessage]:
    match = synthetic_match(seed=9, frames=400, items=True, rollbacks=True, followers=True)
    return Pipeline(SlippiReader()).feed(match).messages("live")


def size_ratios(log: list[LogMessage]) -> tuple[float, float]:
    """Check that each message round-trips. Return the size relative to JSON, of all messages and of frames alone."""
    decoder = DeltaDecoder()
    sizes: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    for message, data in zip(log, encode(log), strict=True):
        line = message.json(STATION)
        assert exactly(decoder.decode(data)) == exactly(msgspec.json.decode(line)), message.cursor
        size = sizes[message.type == "frame"]
        size[0] += len(data)
        size[1] += len(line)
    both = [sum(column) for column in zip(*sizes.values(), strict=True)]
    frames = sizes[True]
    return both[0] / both[1], frames[0] / frames[1] if frames[1] else 0.0


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda path: path.stem)
def test_all_kinds_of_frames_round_trip(replay: Path) -> None:
    _, frames = size_ratios(list(itertools.islice(messages(replay, topics=TOPICS), MESSAGES_PER_REPLAY)))
    assert frames <= MAX_JSON_RATIO


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WHOLE if replay_path(name).is_file()])
def test_whole_games_are_at_most_a_quarter_of_json(name: str) -> None:
    overall, frames = size_ratios(list(messages(replay_path(name), topics=TOPICS)))
    assert overall <= MAX_JSON_RATIO
    assert frames <= MAX_JSON_RATIO
