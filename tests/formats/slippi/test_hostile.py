"""Hostile bytes: they are read as far as they make sense, nothing is raised, and nothing depends on how they are split.

A replay can come from a broken memory card, from an upload, or from a disk that was pulled out. Whatever its bytes, the
reader gives a log that keeps the rules of logs, reports faults as `diagnostic`, and needs bounded memory and time.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi import commands, metadata
from slpstream.formats.slippi.container import HEADER_BYTES, header
from slpstream.formats.slippi.game_start import (
    FIELDS,
    PLAYER_FIELDS,
    PLAYER_TYPE_EMPTY,
    STOCK_MODE,
    TIME_MODE,
    set_field,
)
from slpstream.game.pipeline import Pipeline
from slpstream.model.errors import FormatError
from slpstream.model.fields import camel
from slpstream.model.messages import Position
from tests.formats.slippi.built import METADATA, ONLINE, Built, bookend, item, post, pre, start, varied_replay
from tests.formats.slippi.logs import (
    Log,
    Logs,
    bytewise,
    cut_at,
    event_boundaries,
    first_difference,
    logs_of,
    pipeline,
    random_cuts,
)
from tests.formats.slippi.writer import event_payloads
from tests.marks import slow
from tests.replays import existing, replay
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.usefixtures("with_and_without_kernel")


def assert_is_a_log(logs: Logs, failure: FormatError | None) -> None:
    """Assert the rules that hold for the logs of any bytes."""
    for log in (logs.live, logs.finalized):
        messages = [msgspec.json.decode(m.json()) for m in log]
        assert all(m.get("cursor", "").startswith(m.get("gameId", "")) for m in messages)
        types = [m.type for m in log if m.game_id is not None]
        assert {m.type for m in log if m.game_id is None} <= {"diagnostic"}
        assert types[:1] in ([], ["game_start"])
        assert all(types.count(once) <= 1 for once in ("game_start", "game_end", "metadata"))
        if "game_end" in types:
            assert set(types[types.index("game_end") + 1 :]) <= {"metadata", "diagnostic"}
        assert_cursors_rise(log)
    codes = Counter(str(m["code"]) for m in logs.of_type("diagnostic"))
    assert max(codes.values(), default=0) <= 16
    errors = [m for m in logs.of_type("diagnostic") if m["severity"] == "error"]
    assert [m["code"] for m in errors] == ([] if failure is None else [failure.code])
    assert_finality(logs)


def assert_cursors_rise(log: Log) -> None:
    positions = [m.position for m in log if m.game_id is not None]
    assert all(a < b for a, b in pairwise(positions))
    assert all(position > Position(-1, 0) for position in positions)


def assert_finality(logs: Logs) -> None:
    """Assert that the finalized log has each number of the live log once, in order, in the last sending before it was
    final."""
    waiting: dict[int, bytes] = {}
    expected: list[bytes] = []
    through: int | None = None
    for message in logs.live:
        if message.frame is not None:
            if through is None or message.frame > through:
                waiting[message.frame] = message.body
        elif message.type == "finalized":
            now = int(msgspec.json.decode(message.json())["through"])
            assert through is None or now > through
            through = now
            expected += [waiting.pop(n) for n in sorted(waiting) if n <= through]
    assert [m.body for m in logs.finalized if m.frame is not None] == expected
    if any(m.type == "game_end" for m in logs.live):
        assert waiting == {}


class ReadResult(NamedTuple):
    """The result of reading bytes to their end."""

    logs: Logs
    before_finish: int
    """Number of live messages before `finish`."""
    failure: FormatError | None


def read_to_the_end(data: bytes, cuts: Iterable[int] = ()) -> ReadResult:
    """Read bytes to their end, without an exception."""
    pipe, logs = pipeline(), Logs()
    for piece in cut_at(data, cuts):
        logs.take(pipe.feed(piece))
    before_finish = len(logs.live)
    logs.take(pipe.finish())
    return ReadResult(logs, before_finish, pipe.failure)


def check(data: bytes, cuts: Iterable[int]) -> Logs:
    """Assert everything that holds for any bytes, read whole and in pieces; returns the logs."""
    whole, in_pieces = read_to_the_end(data), read_to_the_end(data, cuts)
    assert_is_a_log(whole.logs, whole.failure)
    for expected, seen in zip(whole.logs.lines(), in_pieces.logs.lines(), strict=True):
        assert first_difference(expected, seen) is None
    assert whole.before_finish == in_pieces.before_finish
    assert str(whole.failure) == str(in_pieces.failure)
    return whole.logs


BASES: dict[str, Callable[[], bytes]] = {
    "varied": varied_replay,
    "rollbacks": lambda: synthetic_match(frames=60, rollbacks=True, items=True, gecko=True),
    "followers": lambda: synthetic_match(version=(3, 3, 0), frames=60, followers=True),
    "three": lambda: synthetic_match(frames=40, players=3, stage_id=2),
    "2.2": lambda: synthetic_match(version=(2, 2, 0), frames=60),
    "0.1": lambda: synthetic_match(version=(0, 1, 0), frames=60),
    "in progress": lambda: synthetic_match(version=(3, 7, 0), frames=60, ended=False),
}
BASES |= {name: partial(replay, name) for name in existing("pal", "nametags2", "v3.12", "v3.16")}


@cache
def base(name: str) -> bytes:
    return BASES[name]()


@cache
def base_events(name: str) -> list[bytes]:
    """The replay in pieces: header, Event Payloads, each event, the rest."""
    data = base(name)
    return cut_at(data, event_boundaries(data))


INTERESTING = [
    b"\0",
    b"\xff",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\x39",
    b"U\x08metadata",
]


@st.composite
def broken_replays(draw: st.DrawFn) -> bytes:
    """A replay with some events moved and some bytes changed, possibly cut off."""
    name = draw(st.sampled_from(sorted(BASES)))
    events = list(base_events(name))
    index = st.integers(2, len(events) - 2)
    for _ in range(draw(st.integers(0, 3))):
        change, one, other = draw(st.sampled_from(["drop", "double", "swap"])), draw(index), draw(index)
        if change == "drop":
            events[one] = b""
        elif change == "double":
            events.insert(one, events[other])
        else:
            events[one], events[other] = events[other], events[one]
    data = bytearray(b"".join(events))
    # Changes to the sizes, the settings and the end have more effect than changes among thousands of frames.
    offset = st.one_of(
        st.integers(0, len(data) - 1),
        st.integers(0, min(1000, len(data) - 1)),
        st.integers(len(data) - 200, len(data) - 1),
    )
    for _ in range(draw(st.integers(0, 4))):
        at = draw(offset)
        if draw(st.booleans()):
            data[at] ^= 1 << draw(st.integers(0, 7))
        else:
            octets = draw(st.sampled_from(INTERESTING))
            data[at : at + len(octets)] = octets
    if draw(st.booleans()):
        del data[draw(offset) :]
    return bytes(data)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=broken_replays(), seed=st.integers(0, 1 << 16))
@pytest.mark.slow
def test_broken_replays(data: bytes, seed: int) -> None:
    check(data, random_cuts(len(data), seed))


@settings(max_examples=60)
@given(data=broken_replays(), seed=st.integers(0, 1 << 16), after=st.integers(0, 40))
def test_copy_at_any_point_continues_the_same(data: bytes, seed: int, after: int) -> None:
    """A copy continues like the original, and neither affects the other."""
    pieces = cut_at(data, random_cuts(len(data), seed))
    pipe, logs = pipeline(), Logs()
    for piece in pieces[:after]:
        logs.take(pipe.feed(piece))
    checkpoint = pipe.copy()
    for other in (b"\xff\xff\xff", b"\x39" * 700):
        distraction = checkpoint.copy()
        distraction.feed(other)
        distraction.finish()
    first, second = rest_of(pipe, pieces[after:]), rest_of(checkpoint, pieces[after:])
    assert first.lines() == second.lines()
    logs.live += second.live
    logs.finalized += second.finalized
    assert logs.lines() == logs_of([data]).lines()


def rest_of(pipe: Pipeline, pieces: Iterable[bytes]) -> Logs:
    logs = Logs()
    for piece in pieces:
        logs.take(pipe.feed(piece))
    logs.take(pipe.finish())
    return logs


@settings(max_examples=100)
@given(
    head=st.sampled_from([b"", header(0), header(0) + event_payloads({0x36: 760, 0x39: 6})]),
    noise=st.binary(max_size=3000),
)
def test_noise(head: bytes, noise: bytes) -> None:
    check(head + noise, range(1, len(head + noise)))


@pytest.mark.parametrize("name", ["varied", "0.1"])
def test_truncation_at_every_byte(name: str) -> None:
    """A prefix has the messages of the whole replay up to its end; only those of `finish` may differ."""
    data = base(name)
    whole = logs_of([data], finish=False)
    pipe, so_far = pipeline(), Logs()
    for at in range(len(data)):
        if at % 41 == 0:
            end, failure = Logs(), None
            twin = pipe.copy()
            end.take(twin.finish())
            failure = twin.failure
            assert (failure is not None) == (so_far.live == [])
            both = Logs()
            both.live, both.finalized = so_far.live + end.live, so_far.finalized + end.finalized
            assert_is_a_log(both, failure)
            if failure is None and not any(m.type == "game_end" for m in so_far.live):
                (game_end,) = end.of_type("game_end")
                assert game_end["reason"] == "incomplete"
        so_far.take(pipe.feed(data[at : at + 1]))
    assert so_far.lines() == whole.lines()


def ending(logs: Logs) -> str:
    """The reason of the game end and the codes of the diagnostics, in one string."""
    reasons = [str(m["reason"]) for m in logs.of_type("game_end")]
    codes = [str(m["code"]) for m in logs.of_type("diagnostic")]
    return " ".join([*reasons, *codes])


def frames_of(logs: Logs) -> list[int]:
    return [m.frame for m in logs.finalized if m.frame is not None]


def checked(data: bytes) -> Logs:
    """The logs, checked byte by byte."""
    return check(data, range(1, len(data)))


def small() -> Built:
    return Built().frames(-123, -120)


FOUR = [-123, -122, -121, -120]


@pytest.mark.parametrize(
    "data",
    [b"GIF89a", b"\0", b"{U\x03raw[$U#L" + bytes(8), b'{"raw":1}', b"{U\x03rax", b"U\x08metadata{}"],
    ids=["gif", "zero", "long length", "json", "another key", "metadata"],
)
def test_not_a_replay(data: bytes) -> None:
    logs = checked(data)
    assert ending(logs) == "wrong_format"
    assert logs.live[0].game_id is None
    assert "cursor" not in msgspec.json.decode(logs.live[0].json())


@pytest.mark.parametrize("length", range(HEADER_BYTES + 4))
def test_file_that_ends_before_game_start(length: int) -> None:
    assert ending(checked(small().closed()[:length])) == "framing"


def test_empty_file_has_no_messages() -> None:
    assert logs_of([b"", b""], finish=False).live == []


def test_undeclared_command() -> None:
    data = small().raw(b"\xe0").frames(-119, -100).end().closed()
    logs = checked(data)
    assert ending(logs) == "error framing"
    (diagnostic,) = logs.of_type("diagnostic")
    assert diagnostic["offset"] == len(small().so_far())
    assert "0xe0" in str(diagnostic["message"])
    assert frames_of(logs) == FOUR


def before_game_start(event: Any) -> bytes:
    """A game with an event between Event Payloads and Game Start."""
    game = Built()
    game.parts.insert(1, game.writer.event(event))
    return game.frame(-122).end().closed()


def with_sizes(**sizes: int) -> Built:
    """A game with other declared sizes, by the hexadecimal command byte after an underscore."""
    changed = {int(command[1:], 16): size for command, size in sizes.items()}
    return Built(sizes=small().writer.payloads.sizes | changed)


ENDINGS: Mapping[str, tuple[bytes, str]] = {
    "unknown commands": (
        with_sizes(_7e=3, _7f=0).frame(-123).raw(b"\x7eabc\x7f").frame(-122).end().closed(),
        "game_end",
    ),
    "undeclared command instead of Game Start": (header(0) + event_payloads({0x36: 760}) + b"\x37", "framing"),
    **{
        f"Event Payloads of {size} bytes": (header(0) + bytes([0x35, size]) + bytes(300), "framing")
        for size in (0, 2, 3, 5, 255)
    },
    "Event Payloads without a command": (header(0) + b"\x35\x01" + small().game_start, "framing"),
    "another event instead of Event Payloads": (header(0) + small().game_start, "framing"),
    **{
        f"Game Start of {size} bytes": (
            header(0) + event_payloads({0x36: size, 0x39: 1}) + b"\x36" + bytes(size),
            "field",
        )
        for size in (0, 100, 319)
    },
    "too small Message Splitter": (
        with_sizes(_10=515).raw((b"\x10" + bytes(515)) * 2).frame(-123).end().closed(),
        "game_end short_event",
    ),
    "raw length -1": (small().end().closed(raw_length_bytes=-1), "game_end"),
    "raw length -2^31": (small().closed(raw_length_bytes=-(2**31)), "raw_length"),
    "raw length 1": (small().end().closed(raw_length_bytes=1), "framing"),
    "raw length 20": (small().end().closed(raw_length_bytes=20), "framing"),
    "raw length 200": (small().end().closed(raw_length_bytes=200), "event_crosses_raw_length framing"),
    "not the metadata key": (small().raw(b"U\x08metadatX").closed(), "error framing"),
    "half of the metadata key": (small().so_far() + b"U\x08meta", "incomplete truncated"),
    "Pre-Frame Update before Game Start": (before_game_start(pre(-123)), "framing"),
    "Frame Start before Game Start": (before_game_start(start(-123)), "framing"),
    "Frame Bookend before Game Start": (before_game_start(bookend(-123)), "framing"),
    "Item Update before Game Start": (before_game_start(item(-123)), "framing"),
    "Game End before Game Start": (before_game_start(b"\x39\x02\xff\xff\xff\xff\xff"), "framing"),
}


@pytest.mark.parametrize(("data", "expected"), ENDINGS.values(), ids=ENDINGS)
def test_endings(data: bytes, expected: str) -> None:
    assert ending(checked(data)) == expected


@pytest.mark.parametrize("table", commands.TABLES.values(), ids=lambda table: table.title)
@pytest.mark.parametrize("size", [0, 1, 65535])
def test_declared_sizes_that_no_version_has(table: Any, size: int) -> None:
    """A size without the fields of all versions is reported once; if no frame can be read, it is an error. With a
    larger size the rest is skipped."""
    usual = Built()
    game = Built(sizes=usual.writer.payloads.sizes | {table.command: size})
    if table is commands.GAME_END:
        logs = checked(game.frame(-123).raw(bytes([table.command]) + bytes(size)).closed())
        assert ending(logs) == ("game_end" if size else "game_end short_event")
        assert len(logs.of_type("metadata")) == 1
        return
    at = len(game.so_far())
    game.raw(bytes([table.command]) + bytes(size)).raw(bytes([table.command]) + bytes(size))
    logs = check(game.closed(), sorted({*range(1, at + 20), at + 1 + size}))
    if size < 65535:
        adds_data = table is commands.ITEM_UPDATE or table.command in commands.STAGE_EVENT_KINDS
        assert ending(logs) == ("raw_length short_event" if adds_data else "error unsupported")
        assert [m["offset"] for m in logs.of_type("diagnostic")] == [at]
    else:
        assert "error" not in ending(logs)


def test_game_start_of_65535_bytes() -> None:
    payload = small().game_start.ljust(65536, b"\0")
    data = header(0) + event_payloads({0x36: 65535, 0x39: 1}) + payload + b"\x39\x02"
    assert ending(check(data, [100, 40_000])) == "game_end"


@pytest.mark.parametrize("lie", [1 << 20, 2**31 - 1], ids=["beyond the file", "largest"])
@pytest.mark.parametrize("ended", [True, False])
def test_raw_length_beyond_the_file(lie: int, ended: bool) -> None:
    """The events end at Game End or at the metadata, and the raw length is reported as wrong."""
    game = small().end() if ended else small()
    logs = checked(game.closed(raw_length_bytes=lie))
    assert ending(logs) == ("game_end" if ended else "raw_length") + " raw_length_mismatch"
    assert frames_of(logs) == FOUR
    assert [m["metadata"] for m in logs.of_type("metadata")] == [METADATA]


def test_raw_length_at_the_end_of_an_event() -> None:
    shorter = small().writer.raw_length_bytes
    logs = checked(small().frames(-119, -110).end().closed(raw_length_bytes=shorter))
    assert ending(logs) == "raw_length garbage_after_end"
    assert frames_of(logs) == FOUR


def test_raw_length_in_the_middle_of_an_event() -> None:
    shorter = small().writer.raw_length_bytes + 5
    data = small().frames(-119, -110).end().closed(raw_length_bytes=shorter)
    logs = checked(data)
    assert ending(logs) == "raw_length event_crosses_raw_length garbage_after_end"
    assert frames_of(logs) == FOUR
    # Reported with the last byte before the raw length, not with the next one.
    assert (
        ending(logs_of(bytewise(data[: HEADER_BYTES + shorter]), finish=False)) == "raw_length event_crosses_raw_length"
    )


def test_raw_length_in_the_middle_of_a_started_event() -> None:
    """The reader waits for the rest of an event when the new header shows that the events have ended."""
    data = small().raw(b"\x37" + bytes(4)).closed({})
    cut = data.index(metadata.MARKER)
    pipe, logs = pipeline(), Logs()
    logs.take(pipe.feed(header(0) + data[HEADER_BYTES:cut]))
    logs.take(pipe.rewrite(data[:HEADER_BYTES]))
    assert ending(logs) == "raw_length event_crosses_raw_length"
    logs.take(pipe.feed(data[cut:]))
    assert len(logs.of_type("metadata")) == 1
    assert pipe.closed


def test_raw_length_that_stays_zero() -> None:
    """Some real files were closed without a raw length. The metadata is then at a position of an event."""
    logs = checked(small().end().closed(raw_length_bytes=0))
    assert ending(logs) == "game_end"
    logs = checked(small().closed(raw_length_bytes=0))
    assert ending(logs) == "raw_length"
    assert frames_of(logs) == FOUR
    assert len(logs.of_type("metadata")) == 1


def test_metadata_key_inside_an_event() -> None:
    """The key has a meaning only at an event boundary."""
    game = small()
    nametag = bytearray(game.game_start)
    at = nametag.index(bytes(40))
    nametag[at : at + 11] = b"U\x08metadata{"
    game.parts[1] = bytes(nametag)
    logs = checked(game.end().closed(raw_length_bytes=0))
    assert ending(logs) == "game_end"
    assert frames_of(logs) == FOUR


def nested(depth: int, opening: bytes, closing: bytes) -> bytes:
    return b"{U\x01a" + opening * depth + closing * depth + b"}"


HOSTILE_METADATA = {
    "typed object": b"{$Z#U\x01U\x05ab}",
    "counted object": b"{#U\x01U\x01aT}",
    "typed array of gigabytes": b"{U\x01a[$U#l\x7f\xff\xff\xff}",
    "typed array of nothing": b"{U\x01a[$Z#l\x7f\xff\xff\xff}",
    "counted array": b"{U\x01a[#l\x7f\xff\xff\xff]}",
    "text of gigabytes": b"{U\x01aSl\x7f\xff\xff\xffabc}",
    "text of negative length": b"{U\x01aSl\xff\xff\xff\xffabc}",
    "text of 2^63": b"{U\x01aSL\x7f\xff\xff\xff\xff\xff\xff\xffabc}",
    "key of gigabytes": b"{l\x7f\xff\xff\xffabc",
    "key of a float length": b"{d\0\0\0\0a}",
    "high precision number": b"{U\x01aHU\x031e9}",
    "no-op": b"{NU\x01aT}",
    "not an object": b"[T]",
    "not UBJSON": b"\xff\xff",
    "array closed as object": b"{U\x01a[}}",
    "a key without a value": b"{U\x01a}",
    "depth 17, arrays": nested(metadata.MAX_DEPTH, b"[", b"]"),
    "depth 17, objects": nested(metadata.MAX_DEPTH, b"{U\x01a", b"}"),
    "depth of thousands": nested(5000, b"[", b"]"),
    "too many values": b"{" + b"U\x01aT" * metadata.MAX_ITEMS + b"}",
    "too long, one text": b"{U\x01aSl"
    + (metadata.MAX_BYTES - 4).to_bytes(4, "big")
    + b"a" * (metadata.MAX_BYTES - 4)
    + b"}",
    "too long, many texts": b"{" + (b"U\x01aSU\xf0" + b"a" * 240) * 300 + b"}",
}


@pytest.mark.parametrize("octets", HOSTILE_METADATA.values(), ids=HOSTILE_METADATA)
@pytest.mark.parametrize("ended", [True, False], ids=["game end", "no game end"])
def test_hostile_metadata(octets: bytes, ended: bool) -> None:
    """The game is kept and the metadata is refused, at the same offset for any split."""
    game = small().end() if ended else small()
    data = game.closed(None)[:-1] + metadata.MARKER + octets + b"}"
    step = 1 if len(octets) < 2000 else 997
    logs = check(data, range(1, len(data), step))
    assert ending(logs) == ("game_end" if ended else "raw_length") + " bad_metadata"
    assert frames_of(logs) == FOUR


@pytest.mark.parametrize(
    ("octets", "values"),
    [
        (b"{}", {}),
        (b"{U\x01a{}U\x01b[]}", {"a": {}, "b": []}),
        (b"{U\x01aZU\x01bTU\x01cF}", {"a": None, "b": True, "c": False}),
        (b"{i\x01aI\xff\xffU\x01bi\xff}", {"a": -1, "b": -1}),
        (b"{U\x01ad\x7f\xc0\0\0U\x01bD\x7f\xf0\0\0\0\0\0\0}", {"a": None, "b": None}),
        (b"{U\x01aL\x7f\xff\xff\xff\xff\xff\xff\xff}", {"a": 2**63 - 1}),
        (b"{U\x00T}", {"": True}),
        (nested(metadata.MAX_DEPTH - 1, b"[", b"]"), None),
        (b"{" + b"U\x01aT" * (metadata.MAX_ITEMS - 1) + b"}", {"a": True}),
    ],
    ids=[
        "empty",
        "empty inside",
        "constants",
        "small integers",
        "not finite",
        "2^63-1",
        "empty key",
        "depth 16",
        "4,096 values",
    ],
)
def test_unusual_metadata_is_read(octets: bytes, values: Any) -> None:
    data = small().end().closed(None)[:-1] + metadata.MARKER + octets + b"}"
    logs = check(data, range(1, len(data), 1 if len(octets) < 2000 else 997))
    assert ending(logs) == "game_end"
    (message,) = logs.of_type("metadata")
    if values is not None:
        assert message["metadata"] == values


@pytest.mark.parametrize(
    ("octets", "values", "offset"),
    [
        (b"{U\x01aSU\x08\x83Fnoon\x83FU\x01bSU\x03Ann}", {"a": "\ufffdFnoon\ufffdF", "b": "Ann"}, 7),
        (b"{U\x01\xffTU\x01bF}", {"\ufffd": True, "b": False}, 3),
        (b"{U\x01aSU\x03\xed\xa0\x80U\x01bT}", {"a": "\ufffd" * 3, "b": True}, 7),
        (b"{U\x01aC\xffU\x01bCx}", {"a": "\ufffd", "b": "x"}, 5),
        (b"{U\x01a[SU\x01\x80SU\x01\x81]U\x01bSU\x02\xc3\xa4}", {"a": ["\ufffd", "\ufffd"], "b": "ä"}, 8),
        (b"{U\x01aSU\xff" + b"\xff" * 255 + b"U\x01bT}", {"a": "\ufffd" * 255, "b": True}, 7),
    ],
    ids=["Shift JIS", "key", "lone surrogate", "character", "several", "long"],
)
def test_bytes_that_are_not_text_do_not_lose_the_metadata(octets: bytes, values: Any, offset: int) -> None:
    data = small().end().closed(None)[:-1] + metadata.MARKER + octets + b"}"
    logs = check(data, range(1, len(data)))
    assert ending(logs) == "game_end bad_text"
    assert [m["metadata"] for m in logs.of_type("metadata")] == [values]
    assert [m["offset"] for m in logs.of_type("diagnostic")] == [data.index(octets) + offset]


def with_text(field: str, raw: bytes, version: tuple[int, int, int] = (3, 18, 0), **post: int) -> bytes:
    """A game of Zelda in which player index 1 has these bytes as a text."""
    game = Built(version, characters={0: 2, 1: 18})
    game_start = bytearray(game.game_start)
    row = next(row for row in (*FIELDS, *PLAYER_FIELDS) if row.name == field)
    set_field(game_start, field, raw.ljust(row.kind.width_bytes, b"\0"), 1 if row.stride_bytes else 0)
    game.parts[1] = bytes(game_start)
    return game.frames(-123, -120, **post).end().closed()


@pytest.mark.parametrize(
    ("field", "raw", "text"),
    [
        ("nametag", b"\x82`\x83", "A\ufffd"),
        ("display_name", b"Ann\xfd\xfe", "Ann\uf8f1\uf8f2"),
        ("display_name", b"Ann\x81", "Ann\ufffd"),
        ("connect_code", b"ANN\x81\x94\x85", "ANN#\ufffd"),
        ("user_id", b"ab\x80", "ab\ufffd"),
        ("session_id", b"mode.\xff", "mode.\ufffd"),
    ],
)
def test_bytes_that_are_not_text_in_game_start_are_reported(field: str, raw: bytes, text: str) -> None:
    data = with_text(field, raw)
    logs = checked(data)
    bad = "\ufffd" in text
    assert ending(logs) == "game_end" + (" bad_text" if bad else "")
    assert [m["offset"] for m in logs.of_type("diagnostic")] == ([data.index(raw)] if bad else [])
    settings = msgspec.json.decode(logs.live[0].json())["settings"]
    assert text in (settings["players"][1].get(camel(field)), settings["matchInfo"].get(camel(field)))
    assert frames_of(logs) == FOUR


@pytest.mark.parametrize("mode", [TIME_MODE, STOCK_MODE])
def test_game_without_players_has_an_end(mode: int) -> None:
    game = Built()
    game_start = bytearray(game.game_start)
    set_field(game_start, "game_bitfield_1", mode | 0x02)
    for index in range(4):
        set_field(game_start, "type", PLAYER_TYPE_EMPTY, index)
    game.parts[1] = bytes(game_start)
    assert ending(checked(game.end().closed())) == "game_end"


def test_bad_tag_does_not_hide_that_zelda_began_as_sheik() -> None:
    """Before 1.6 the first frame completes Game Start; a diagnostic can come between them."""
    logs = checked(with_text("nametag", b"\x83", (1, 3, 0), internal_character_id=7))
    assert [m.type for m in logs.live[:3]] == ["game_start", "diagnostic", "frame"]
    settings = msgspec.json.decode(logs.live[0].json())["settings"]
    assert [player["characterId"] for player in settings["players"]][1] == 19
    assert ending(logs) == "game_end bad_text"


def metadata_of_bytes(length: int, last: bytes) -> bytes:
    """An object of `length` bytes: a long text, then `last` as the value of `b`."""
    head, tail = b"{U\x01aSl", b"U\x01b" + last + b"}"
    text = b"a" * (length - len(head) - 4 - len(tail))
    return head + len(text).to_bytes(4, "big") + text + tail


@pytest.mark.parametrize("last", [b"T", b"D" + bytes(8), b"SU\x03abc", b"[]"])
def test_metadata_of_the_largest_size(last: bytes) -> None:
    for length, code in ((metadata.MAX_BYTES, ""), (metadata.MAX_BYTES + 1, " bad_metadata")):
        data = small().end().closed(None)[:-1] + metadata.MARKER + metadata_of_bytes(length, last) + b"}"
        logs = check(data, [*range(1, 2000, 100), *range(len(data) - 30, len(data))])
        assert ending(logs) == "game_end" + code


@pytest.mark.parametrize("cut", range(1, 40))
def test_truncated_metadata(cut: int) -> None:
    logs = checked(small().end().closed()[:-cut])
    expected = "game_end" if cut == 1 else "game_end truncated"
    assert ending(logs) == expected
    assert len(logs.of_type("metadata")) == (cut == 1)


@pytest.mark.parametrize(
    ("tail", "codes"),
    [(b"}", ""), (b"", ""), (b"x", " not_closed"), (b"}}", " trailing_bytes"), (b"}" + bytes(9000), " trailing_bytes")],
    ids=["closed", "open", "garbage", "two braces", "zeros"],
)
@pytest.mark.parametrize("lie", [None, 7_000_000])
def test_bytes_after_the_metadata(tail: bytes, codes: str, lie: int | None) -> None:
    data = small().end().closed(raw_length_bytes=lie)[:-1] + tail
    expected = "game_end"
    if lie is not None and tail[:1] == b"}":
        expected += " raw_length_mismatch"
    assert ending(check(data, range(1, min(len(data), 4000)))) == expected + codes


def test_duplicate_game_end() -> None:
    logs = checked(small().end(2, placements=(0, 1, -1, -1)).end(7, lras_initiator=0).closed())
    assert ending(logs) == "game_end duplicate_game_end"
    (message,) = logs.of_type("game_end")
    assert msgspec.json.decode(msgspec.json.encode(message["gameEnd"]))["gameEndMethod"] == 2
    assert message["winners"] == [{"playerIndex": 0, "position": 0}]


def test_events_after_game_end() -> None:
    logs = checked(small().end().frames(-119, -100).closed())
    assert ending(logs) == "game_end" + " event_after_end" * 16
    assert frames_of(logs) == FOUR
    assert len(logs.of_type("metadata")) == 1


def test_duplicate_game_start() -> None:
    other = Built(characters={0: 9, 1: 9}).game_start
    logs = checked(small().raw(other).frame(-119).end().closed())
    assert ending(logs) == "game_end duplicate_game_start"
    assert frames_of(logs) == [*FOUR, -119]
    assert len({m.game_id for m in logs.live}) == 1


def test_game_end_without_frames() -> None:
    logs = checked(Built().end().closed())
    assert ending(logs) == "game_end"
    (message,) = logs.of_type("game_end")
    assert "lastFrame" not in message
    assert message["winners"] == []


def test_posts_before_pres() -> None:
    """Frames in an order that no game writes, enough of them to be learned as a layout."""
    game = Built()
    for number in range(-123, -100):
        game.add(start(number), post(number), pre(number), post(number, 1), pre(number, 1), bookend(number))
    checked(game.end().closed())


PART_OF_CLASS = {type(pre(0)): "pre", type(post(0)): "post"}
OTHER_FRAMES: Mapping[str, list[Any]] = {
    "another player": [pre(7, 0), pre(7, 2), post(7, 0), post(7, 2)],
    "the follower instead": [pre(7, 0), pre(7, 1, follower=True), post(7, 0), post(7, 1, follower=True)],
    "posts between pres": [pre(7, 0), post(7, 0), pre(7, 1), post(7, 1)],
    "players exchanged": [pre(7, 1), pre(7, 0), post(7, 1), post(7, 0)],
    "a pre of another number": [pre(7, 0), pre(8, 1), post(7, 0), post(7, 1)],
    "a post of another number": [pre(7, 0), pre(7, 1), post(7, 0), post(6, 1)],
    "a player twice": [pre(7, 0), pre(7, 0), post(7, 0), post(7, 0)],
    "a post missing": [pre(7, 0), pre(7, 1), post(7, 0)],
    "a player missing": [pre(7, 0), post(7, 0)],
    "an item": [pre(7, 0), pre(7, 1), item(7), post(7, 0), post(7, 1)],
}


@pytest.mark.parametrize("other_frame", OTHER_FRAMES.values(), ids=OTHER_FRAMES)
def test_frame_of_another_layout(other_frame: list[Any]) -> None:
    """Among frames of one layout, a frame of another one is decoded by its own events."""
    game = Built().frames(0, 6).add(start(7), *other_frame, bookend(7)).frames(8, 14)
    logs = checked(game.end().closed())
    entries = [msgspec.json.decode(m.entry()) for m in logs.live if m.frame == 7]
    assert {
        (side, index, part)
        for entry in entries
        for side in ("players", "followers")
        for index, player in entry.get(side, {}).items()
        for part in player
    } == {
        ("followers" if e.is_follower else "players", str(e.player_index), PART_OF_CLASS[type(e)])
        for e in other_frame
        if e.frame == 7 and type(e) in PART_OF_CLASS and e.player_index < 2
    }


def endless_replay(what: str) -> Iterator[bytes]:
    """Blocks of a replay that tries to make its reader keep everything."""
    game = Built(major_scene=ONLINE)
    yield game.so_far()
    if what in REPEATED_BYTES:
        opening, unit = REPEATED_BYTES[what]
        yield opening
        for _ in range(100):
            yield unit * (65536 // len(unit))
        return
    event = game.writer.event
    for first in range(0, 12_000, 400):
        parts = []
        for count in range(first, first + 400):
            number = count * 3 % 1_000_003 if what == "numbers apart" else count
            parts += [event(start(number)), event(pre(number))]
            if what != "no bookends":
                parts.append(event(bookend(number, -124)))
        yield b"".join(parts)


REPEATED_BYTES = {
    "items": (b"", b"\x3b" + bytes(44)),
    "gecko list": (b"", b"\x10" + b"g" * 512 + b"\x02\0\x3d\0"),
    "empty gecko list": (b"", b"\x10" + bytes(514) + b"\x3d\0"),
    "metadata": (metadata.MARKER + b"{", b"U\xf0" + b"k" * 240 + b"{"),
    "one text": (metadata.MARKER + b"{U\x01aSl\x00\x00\xff\xf0", b"x"),
    "garbage": (b"\xff", b"\xff"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", [*REPEATED_BYTES, *slow("no bookends", "numbers apart", "never final")])
def test_memory_is_bounded(what: str) -> None:
    read_to_the_end(base("varied"))  # what the first replay loads stays in memory
    pipe = pipeline()
    sent = 0
    tracemalloc.start()
    try:
        for block in endless_replay(what):
            pipe.feed(block)
            sent += len(block)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sent > 900_000
    assert kept < (2_500_000 if what == "numbers apart" else 1_500_000)


WITH_FAULTS: Mapping[str, tuple[str, int, int | None, Mapping[str, Any] | None]] = {
    "crashed_2.1": ("incomplete truncated", 420, 296, None),
    "in_progress_3.18": ("incomplete", 420, 296, None),
    "lost_game_end_3.6": ("raw_length", 420, 296, {"lastFrame": 296}),
    "unknown_event_3.18": ("game_end", 420, 296, {"playedOn": "dolphin"}),
    "corrupt": ("incomplete truncated", 0, None, None),
    "incomplete": ("incomplete", 7780, 7656, None),
    "duplicate_game_end": ("game_end duplicate_game_end", 5023, 4899, {}),
    "unknown_event": ("game_end", 5209, 5085, {"lastFrame": 5085, "playedOn": "dolphin"}),
    "geckoCodes": ("raw_length", 301, 177, {}),
    "v0.1": ("game_end", 8236, 8112, {"startAt": "2018-01-24T06:19:54Z", "playedOn": "dolphin"}),
    "not_slp_text": ("wrong_format", 0, None, None),
}
"""For each replay: the end of its log, the number of final frames, the last one, and some of the metadata."""
LONG = ("duplicate_game_end", "incomplete", "v0.1")


@pytest.mark.parametrize(
    "name", [*existing(*(name for name in WITH_FAULTS if name not in LONG)), *slow(*existing(*LONG))]
)
def test_replay_with_faults(name: str) -> None:
    data = replay(name)
    logs = check(data, random_cuts(len(data), 4))
    end, frames, last_frame, expected = WITH_FAULTS[name]
    assert ending(logs) == end
    assert len(frames_of(logs)) == frames
    assert [m.get("lastFrame") for m in logs.of_type("game_end")] == ([last_frame] if end != "wrong_format" else [])
    assert frames_of(logs)[-1:] == ([last_frame] if frames else [])
    found = [m["metadata"] for m in logs.of_type("metadata")]
    if expected is None:
        assert found == []
    else:
        (values,) = found
        assert isinstance(values, dict)
        assert {key: values.get(key) for key in expected} == expected


def test_undeclared_item_is_not_an_item() -> None:
    """The byte after the Pre-Frame Updates is that of an Item Update, which this replay does not declare.

    The fuzzer found it: the search for a frame layout did not end.
    """
    sizes = {c: s for c, s in Built().writer.payloads.sizes.items() if c != commands.ITEM_UPDATE.command}
    game = Built(sizes=sizes).frames(-123, -110)
    game.add(start(-109), pre(-109), pre(-109, 1)).raw(bytes([commands.ITEM_UPDATE.command]) * 600)
    pipe = pipeline()
    logs = Logs()
    logs.take(pipe.feed(game.so_far()))
    assert isinstance(pipe.failure, FormatError)
    assert pipe.failure.command == commands.ITEM_UPDATE.command
    assert [m.frame for m in logs.live if m.type == "frame"] == list(range(-123, -109))
