"""The compiled kernel writes every value as msgspec does, and refuses what does not fit."""

from __future__ import annotations

import math
import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.frame_decoder import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Form, Frame
from slpstream.model.messages import LogMessage, cut_entry, to_messagepack
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


def rendered(form: Form, kind: str, data: bytes, offset: int = 0) -> bytes:
    assert kernel is not None
    template = kernel.Template(form, ((b"", kind.encode(), offset),))
    out: bytes = template.render(data, 0, 0)
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


@pytest.mark.parametrize("form", FORMS)
@given(number=st.integers(-(2**63), 2**63 - 1))
def test_number_of_the_caller_is_written(form: Form, number: int) -> None:
    assert kernel is not None
    assert kernel.Template(form, ((b"", b"n", 0),)).render(b"", 0, number) == ENCODE[form](number)


@given(st.binary(max_size=40), st.integers(0, 45), st.integers(-3, 45))
def test_template_never_reads_past_the_data(data: bytes, offset: int, start: int) -> None:
    assert kernel is not None
    template = kernel.Template("json", ((b"<", b"I", offset), (b">", b".", 0)))
    if start < 0 or start + offset + 4 > len(data):
        with pytest.raises(ValueError, match="ends inside"):
            template.render(data, start, 0)
    else:
        value = int.from_bytes(data[start + offset :][:4], "big")
        assert template.render(data, start, 0) == b"<%d>" % value


@pytest.mark.parametrize(
    "parts",
    [((b"", b"q", 0),), ((b"", b"", 0),), ((b"", b"II", 0),), ((b"", b"I", -1),), ((b"", b"I", 1 << 40),)],
    ids=["kind", "no kind", "two kinds", "before the frame", "far away"],
)
def test_parts_that_make_no_template(parts: Any) -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match="no part of a template"):
        kernel.Template("json", parts)


@pytest.mark.parametrize("arguments", [("json", [()]), ("json", (None,)), ("json", ((b"", b"I"),)), (None, ()), ()])
def test_templates_of_other_types_are_refused(arguments: Any) -> None:
    assert kernel is not None
    with pytest.raises(TypeError):
        kernel.Template(*arguments)


def test_unknown_forms_are_refused() -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match="unknown form"):
        kernel.Template("xml", ())


@given(
    data=st.binary(max_size=24),
    start=st.integers(-2, 30),
    width=st.integers(5, 20),
    checked=st.lists(st.integers(0, 4), max_size=3),
    numbers=st.lists(st.integers(0, 1), min_size=1, max_size=2),
)
def test_matcher_compares_bytes_and_numbers(
    data: bytes, start: int, width: int, checked: list[int], numbers: list[int]
) -> None:
    assert kernel is not None
    frame = data[start : start + width] if start >= 0 else b""
    expected = bytes(frame[offset] if offset < len(frame) else 0 for offset in checked)
    found = kernel.Matcher(width, tuple(checked), expected, tuple(numbers)).match(data, start)
    seen = {frame[offset : offset + 4] for offset in numbers}
    if len(frame) == width and len(seen) == 1:
        assert found == int.from_bytes(seen.pop(), "big", signed=True)
    else:
        assert found is None
    if frame and checked:
        changed = bytes([expected[0] ^ 1]) + expected[1:]
        assert kernel.Matcher(width, tuple(checked), changed, tuple(numbers)).match(data, start) is None


@pytest.mark.parametrize(
    ("width", "checked", "expected", "numbers"),
    [
        (8, (8,), b"x", (0,)),
        (8, (-1,), b"x", (0,)),
        (8, (0,), b"", (0,)),
        (8, (), b"", (5,)),
        (8, (), b"", ()),
        (0, (), b"", (0,)),
    ],
)
def test_offsets_outside_of_the_frame_are_refused(width: int, checked: Any, expected: bytes, numbers: Any) -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match=r"outside of the frame|no layout"):
        kernel.Matcher(width, checked, expected, numbers)


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
        for fields in CHOICES:
            cut = msgspec.json.encode(cut_entry(msgspec.json.decode(entry), fields))
            assert message.entry(fields) == msgspec.Raw(cut)
            assert message.messagepack(fields=fields) == to_messagepack(plain.json(fields=fields))
    return len(packed)


@pytest.mark.parametrize("choices", [9, 40])
def test_many_choices_of_fields_make_few_templates(choices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a template takes fifty times as long as rendering it."""
    assert kernel is not None
    made: list[Form] = []

    def make(form: Form, parts: Any) -> Any:
        made.append(form)
        return template(form, parts)

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
            assert packed.json("main", fields) == plain.json("main", fields)
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
