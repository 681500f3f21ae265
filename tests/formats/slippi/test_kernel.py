"""The compiled kernel writes every value as msgspec does, and refuses what does not fit."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame as WebsocketFrame
from websockets.frames import Opcode

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Form, Frame, FrameFinalized
from slpstream.model.messages import LogMessage, cut_entry, to_messagepack
from slpstream.web.encodings import JSON, MESSAGEPACK
from tests.formats.slippi.built import Built
from tests.project import IN_CI
from tests.replays import existing, replay

GAME = "0123456789abcdef0123456789abcdef"
KINDS = "BbHhIif?"
FORMS: tuple[Form, ...] = ("json", "msgpack")
ENCODE = {"json": msgspec.json.encode, "msgpack": msgspec.msgpack.encode}
CHOICES = [
    ("post.percent", "post.stocksRemaining"),
    ("pre.joystickX", "pre.physicalButtons", "items", "start.seed"),
    ("post.selfInducedSpeeds", "post.selfInducedSpeeds.airX"),
    ("followers", "stageEvents"),
    ("nothing.of.ours",),
    (),
]

pytestmark = pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here")


# A frame of these tests: a first event with 11 bytes after its number, an array of events, and a last one with 4 bytes.
FIRST, BEFORE, AFTER, COUNTED, LAST = range(5)
WIDTHS = [16, 7, 7, 9, 9, *[0] * 251]
EVENTS = (WIDTHS, bytes([*b"skl0e", *b"." * 251]), (1, 5, 6))
MAKES: Any = (PackedFrame, None, 7, Frame, FrameFinalized)


def frame_of(content: bytes = bytes(11), *counted: bytes, number: int = 7) -> bytes:
    numbered = number.to_bytes(4, "big", signed=True)
    return b"".join(
        [bytes([FIRST]), numbered, content]
        + [bytes([COUNTED]) + numbered + each for each in counted]
        + [bytes([LAST]), numbered, b"last"]
    )


def rendered(form: Form, kind: str, value: bytes) -> bytes:
    assert kernel is not None
    template = kernel.Template(EVENTS, form, ((b"", kind.encode(), 0, 5),), ())
    out: bytes = template.render(frame_of(value.ljust(11, b"\0")), 0)
    return out


@pytest.mark.parametrize("form", FORMS)
@given(kind=st.sampled_from(KINDS), data=st.binary(min_size=4, max_size=4))
def test_values_are_written_as_msgspec_writes_them(form: Form, kind: str, data: bytes) -> None:
    [value] = struct.unpack_from(f">{kind}", data)
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    assert rendered(form, kind, data) == ENCODE[form](value)


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, -1.0, 0.1, 1e-5, 1e-4, 1e-45, 999_999.0, 1e6, 1e15, 1e16, 1e17, 3e38]
)
def test_floats_change_their_notation_where_msgspec_does(value: float) -> None:
    data = struct.pack(">f", value)
    assert rendered("json", "f", data) == msgspec.json.encode(struct.unpack(">f", data)[0])


def check_floats(floats: Sequence[int]) -> None:
    """Compare floats, which are given by their bits, with those of msgspec."""
    assert kernel is not None
    template = kernel.Template(
        EVENTS, "json", ((b"", b"*", 0, 0),), ((COUNTED, ((b"", b"f", 0, 5), (b"", b".", 0, 0))),)
    )
    for start in range(0, len(floats), 60):
        data = [bits.to_bytes(4, "big") for bits in floats[start : start + 60]]
        values = [struct.unpack(">f", each)[0] for each in data]
        assert template.render(frame_of(bytes(11), *data), 0) == msgspec.json.encode(values)


def test_floats_of_all_exponents_are_written_as_msgspec_writes_them() -> None:
    mantissas = (0, 1, 1 << 22, 0x155555, (1 << 23) - 1)
    check_floats([head << 23 | mantissa for head in range(1 << 9) for mantissa in mantissas])


def test_more_floats_than_the_kernel_remembers_are_written_as_msgspec_writes_them() -> None:
    chance = random.Random(1)
    floats = [chance.getrandbits(32) for _ in range(10_000)]
    check_floats(floats + floats[::-1] + floats)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(5, 8)), max_size=40), st.binary(min_size=8, max_size=8))
def test_same_bytes_are_written_as_several_kinds(places: list[tuple[str, int]], data: bytes) -> None:
    """The kernel doesn't take the text of an integer for that of a float with the same bits."""
    assert kernel is not None
    pieces = [(b"," if at else b"[", kind.encode(), 0, offset) for at, (kind, offset) in enumerate(places)]
    template = kernel.Template(EVENTS, "json", (*pieces, (b"]" if pieces else b"[]", b".", 0, 0)), ())
    values = [struct.unpack_from(f">{kind}", data, offset - 5)[0] for kind, offset in places]
    assert template.render(frame_of(data + bytes(3)), 0) == msgspec.json.encode(values)


