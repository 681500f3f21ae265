"""Values and messages as differences: whatever follows whatever comes out the same, bit for bit; and what it saves."""

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
from slpstream.model.messages import TOPICS, LogMessage, to_messagepack
from slpstream.stream.delta_bases import DeltaBase
from tests.shared_data import needs_shared, replays
from tests.synthetic.match import synthetic_match

STATION = "main"
MESSAGES_OF_EACH = 400
NO_REPLAY = "not_slp_text"
MAX_OF_JSON = 0.25
"""What must hold; the goal is a fifth."""

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
    """The same bytes, the same value; the order of keys means nothing."""
    return msgspec.json.encode(value, order="sorted")


def as_message(payload: dict[str, Any], offset: int) -> dict[str, Any]:
    return {"type": "frame", "station": STATION, "gameId": "g", "cursor": f"g/l{offset}.0", "value": payload}


def encode(log: list[LogMessage]) -> Iterator[bytes]:
    """A log as one subscriber gets it who misses nothing."""
    known: dict[str, DeltaBase] = {}
    for message in log:
        link, before = DeltaBase(message, None), known.get(message.type)
        if message.type not in DELTA_TYPES or before is None:
            yield to_messagepack(message.json(STATION))
        else:
            changes, link.image = before.image.change(link.payload())
            step = message.offset - before.message.offset
            yield delta_message(message.type, STATION, step, message.count, changes)
        known[message.type] = link


# -- values -----------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(st.lists(VALUES, min_size=2, max_size=5))
def test_any_value_after_any_other(values: list[dict[str, Any]]) -> None:
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
def test_what_is_said(before: Any, after: Any, parts: list[Any]) -> None:
    assert Image(before).change(after)[0].parts() == parts
    assert exactly(Image(before).changed(parts).value) == exactly(after)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_bytes_are_a_message_or_a_violation(data: st.DataObject) -> None:
    whole = list(encode(messages_of_a_match()[:12]))
    which = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole[which])
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(damaged)))]
    else:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    decoder = DeltaDecoder()
    for line in whole[:which]:
        decoder.decode(line)
    with contextlib.suppress(ProtocolViolation):
        assert "type" in decoder.decode(bytes(damaged))


def test_a_delta_without_what_it_follows() -> None:
    with pytest.raises(ProtocolViolation, match="without the message before it"):
        DeltaDecoder().decode(msgspec.msgpack.encode([STATION, 0, 1, 0]))


def test_who_changes_what_was_decoded_does_not_change_what_follows() -> None:
    decoder = DeltaDecoder()
    first = decoder.decode(msgspec.msgpack.encode(as_message({"a": [1, {"b": 2}], "d": []}, 1)))
    first["value"]["a"][1]["b"] = 77
    first["value"]["d"].append(7)
    second = decoder.decode(msgspec.msgpack.encode([STATION, 0, 1, 0, [[["value", "c"], 3]]]))
    assert second["value"] == {"a": [1, {"b": 2}], "d": [], "c": 3}
    second["value"]["d"].append(8)
    assert decoder.decode(msgspec.msgpack.encode([STATION, 0, 1, 0]))["value"]["d"] == []


# -- logs -------------------------------------------------------------------------------------------------------------


@functools.cache
def messages_of_a_match() -> list[LogMessage]:
    match = synthetic_match(seed=9, frames=400, items=True, rollbacks=True, followers=True)
    return Pipeline(SlippiReader()).feed(match).messages("live")


def check(log: list[LogMessage]) -> tuple[float, float]:
    """Each message comes out as it went in; the shares of JSON, of all topics and of frames only."""
    decoder = DeltaDecoder()
    sizes: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    for message, data in zip(log, encode(log), strict=True):
        line = message.json(STATION)
        assert exactly(decoder.decode(data)) == exactly(msgspec.json.decode(line)), message.cursor
        of = sizes[message.type == "frame"]
        of[0] += len(data)
        of[1] += len(line)
    both = [sum(column) for column in zip(*sizes.values(), strict=True)]
    frames = sizes[True]
    return both[0] / both[1], frames[0] / frames[1] if frames[1] else 0.0


@needs_shared
@pytest.mark.parametrize("replay", [path for path in replays() if path.stem != NO_REPLAY], ids=lambda path: path.stem)
def test_the_frames_of_every_replay_come_out_the_same(replay: Path) -> None:
    _, frames = check(list(itertools.islice(messages(replay, topics=TOPICS), MESSAGES_OF_EACH)))
    assert frames <= MAX_OF_JSON


@needs_shared
@pytest.mark.parametrize("name", ["game", "v3.18", "realtimeTest"])
def test_whole_games_are_a_quarter_of_json_at_most(name: str) -> None:
    path = next(path for path in replays() if path.stem == name)
    every, frames = check(list(messages(path, topics=TOPICS)))
    assert every <= MAX_OF_JSON
    assert frames <= MAX_OF_JSON


def test_a_synthetic_match() -> None:
    every, frames = check(messages_of_a_match())
    assert every <= MAX_OF_JSON
    assert frames <= MAX_OF_JSON
