"""Websocket framing, compared with that of `websockets`."""

from __future__ import annotations

import pytest
from websockets.frames import Frame, Opcode

from slpstream.model.messages import LogMessage
from slpstream.web.encodings import DELTA, JSON, MESSAGEPACK, WebsocketEncoding


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