@pytest.mark.parametrize("literal_bytes", [0, 1, 31, 32, 33, 63, 64, 65, 1000])
def test_literals_of_all_sizes(literal_bytes: int) -> None:
    assert kernel is not None
    literal = bytes(range(256)) * 4
    pieces = ((literal[:literal_bytes], b"B", 0, 5), (literal[:literal_bytes], b".", 0, 0))
    template = kernel.Template(EVENTS, "json", pieces, ())
    assert template.render(frame_of(b"\1" + bytes(10)), 0) == b"1".join([literal[:literal_bytes]] * 2)


# Templates of the key `number`, and the beginning of an object with this key and a cursor.
NUMBERED: dict[Form, bytes] = {"json": b'"number":', "msgpack": msgspec.msgpack.encode("number")}
HEADS: dict[Form, bytes] = {"json": b'{"cursor":', "msgpack": b"\x82" + msgspec.msgpack.encode("cursor")}


def numbered(form: Form) -> Any:
    assert kernel is not None
    end = b"}" if form == "json" else b""
    return kernel.Template(EVENTS, form, ((NUMBERED[form], b"n", 0, 0), (end, b".", 0, 0)), ())


def frame_message(form: Form, kept: tuple[str, ...] | None = None, **changed: Any) -> Any:
    """A message with a packed frame and a template for it."""
    events = SimpleNamespace(templates={(form, kept, 1): numbered(form)})
    packed = {"data": frame_of(), "events": events, "parts": 1, "revision": 3}
    content = SimpleNamespace(**{key: changed.pop(key, value) for key, value in packed.items()})
    values = {"type": "frame", "game_id": "g", "mode": "live", "offset": 5, "count": 6, "content": content}
    return SimpleNamespace(**{**values, **changed})


def new_encoder(form: Form, opcode: int = Opcode.TEXT, cursor: bytes = b"", encode: Any = None) -> Any:
    assert kernel is not None
    return kernel.Encoder(form, opcode, lambda *about: (HEADS[form], cursor), encode)


def framed(opcode: int, *messages: bytes) -> bytes:
    """Websocket messages as the library `websockets` writes them."""
    heads = [WebsocketFrame(Opcode.TEXT, message).serialize(mask=False)[1:] for message in messages]
    return b"".join(bytes([0x80 | opcode]) + rest for rest in heads)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("offset", "count"), [(0, 0), (-1, 7), (2**63 - 1, -(2**63))])
@pytest.mark.parametrize("cursor_bytes", [0, 10, 27, 28, 29, 34, 250, 256, 65_530, 65_536])
def test_messages_begin_with_their_envelope(form: Form, cursor_bytes: int, offset: int, count: int) -> None:
    cursor = "c" * cursor_bytes
    message = ENCODE[form]({"cursor": f"{cursor}{offset}.{count}", "number": 3})
    written = new_encoder(form, cursor=cursor.encode()).write(
        [frame_message(form, offset=offset, count=count)], "s", None, None
    )
    assert written == framed(Opcode.TEXT, message)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.BINARY, 0, 15])
@pytest.mark.parametrize("cursor_bytes", [0, *range(80, 120), *range(65_495, 65_525), 200_000])
def test_frames_become_websocket_messages(form: Form, opcode: int, cursor_bytes: int) -> None:
    cursor = "c" * cursor_bytes
    message = ENCODE[form]({"cursor": f"{cursor}5.6", "number": 3})
    encoder = new_encoder(form, opcode, cursor.encode())
    for messages in (1, 3):
        written = encoder.write([frame_message(form)] * messages, "s", None, None)
        assert written == framed(opcode, *[message] * messages)


@pytest.mark.parametrize("size", [0, 1, 100, 110, 70_000])
def test_other_messages_are_written_as_they_are(size: int) -> None:
    body = b'"x":%b}' % (b"1" * size)
    message = frame_message("json", type="finalized", content=body)
    expected = framed(Opcode.TEXT, b'{"cursor":"5.6",' + body)
    assert new_encoder("json").write([message], "s", None, ("post",)) == expected


