"""Deltas in the fan-out: whole messages for new subscribers and games, shared deltas for the group.

`test_delivery` has the random schedules.
"""

from __future__ import annotations

import base64

import msgspec
import pytest

from tests.stream.deltas import DeltaClient, DeltaLines
from tests.stream.fakes import FakeLog, FakeStation, hub_of, settle, subscription

pytestmark = [pytest.mark.trio, pytest.mark.usefixtures("each_way")]


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
