"""Websocket framing, compared with that of `websockets`."""

from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from slpstream.model.events import Form
from slpstream.model.messages import LogMessage
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.web.encodings import DELTA, JSON, MESSAGEPACK, WebsocketEncoding
from tests.formats.slippi.built import varied_replay
from tests.formats.slippi.logs import logs_of
from tests.formats.slippi.pure import without_kernel


@pytest.mark.parametrize("size_bytes", [0, 1, 125, 126, 127, 65535, 65536, 200_000])
def test_every_size_is_framed_as_websockets_does(size_bytes: int) -> None:
    body = b'"text":"%b"}' % (b"x" * size_bytes)
    message = LogMessage("diagnostic", None, "live", 0, 0, body, None)
    line = message.json("setup")
    assert JSON.log(message, "setup") == Frame(Opcode.TEXT, line).serialize(mask=False)


@pytest.mark.parametrize("size_bytes", [50, 105, 106, 107, 108, 65515, 65516, 65520, 65536])
@pytest.mark.parametrize(
    ("encoding", "opcode"), [(JSON, Opcode.TEXT), (MESSAGEPACK, Opcode.BINARY), (DELTA, Opcode.BINARY)]
)
def test_sizes_around_the_limits(encoding: WebsocketEncoding, opcode: Opcode, size_bytes: int) -> None:
    sent = encoding.status({"type": "x", "text": "y" * size_bytes})
    size = sent[1]
    head = 2 if size < 126 else 4 if size == 126 else 10
    assert sent == Frame(opcode, sent[head:]).serialize(mask=False)


@pytest.mark.parametrize("fields", [None, ("post.percent", "items"), ("nothing.of.ours",)])
def test_messages_of_games_are_framed_as_websockets_does(fields: tuple[str, ...] | None) -> None:
    """With the kernel, whole frames are framed by it."""
    with without_kernel():
        decoded = logs_of([varied_replay()]).live
    for message, same in zip(logs_of([varied_replay()]).live, decoded, strict=True):
        chosen = fields if message.type == "frame" else None
        json, packed = same.json("setup", chosen), same.messagepack("setup", chosen)
        assert JSON.log(message, "setup", chosen) == Frame(Opcode.TEXT, json).serialize(mask=False)
        for encoding in (MESSAGEPACK, DELTA):
            assert encoding.log(message, "setup", chosen) == Frame(Opcode.BINARY, packed).serialize(mask=False)


@pytest.mark.parametrize("form", ["json", "msgpack"])
@pytest.mark.parametrize("types", [set(TOPIC_OF_TYPE), {"frame", "game_end"}, set()])
@pytest.mark.parametrize("fields", [None, ("post.percent", "items")])
def test_many_messages_are_encoded_one_after_another(
    form: Form, types: set[str], fields: tuple[str, ...] | None
) -> None:
    """By the kernel and without it."""
    messages = list(logs_of([varied_replay()]).live)
    with without_kernel():
        in_python = WebsocketEncoding("slow", Opcode.TEXT, form)
    by_kernel = WebsocketEncoding("fast", Opcode.TEXT, form)
    chosen = [(message, fields if message.type == "frame" else None) for message in messages if message.type in types]
    expected = b"".join(in_python.log(message, "setup", cut) for message, cut in chosen)
    for encoding in (in_python, by_kernel, by_kernel):
        assert encoding.joined(messages, "setup", types, fields) == expected