def test_wanted_types_are_written() -> None:
    messages = [frame_message("json", type=kind) for kind in ("frame", "finalized", "event")]
    encoder = new_encoder("json")
    one = encoder.write(messages[:1], "s", None, None)
    assert encoder.write(messages, "s", frozenset({"frame", "event"}), None) == 2 * one
    assert encoder.write(messages, "s", set(), None) == b""


@pytest.mark.parametrize(
    ("message", "is_cut"),
    [
        (frame_message("json", content=b"}"), True),  # has to be cut down
        (frame_message("json"), True),  # there is a template only for whole frames
        (frame_message("json", content=object()), True),  # another format
        (frame_message("json", type="diagnostic", game_id=None, content=b"}"), False),
    ],
)
def test_what_is_unusual_is_left_to_python(message: Any, is_cut: bool) -> None:
    given: list[Any] = []

    def encode(*arguments: Any) -> bytes:
        given.append(arguments)
        return b"<by Python>"

    encoder = new_encoder("json", encode=encode)
    usual = frame_message("json", ("post",))
    one = encoder.write([usual], "s", None, ("post",))
    assert encoder.write([usual, message, usual], "s", None, ("post",)) == one + b"<by Python>" + one
    assert given == [(message, "s", ("post",) if is_cut else None)]


def test_python_can_use_the_encoder_that_has_called_it() -> None:
    def encode(*arguments: Any) -> bytes:
        return bytes(encoder.write([usual], "s", None, None))

    encoder, usual = new_encoder("json", encode=encode), frame_message("json")
    one = encoder.write([usual], "s", None, None)
    unusual = frame_message("json", content=object())
    assert encoder.write([usual, unusual, usual], "s", None, None) == 3 * one


def test_encoders_refuse_what_is_no_message() -> None:
    assert kernel is not None
    encoder = new_encoder("json", encode=lambda *arguments: "no bytes")
    usual = frame_message("json")
    one = encoder.write([usual], "s", None, None)
    calls: list[tuple[Any, tuple[Any, ...], type[Exception]]] = [
        (encoder.write, ([usual], "s", None), TypeError),
        (encoder.write, ((usual,), "s", None, None), TypeError),
        (encoder.write, ([usual], "s", ("frame",), None), TypeError),
        (encoder.write, ([object()], "s", None, None), AttributeError),
        (encoder.write, ([frame_message("json", offset="5")], "s", None, None), TypeError),
        (encoder.write, ([frame_message("json", count=2**63)], "s", None, None), OverflowError),
        (encoder.write, ([frame_message("json", revision=None)], "s", None, None), TypeError),
        (encoder.write, ([frame_message("json", data=b"no frame")], "s", None, None), ValueError),
        (encoder.write, ([usual, frame_message("json", content=object())], "s", None, None), TypeError),
        (encoder.write, ([frame_message("json", events=SimpleNamespace(templates=()))], "s", None, None), TypeError),
        (kernel.Encoder, ("json", 16, print, print), ValueError),
        (kernel.Encoder, ("text", 1, print, print), ValueError),
        (kernel.Encoder, (b"json", 1, print, print), TypeError),
        *[
            (
                kernel.Encoder("json", 1, lambda *about, parts=parts: parts, print).write,
                ([usual], "s", None, None),
                TypeError,
            )
            for parts in (None, b"", (b"",), ("", b""), (b"", None))
        ],
    ]
    for call, arguments, error in calls:
        with pytest.raises(error):
            call(*arguments)
    assert encoder.write([usual], "s", None, None) == one


@pytest.mark.parametrize("form", FORMS)
@given(number=st.integers(-(2**63), 2**63 - 1))
def test_number_of_the_caller_is_written(form: Form, number: int) -> None:
    assert kernel is not None
    template = kernel.Template(EVENTS, form, ((b"", b"n", 0, 0),), ())
    assert template.render(frame_of(), number) == ENCODE[form](number)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [0, 1, 15, 16, 60])
def test_arrays_are_written_as_msgspec_writes_them(form: Form, size: int) -> None:
    assert kernel is not None
    template = kernel.Template(EVENTS, form, ((b"", b"*", 0, 0),), ((COUNTED, ((b"", b"I", 0, 5), (b"", b".", 0, 0))),))
    values = [number * 1000 for number in range(size)]
    frame = frame_of(bytes(11), *(value.to_bytes(4, "big") for value in values))
    assert template.render(frame, 0) == ENCODE[form](values)


