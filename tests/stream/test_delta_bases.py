"""Deltas through the fan-out: every message can be decoded and equals the log, and is encoded once per group.

This holds for subscribers that miss messages, join late, or read messages back. The schedules are random, as in
`test_delivery`: sockets take a few bytes at a time or none, and each schedule depends on its seed alone.
"""

from __future__ import annotations

import base64
import random
from typing import Any

import msgspec
import pytest
import trio

from slpstream.model.delta import DeltaDecoder, delta_message
from slpstream.model.messages import FramesMode, to_messagepack
from slpstream.stream.delta_bases import DeltaBase
from tests.stream.fakes import (
    Client,
    FakeLog,
    FakeStation,
    LineEncoding,
    hub_of,
    lines,
    settle,
    subscription,
)

pytestmark = pytest.mark.trio


class DeltaLines(LineEncoding):
    """Encodes messages as in the delta subprotocol, one line each, and counts the deltas."""

    key = "delta lines"

    def __init__(self) -> None:
        super().__init__()
        self.deltas = 0

    def follow(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """A message as a delta to an earlier one."""
        return base.message.form((self.key, station, before.place), lambda _: self._delta(base, before, station))

    def status(self, payload: dict[str, Any]) -> bytes:
        """A status message as a line."""
        return _text(to_messagepack(msgspec.json.encode(payload)))

    def _line(self, json: bytes) -> bytes:
        self.encoded += 1
        return _text(to_messagepack(json))

    def _delta(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        self.deltas += 1
        changes, base.image = before.image.change(base.payload())
        step = base.message.offset - before.message.offset
        return _text(delta_message(base.message.type, station, step, base.message.count, changes))


def _text(data: bytes) -> bytes:
    return base64.b64encode(data) + b"\n"


class DeltaClient(Client):
    """A client that decodes deltas."""

    def __init__(self, encoding: DeltaLines | None = None, **options: Any) -> None:
        super().__init__(encoding=DeltaLines() if encoding is None else encoding, **options)
        self._decoder = DeltaDecoder()

    def decoded_line(self, line: bytes) -> bytes:
        return msgspec.json.encode(self._decoder.decode(base64.b64decode(line)))

    def decoded_log(self) -> list[dict[str, Any]]:
        """The log messages, decoded."""
        return [msgspec.json.decode(line) for line in self.log]


def decoded(log: list[bytes]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in log]


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(60))
async def test_decoded_deltas_equal_the_log(seed: int) -> None:
    chance = random.Random(seed)
    mode: FramesMode = chance.choice(("live", "finalized"))
    log, station = FakeLog(1, batches=40, seed=seed), FakeStation(ring_bytes=chance.choice((600, 4000)))
    hub, game, encoding = hub_of(station), station.begin(log), DeltaLines()
    clients: list[tuple[str, DeltaClient]] = []
    async with trio.open_nursery() as nursery:

        async def stay(client: DeltaClient, options: dict[str, Any]) -> None:
            async with client.subscribed(hub, subscription(frames=mode, **options)):
                await trio.sleep_forever()

        def join() -> None:
            delivery = chance.choice(("lossless", "conflate"))
            room = chance.choice((0, 300, None))
            client = DeltaClient(encoding, room=room, limit_bytes=chance.choice((2500, 6000)))
            clients.append((delivery, client))
            cursor = chance.choice(("start", "live", f"{log.game_id}/frame:0"))
            nursery.start_soon(stay, client, {"delivery": delivery, "cursor": cursor})

        station.write(game, 3)
        for _ in range(4):
            join()
        while station.write(game, chance.randint(1, 3)):
            for _, client in clients:
                client.allow(chance.choice((0, 0, 40, 400, 3000)))
            if chance.random() < 0.1:
                join()
            if chance.random() < 0.5:
                await settle()
        for _, client in clients:
            client.allow(None)
        await settle()
        nursery.cancel_scope.cancel()
    assert encoding.deltas > 10
    expected = decoded(lines(log, mode=mode))
    by_cursor = {message["cursor"]: message for message in expected}
    for delivery, client in clients:
        received = client.decoded_log()
        assert [by_cursor[message["cursor"]] for message in received] == received
        if client.error is not None:
            assert delivery == "conflate"
            continue
        if received:
            assert received[-1] == expected[-1]
        if delivery == "lossless":
            assert received == expected[len(expected) - len(received) :]


async def test_late_subscriber_gets_a_whole_frame_then_the_shared_deltas() -> None:
    station, log, encoding = FakeStation(), FakeLog(batches=30), DeltaLines()
    hub, game = hub_of(station), station.begin(log)
    first, late = DeltaClient(encoding), DeltaClient(encoding)
    request = subscription(topics=["frame"])
    async with first.subscribed(hub, request):
        station.write(game, 10)
        async with late.subscribed(hub, request):
            before, deltas = len(late.received), encoding.deltas
            station.write_all(game)
            await settle()
    sent = [msgspec.msgpack.decode(base64.b64decode(line)) for line in bytes(late.received[before:]).split()]
    frames = [s for s in sent if (s[1] == 0 if isinstance(s, list) else s["type"] == "frame")]
    assert [isinstance(frame, dict) for frame in frames] == [True] + [False] * (len(frames) - 1)
    assert encoding.deltas - deltas == len(late.decoded_log())
    assert late.decoded_log() == first.decoded_log()[-len(late.decoded_log()) :]


async def test_each_game_begins_with_a_whole_frame() -> None:
    station = FakeStation()
    client = DeltaClient()
    logs = [FakeLog(1, batches=5), FakeLog(2, batches=5)]
    async with client.subscribed(hub_of(station), subscription(topics=["frame"])):
        for log in logs:
            station.play(log)
        await settle()
    sent = [msgspec.msgpack.decode(base64.b64decode(line)) for line in bytes(client.received).split()]
    assert sum(isinstance(s, dict) and s["type"] == "frame" for s in sent) == 2
    assert client.decoded_log() == [
        msgspec.json.decode(m.json("main")) for log in logs for m in log.whole() if m.topic == "frame"
    ]
