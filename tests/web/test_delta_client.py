"""`slpstream.v1.delta` on a real websocket, decoded in Python, and in node by the client module."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from websockets.typing import Subprotocol

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.delta import SUBPROTOCOL, DeltaDecoder
from slpstream.model.messages import LogMessage
from slpstream.model.topics import TOPICS
from slpstream.stream.view import DeltaBase
from slpstream.web.encodings import DELTA
from tests.stream.fakes import FakeLog
from tests.synthetic.match import synthetic_match
from tests.web.javascript import WITH_A_FAKE_SOCKET, needs_node, run
from tests.web.served import served

FRAMES = 900


def some_log() -> list[LogMessage]:
    """The messages of a game with items and rollbacks."""
    data = synthetic_match(seed=5, frames=FRAMES, items=True, rollbacks=True)
    log = Pipeline(SlippiReader()).feed(data).messages("live")
    return log[: 2 * FRAMES] + log[-3:]


def on_the_wire(log: list[LogMessage]) -> list[bytes]:
    """The payloads of the websocket messages for a subscriber."""
    known: dict[str, DeltaBase] = {}
    sent = []
    for message in log:
        before = known.get(message.type)
        known[message.type] = link = DeltaBase(message, None)
        chained = before is not None and message.topic in ("frame", "stats")
        data = DELTA.follow(link, before, "main") if chained and before else DELTA.log(message, "main")
        sent.append(payload_of(data))
    return sent


def encoded(payloads: Iterable[bytes]) -> list[str]:
    """Payloads encoded for node."""
    return [base64.b64encode(data).decode() for data in payloads]


def payload_of(frame: bytes) -> bytes:
    """The payload of an unmasked websocket frame."""
    assert frame[0] == 0x82
    head = {126: 4, 127: 10}.get(frame[1], 2)
    return frame[head:]


@pytest.mark.slow
@needs_node
def test_node_decodes_what_python_encodes() -> None:
    log = some_log()
    sent = encoded(on_the_wire(log))
    read = run(
        """
      const { DeltaDecoder } = await import("./delta.js");
      const decoder = new DeltaDecoder();
      return given.map((text) => decoder.decode(Buffer.from(text, "base64")));
    """,
        sent,
    )
    assert {message.type for message in log} >= {"game_start", "frame", "finalized", "stats"}
    for message, decoded in zip(log, read, strict=True):
        assert decoded == msgspec.json.decode(message.json("main"))


VALUES: list[Any] = [
    *(0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53),
    *(-1, -32, -33, -128, -129, -32768, -32769, -(2**31), -(2**31) - 1, -(2**53)),
    *(None, True, False, 0.5, -1e300, 1.1),
    *("", "é", "x" * 31, "x" * 32, "x" * 255, "x" * 256, "x" * 65536),
    *([], [1] * 15, [1] * 16, [1] * 65536),
    *({}, {str(i): i for i in range(15)}, {str(i): i for i in range(16)}, {str(i): i for i in range(65536)}),
]


@needs_node
def test_node_decodes_every_type_of_messagepack() -> None:
    packed = encoded([*map(msgspec.msgpack.encode, VALUES), b"\xca\x3f\xc0\0\0"])
    read = run(
        """
      const { decodeMessagePack } = await import("./delta.js");
      return given.map((text) => decodeMessagePack(Buffer.from(text, "base64")));
    """,
        packed,
    )
    assert read == [*VALUES, 1.5]


@needs_node
def test_node_rejects_invalid_messagepack() -> None:
    broken = [b"", b"\xc1", b"\xa3ab", b"\x92\x01", b"\x01\x01", b"\xc4\x05ab", b"\x94\xa4main\x00\x01\x00"]
    errors = run(
        """
      const { DeltaDecoder } = await import("./delta.js");
      const read = (text) => {
        try { return new DeltaDecoder().decode(Buffer.from(text, "base64")); } catch (error) { return error.name; }
      };
      return given.map(read);
    """,
        encoded(broken),
    )
    assert errors == ["RangeError"] * 6 + ["Error"]


@needs_node
def test_shapes_in_node_and_python_are_equal() -> None:
    """Keys are sorted by code point, look like numbers, appear and disappear."""
    states: list[dict[str, Any]] = [
        {"10": 1, "9": 2, "\U0001f600": 3, "\uffff": 4, "a": {"b": [], "c": [[1], {"d": None}]}},
        {"10": 5, "9": 2.5, "\U0001f600": 7, "\uffff": 8, "a": {"b": [1], "c": [[1, 2], {"d": 0.1}]}},
        {"10": 6, "9": {"x": 1}, "a": {"b": [2], "c": [[]]}, "new": [{"y": 1}, {"y": 2}]},
        {"10": 6, "9": {"x": 2}, "a": {}, "new": [{"y": 3}]},
    ]
    log = [
        LogMessage("frame", "0" * 32, "live", 10 * i, 0, msgspec.json.encode({"frame": state})[1:], i)
        for i, state in enumerate(states)
    ]
    sent = encoded(on_the_wire(log))
    read = run(
        """
      const { DeltaDecoder } = await import("./delta.js");
      const decoder = new DeltaDecoder();
      return given.map((text) => decoder.decode(Buffer.from(text, "base64")).frame);
    """,
        sent,
    )
    assert read == states


@needs_node
def test_client_uses_deltas_and_delivers_whole_messages() -> None:
    """After a message that it cannot decode it reconnects, and the first frame on the new connection is whole."""
    log = [message for message in some_log()[:40] if message.type in ("game_start", "frame", "finalized")]
    hello = DELTA.status({"type": "hello", "protocol": 1, "version": "9", "stations": ["main"]})
    sent = encoded([payload_of(hello), *on_the_wire(log)])
    protocols, kinds, frames = run(
        WITH_A_FAKE_SOCKET
        + """
      const bytes = (text) => Uint8Array.from(Buffer.from(text, "base64")).buffer;
      const [hello, ...sent] = given;
      const client = make({ stations: ["main"], protocol: "delta" });
      const frames = [];
      client.on("frame", ({ frame }) => frames.push(frame));
      const open = async (count) => {
        while (opened.length < count) { await new Promise((resolve) => setTimeout(resolve, 5)); }
        await opened[count - 1].ready;
        opened[count - 1].onmessage({ data: bytes(hello) });
        return opened[count - 1];
      };
      const first = await open(1);
      sent.forEach((text) => first.onmessage({ data: bytes(text) }));
      first.onmessage({ data: bytes("wQ==") });
      const second = await open(2);
      sent.forEach((text) => second.onmessage({ data: bytes(text) }));
      client.close();
      return [opened.map(({ protocol }) => protocol), opened.map(({ binaryType }) => binaryType), frames];
    """,
        sent,
    )
    assert protocols == [SUBPROTOCOL] * 2
    assert kinds == ["arraybuffer"] * 2
    assert frames == 2 * [msgspec.json.decode(m.entry()) for m in log if m.type == "frame"]


@pytest.mark.trio
@pytest.mark.parametrize("delivery", ["lossless", "conflate"])
async def test_over_a_websocket(delivery: str) -> None:
    log = FakeLog(batches=30)
    async with served("main") as server:
        station = server.stations[0]
        game = station.begin(log)
        query = f"?station=main&cursor=start&delivery={delivery}&topics={','.join(TOPICS)}"
        async with server.websocket(query, subprotocols=[Subprotocol(SUBPROTOCOL)]) as websocket:
            assert websocket.subprotocol == SUBPROTOCOL
            decoder = DeltaDecoder()
            received: list[dict[str, Any]] = []
            deltas = 0
            while not received or received[-1]["type"] != "metadata":
                data = await websocket.recv()
                assert isinstance(data, bytes)
                deltas += isinstance(msgspec.msgpack.decode(data), list)
                message = decoder.decode(data)
                if "cursor" in message and message["type"] != "snapshot":
                    received.append(message)
                else:
                    station.write_all(game)
    expected = [msgspec.json.decode(message.json("main")) for message in log.whole()]
    if delivery == "lossless":
        assert received == expected
    else:
        assert [message for message in expected if message in received] == received
    assert deltas > len(received) / 3