@given(st.binary(max_size=60), st.integers(-1, 14))
def test_templates_take_only_whole_frames(data: bytes, offset: int) -> None:
    assert kernel is not None
    if not 0 <= offset <= 12:
        with pytest.raises(ValueError, match="no value of an event"):
            kernel.Template(EVENTS, "json", ((b"<", b"I", 0, offset),), ())
        return
    template = kernel.Template(EVENTS, "json", ((b"<", b"I", 0, offset), (b">", b".", 0, 0)), ())
    whole = frame_of(data[:11].ljust(11, b"x"))
    assert template.render(whole, 0) == b"<%d>" % int.from_bytes(whole[offset : offset + 4], "big")
    for broken in (data[:20], whole[:-1], whole[1:], whole[:16]):
        with pytest.raises(ValueError, match="not a whole frame"):
            template.render(broken, 0)


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        (((b"", b"q", 0, 0),), "no value of an event"),
        (((b"", b"", 0, 0),), "length 1"),
        (((b"", b"II", 0, 0),), "length 1"),
        (((b"", b"I", 0, -1),), "no value of an event"),
        (((b"", b"I", 0, 13),), "no value of an event"),
        (((b"", b"I", 0, 1 << 40),), "no value of an event"),
        (((b"", b"B", -1, 0),), "no slot of a frame"),
        (((b"", b"B", 18, 0),), "no slot of a frame"),
    ],
    ids=["kind", "no kind", "two kinds", "before", "past the end", "far away", "slot before", "slot after"],
)
def test_pieces_that_make_no_template(pieces: Any, error: str) -> None:
    assert kernel is not None
    with pytest.raises((ValueError, TypeError), match=error):
        kernel.Template(EVENTS, "json", pieces, ())


def test_frame_without_an_event_of_the_template() -> None:
    assert kernel is not None
    template = kernel.Template(EVENTS, "json", ((b"", b"B", 1, 0),), ())
    with pytest.raises(ValueError, match="lacks an event"):
        template.render(frame_of(), 0)


@pytest.mark.parametrize(
    "arguments", [("json", [()], ()), ("json", (None,), ()), ("json", ((b"", b"I"),), ()), (None, (), ()), ()]
)
def test_templates_of_other_types_are_refused(arguments: Any) -> None:
    assert kernel is not None
    with pytest.raises(TypeError):
        kernel.Template(EVENTS, *arguments)


def test_unknown_forms_are_refused() -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match="unknown form"):
        kernel.Template(EVENTS, "xml", (), ())


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ((WIDTHS[1:], EVENTS[1], EVENTS[2]), "256 widths"),
        ((WIDTHS, EVENTS[1][1:], EVENTS[2]), "256 widths"),
        ((WIDTHS, EVENTS[1], (-1, 5, 6)), "three places"),
        ((WIDTHS, EVENTS[1], (1, 1 << 30, 6)), "three places"),
        (([4, *WIDTHS[1:]], EVENTS[1], EVENTS[2]), "no rule or width"),
        ((WIDTHS, b"?" + EVENTS[1][1:], EVENTS[2]), "no rule or width"),
    ],
)
def test_events_that_do_not_fit_are_refused(changed: Any, error: str) -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match=error):
        kernel.Frames(changed, b"\0\1", -1, MAKES)


@given(st.lists(st.tuples(st.integers(0, 5), st.binary(min_size=16, max_size=16)), max_size=8), st.integers(-2, 40))
def test_frames_are_never_found_outside_of_the_data(events: list[tuple[int, bytes]], start: int) -> None:
    assert kernel is not None
    data = b"".join(bytes([code]) + bytes(4) + rest[: WIDTHS[code] - 5] for code, rest in events)
    found = kernel.Frames(EVENTS, b"\0\1\2\3", 5, MAKES).match(data, start, len(data))
    if isinstance(found, tuple):
        end, number, latest_finalized, _ = found
        assert 0 <= start < end <= len(data)
        assert data[end - WIDTHS[LAST]] == LAST
        assert number == 0
        assert latest_finalized == int.from_bytes(data[end - 4 : end], "big", signed=True)


def tuple_of(*values: int) -> tuple[int, ...]:
    return values


def taken(
    data: bytes, *, start: int = 0, limit: int | None = None, max_pending: int = 9, **given: Any
) -> tuple[Any, list[Any]]:
    """The result of the kernel's `take`, and the events that it makes."""
    assert kernel is not None
    frames = kernel.Frames(EVENTS, b"\0", given.get("finalized_offset", -1), MAKES)
    out: list[Any] = []
    number, through = given.get("number", 7), given.get("through")
    end = len(data) if limit is None else limit
    return frames.take(
        data, start, end, 1000, number, through, given.get("pending", {}), max_pending, given.get("parts", 0), out
    ), out


def test_frames_are_taken_while_their_numbers_are_in_order() -> None:
    data = frame_of(number=7) + frame_of(number=8)
    size = len(data) // 2
    result, out = taken(data + frame_of(number=10))
    assert [type(event).__name__ for event in out] == ["Frame", "FrameFinalized"] * 2
    assert result == (2 * size, 9, 8, out[2], None)
    assert [(event.end_offset, event.number, event.content.data) for event in out[::2]] == [
        (1000 + size, 7, data[:size]), (1000 + 2 * size, 8, data[size:]),
    ]  # fmt: skip
    assert [(event.end_offset, event.through, event.frames) for event in out[1::2]] == [
        (1000 + size, 7, [out[0]]), (1000 + 2 * size, 8, [out[2]]),
    ]  # fmt: skip
    assert taken(data, through=7) == ((0, 7, 7, None, None), [])
    assert taken(data, parts=1) == ((0, 7, None, None, None), [])
    assert taken(data, number=8) == ((0, 8, None, None, None), [])


def test_frames_stay_pending_until_the_latest_finalized_frame_reaches_them() -> None:
    def sent(number: int, latest: int) -> bytes:
        return frame_of(number=number)[:-4] + latest.to_bytes(4, "big", signed=True)

    pending = {5: "five", 3: "three"}
    data = sent(7, 2) + sent(8, 4) + sent(9, 100)
    result, (seven, eight, of_eight, nine, of_nine) = taken(data, pending=pending, finalized_offset=5)
    assert result == (len(data), 10, 9, nine, None)
    assert (of_eight.through, of_eight.frames) == (4, ["three"])
    assert (of_nine.through, of_nine.frames) == (9, ["five", seven, eight, nine])
    assert pending == {}
    waiting = dict.fromkeys(range(9), "waiting")
    assert taken(data, pending=waiting, finalized_offset=5) == ((0, 7, None, None, None), [])


def test_frames_are_taken_up_to_the_end_of_the_data() -> None:
    result, out = taken(frame_of(), limit=10**6)
    assert (result[0], len(out)) == (len(frame_of()), 2)


@pytest.mark.parametrize("limits", [(-1, 4), (10**6, None), (10**6, 10**7), (5, 2)])
def test_frames_are_not_taken_from_outside_of_the_data(limits: tuple[int, int | None]) -> None:
    start, limit = limits
    assert taken(frame_of(), start=start, limit=limit) == ((start, 7, None, None, None), [])


def test_a_frame_that_is_cut_off_needs_more_bytes() -> None:
    assert kernel is not None
    frames = kernel.Frames(EVENTS, b"\0", -1, MAKES)
    counted = frame_of(bytes(11), b"four")
    for cut, needed in ((1, 16), (15, 16), (16, 17), (17, 25), (24, 25), (25, 26), (26, 34)):
        assert frames.match(b"x" + counted[:cut], 1, 1 + cut) == 1 + needed
    for data, start, limit in ((b"", 0, 0), (counted, 4, 9), (counted, -1, 9)):
        assert frames.match(data, start, limit) == 0
    assert frames.match(counted[:25] * 2, 0, 50) == 0
    assert frames.take_counts() == {}


def test_what_is_no_sequence_of_frames_is_refused() -> None:
    assert kernel is not None
    frames = kernel.Frames(EVENTS, b"\0", -1, MAKES)
    good: list[Any] = [frame_of(), 0, 25, 0, 7, None, {}, 9, 0, []]
    for place, wrong in ((0, "text"), (1, None), (4, 1 << 80), (6, []), (7, "9"), (9, ())):
        with pytest.raises((TypeError, OverflowError)):
            frames.take(*good[:place], wrong, *good[place + 1 :])
    with pytest.raises(TypeError):
        frames.take(*good[:-1])
    with pytest.raises(TypeError):
        frames.take(*good[:6], {"no number": 1}, *good[7:])


def test_events_of_frames_are_counted() -> None:
    assert kernel is not None
    frames = kernel.Frames(EVENTS, b"\0", -1, MAKES)
    data = frame_of(bytes(11), b"four", b"more")
    assert frames.match(data, 0, len(data)) == (len(data), 7, None, 1 << 8)
    assert isinstance(frames.match(data, 0, len(data) - 1), int)
    assert frames.take_counts() == {FIRST: 1, COUNTED: 2, LAST: 1}
    frames.match(data, 0, len(data))
    frames.put_back()
    frames.put_back()
    assert frames.take_counts() == {}


@pytest.mark.parametrize("rule", [b"e", b"0", b"", b"ss"])
def test_fields_of_other_events_are_refused(rule: bytes) -> None:
    assert kernel is not None
    with pytest.raises((ValueError, TypeError), match=r"fields are those|length 1"):
        kernel.Fields(EVENTS, rule, ((b"B", 0),), tuple)


def test_fields_that_are_the_same_as_before_are_left_out() -> None:
    assert kernel is not None
    read = kernel.Fields(EVENTS, b"s", ((b"B", 6), (b"B", 8)), tuple_of).read
    before, other = frame_of(b"abcdefghijk"), frame_of(b"abcxefghijk", number=8)
    assert read(before, None) == read(before, other) == {0: (ord("b"), ord("d"))}
    assert read(before, frame_of(b"xbcdxxxxxxx")) == {}
    assert read(before, frame_of(b"abxdefghijk")) == read(before)
    for wrong in (b"", before[:-1], 7):
        with pytest.raises((ValueError, TypeError)):
            read(before, wrong)


def test_fields_are_given_to_the_function() -> None:
    assert kernel is not None
    data = frame_of(b"\1" + struct.pack(">f", 0.5) + b"\xff\xff" + bytes(4))
    places = ((b"?", 5), (b"f", 6), (b"h", 10), (b"H", 10), (b"b", 10))
    assert kernel.Fields(EVENTS, b"s", places, lambda *values: values).read(data) == {0: (True, 0.5, -1, 65535, -1)}
    with pytest.raises(ZeroDivisionError):
        kernel.Fields(EVENTS, b"s", places, lambda *values: 1 // 0).read(data)
    assert kernel.Fields(EVENTS, b"k", ((b"B", 5),), int).read(data) == {}


def characters(number: int, *sides: tuple[int, bytes, bytes], clock: int = 0) -> bytes:
    """A frame with updates of players, each of a player index and the values in its two updates."""
    numbered = number.to_bytes(4, "big", signed=True)
    befores = [bytes([BEFORE]) + numbered + bytes([index, 0]) + before for index, before, _ in sides]
    afters = [bytes([AFTER]) + numbered + bytes([index, 0]) + after for index, _, after in sides]
    first = bytes([FIRST]) + numbered + bytes([clock]) + bytes(10)
    return b"".join([first, *befores, *afters, bytes([LAST]), numbered, b"last"])


WATCHED = ([16, 17, 17, 9, 9, *[0] * 251], *EVENTS[1:])
"""As `EVENTS`, but with ten bytes in the updates of players."""
CLOCK, SAME, RISING = ((b"B", 5),), ((b"B", 7),), ((b"b", 8),)
POSITION = ((b"f", 9), (b"f", 13))
BUTTONS, STICKS, TRIGGERS = ((b"B", 7),), ((b"b", 8), (b"b", 9), (b"b", 10), (b"b", 11)), ((b"B", 12), (b"B", 13))
NUMBERS = (50.0, -10.0, 5.0, 0x0F, 20.0, 100.0)


def after(x: float = 0.0, y: float = 0.0, same: int = 0, rising: int = 0) -> bytes:
    return bytes([same, rising]) + struct.pack(">ff", x, y)


def watch(fields: tuple[Any, ...] = (CLOCK, SAME, RISING, POSITION, BUTTONS, STICKS, TRIGGERS)) -> Any:
    assert kernel is not None
    return kernel.Watch(WATCHED, b"\0\1", fields, NUMBERS)


def quiet_after(one: bytes, two: bytes, *, living: int = 0b11) -> Any:
    """The result of `end` if the second frame is quiet, or `None`."""
    watching = watch()
    watching.begin(one, 9, living)
    return watching.end() if watching.take(two) else None


STILL = bytes(10)


def next_frame(*second: bytes, number: int = 8, clock: int = 1, first: bytes = after()) -> bytes:
    """A frame after 7, with these second updates of the players from 1 on."""
    sides = [(index, STILL, each) for index, each in enumerate(second, 1)]
    return characters(number, (0, STILL, first), *sides, clock=clock)


QUIET = {
    "nothing": next_frame(after()),
    "within the bounds": next_frame(after(), first=after(50.0, -10.0, rising=1)),
    "other player": next_frame(after(), after()),
}
NOT_QUIET = {
    "number": next_frame(after(), number=9),
    "clock stands": next_frame(after(), clock=0),
    "clock jumps": next_frame(after(), clock=2),
    "player gone": next_frame(),
    "same": next_frame(after(same=1)),
    "falls": next_frame(after(rising=255)),
    "right": next_frame(after(50.5)),
    "left": next_frame(after(-50.5)),
    "below": next_frame(after(0.0, -10.5)),
    "nowhere": next_frame(after(math.nan)),
}


def test_frames_with_a_value_are_noted() -> None:
    assert kernel is not None
    data = b"".join(next_frame(after(same=same), number=number) for number, same in ((7, 1), (8, 2), (9, 2), (10, 1)))
    for place, noted in ((SAME, 9), ((), None)):
        frames = kernel.Frames(WATCHED, b"\0\1", -1, MAKES, place, 2)
        assert frames.take(data, 0, len(data), 0, 7, None, {}, 9, 3, [])[4] == noted
    for wrong in (((b"f", 9),), ((b"?", 7),), ((b"B", 999),)):
        with pytest.raises(ValueError, match=r"only integers|no value"):
            kernel.Frames(WATCHED, b"\0\1", -1, MAKES, wrong, 2)


@pytest.mark.parametrize("changed", [*QUIET, *NOT_QUIET])
def test_quiet_frames(changed: str) -> None:
    first = characters(7, (0, STILL, after()), (1, STILL, after()))
    if changed in QUIET:
        assert quiet_after(first, QUIET[changed])[:2] == (QUIET[changed], 1)
    else:
        assert quiet_after(first, NOT_QUIET[changed]) is None


def test_the_nearest_player_of_a_quiet_frame() -> None:
    def nearest(one: float, two: float, living: int = 0b11) -> Any:
        frames = [characters(7 + at, (0, STILL, after(one)), (1, STILL, after(two)), clock=at) for at in (0, 1)]
        return quiet_after(*frames, living=living)[2]

    assert nearest(10.0, -15.5) == nearest(-10.0, 15.5) == (1, 0, 0, 0)
    assert nearest(15.5, -10.0) == (0, 1, 0, 0)
    assert nearest(10.0, 15.0) == nearest(10.0, 20.0, 0b1) == nearest(10.0, 20.0, 0b1001) == (0, 0, 0, 0)
    assert nearest(70.0, 60.0) == (0, 1, 0, 0)


@pytest.mark.parametrize(
    ("before", "now", "counts"),
    [
        ((0b0001, 0, 0, 0, 0, 0, 0), (0b11_0111, 0, 0, 0, 0, 0, 0), (2, 0, 0, 0)),
        ((0, 0, 0, 0, 0, 0, 0), (0, 21, 0, 0, 235, 0, 0), (0, 1, 1, 0)),
        ((0, 21, 0, 0, 0, 0, 0), (0, 90, 20, 20, 236, 0, 0), None),
        ((0, 21, 0, 0, 0, 0, 0), (0, 21, 21, 0, 0, 0, 0), (0, 1, 0, 0)),
        ((0, 21, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0), None),
        ((0, 0, 0, 0, 0, 99, 100), (0, 0, 0, 0, 0, 100, 255), (0, 0, 0, 1)),
    ],
)
def test_inputs_of_a_quiet_frame(
    before: tuple[int, ...], now: tuple[int, ...], counts: tuple[int, int, int, int] | None
) -> None:
    frames = [
        characters(7 + at, (1, bytes(values) + bytes(3), after()), clock=at) for at, values in enumerate((before, now))
    ]
    assert quiet_after(*frames)[3] == ([] if counts is None else [(1, 8, *counts)])


def test_watching_ends() -> None:
    frames = [characters(7 + at, (0, STILL, after()), clock=at) for at in range(5)]
    watching = watch()
    assert watching.end() == (None, 0, (0, 0, 0, 0), [])
    assert not watching.take(frames[1]), "before begin"
    watching.begin(frames[0], 2, 1)
    assert [watching.take(frame) for frame in frames[1:]] == [True, True, False, False]
    assert watching.end()[:2] == (frames[2], 2)
    watching.begin(frames[0], 9, 1)
    assert [watching.take(frames[at]) for at in (1, 3, 2)] == [True, False, False], (
        "not after a frame that is not quiet"
    )
    for wrong in (b"", frames[1][:-1], 7):
        with pytest.raises((ValueError, TypeError)):
            watching.begin(wrong, 9, 0)
        watching.begin(frames[0], 9, 0)
        with pytest.raises((ValueError, TypeError)):
            watching.take(wrong)
    for arguments in ((), (frames[0], 9), (frames[0], 9, b""), (frames[0], 1 << 80, 0)):
        with pytest.raises((TypeError, OverflowError)):
            watching.begin(*arguments)


def test_fields_to_watch_that_do_not_fit_are_refused() -> None:
    fields = (CLOCK, SAME, RISING, POSITION, BUTTONS, STICKS, TRIGGERS)
    for at in range(len(fields)):
        for wrong in (((b"I", 14),), ((b"B", -1),), ((b"n", 0),), ((b"x", 0),), ((b"BB", 0),)):
            with pytest.raises((ValueError, TypeError), match=r"no value|two coordinates|length 1"):
                watch((*fields[:at], wrong, *fields[at + 1 :]))
    for at in (3, 5):
        with pytest.raises(ValueError, match="two coordinates"):
            watch((*fields[:at], (), *fields[at + 1 :]))
    with pytest.raises(TypeError):
        watch(fields[:-1])


def frames_in(data: bytes) -> list[Frame]:
    return [event for event in SlippiReader().feed(data) if isinstance(event, Frame)]


def check_forms(frames: list[Frame]) -> int:
    """Compare every form of each packed frame with what msgspec makes of its fields. Returns the number of frames."""
    packed = [frame for frame in frames if isinstance(frame.content, PackedFrame)]
    for frame in packed:
        message = LogMessage("frame", GAME, "live", 9, 0, frame.content, frame.number)
        entry = msgspec.json.encode(frame.entry)
        plain = LogMessage("frame", GAME, "live", 9, 0, b'"frame":%b}' % entry, frame.number)
        assert message.json("main") == plain.json("main")
        assert message.messagepack("main") == to_messagepack(plain.json("main"))
        for encoding in (JSON, MESSAGEPACK):
            assert encoding.log(message, "main") == encoding.log(plain, "main")
        for fields in CHOICES:
            cut = msgspec.json.encode(cut_entry(msgspec.json.decode(entry), fields))
            assert message.entry(fields) == msgspec.Raw(cut)
            assert message.messagepack(fields=fields) == to_messagepack(plain.json(fields=fields))
    return len(packed)


@pytest.mark.parametrize("choices", [40, 200])
def test_many_choices_of_fields_make_few_templates(choices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a template takes fifty times as long as rendering it."""
    assert kernel is not None
    made: list[Form] = []

    def make(*arguments: Any) -> Any:
        made.append(arguments[1])
        return template(*arguments)

    template = kernel.Template
    monkeypatch.setattr(kernel, "Template", make)
    built = frames_in(Built((3, 17, 0)).frames(-123, 0).end().closed())
    frames = [frame for frame in built if isinstance(frame.content, PackedFrame)]
    assert len(frames) > 100
    selections = [("post.percent", f"choice{number}", "items") for number in range(choices)]
    for frame in frames:
        entry = msgspec.json.encode(frame.entry)
        packed = LogMessage("frame", GAME, "live", 9, 0, frame.content, frame.number)
        plain = LogMessage("frame", GAME, "live", 9, 0, b'"frame":%b}' % entry, frame.number)
        for fields in selections:
            assert JSON.log(packed, "main", fields) == JSON.log(plain, "main", fields)
    assert len(made) < choices + len(frames) * choices // 50


@pytest.mark.parametrize("version", [(0, 1, 0), (2, 2, 0), (3, 0, 0), (3, 7, 0), (3, 13, 0), (3, 18, 0)], ids=str)
def test_frames_are_written_as_msgspec_writes_their_fields(version: tuple[int, int, int]) -> None:
    game = (
        Built(version).frames(-123, -113, items=2, followers=(1,), stage_events=True).frames(-112, -103, followers=(0,))
    )
    assert check_forms(frames_in(game.end().closed())) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zelda_sheik_3.11", *existing("FodPlatforms", "items", "ics2", "v2.0", "v0.1")])
def test_frames_of_games_are_written_as_msgspec_writes_their_fields(name: str) -> None:
    assert check_forms(frames_in(replay(name))[::19]) > 10
