"""Messages that aren't in a log, which a subscription gets from a source if it asks for their type."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from slpstream.model.messages import Cursor
from slpstream.stream.channel import Channel, Send
from slpstream.stream.subscription import Start
from tests.stream.fakes import Client, FakeLog, FakeStation, hub_of, settle, subscription

pytestmark = pytest.mark.trio


class Source:
    """Sends the numbers of a list that can grow, and notes the subscriptions."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.starts: list[Start | Cursor] = []
        self.ended = 0
        self._grown = trio.Event()

    async def __call__(self, channel: Channel, start: Start | Cursor, send: Send) -> None:
        """Send all numbers, until cancelled."""
        self.starts.append(start)
        number = 0
        try:
            while True:
                while number < self.count:
                    await send({"number": number})
                    number += 1
                await self._grown.wait()
        finally:
            self.ended += 1

    def grow(self, count: int) -> None:
        """Add numbers."""
        self.count += count
        self._grown.set()
        self._grown = trio.Event()


def numbers(client: Client) -> list[int]:
    return [message["number"] for message in received(client) if message["type"] == "numbers"]


def received(client: Client) -> list[dict[str, Any]]:
    return [json.loads(line) for line in client.received.split(b"\n")[:-1]]


async def test_only_subscriptions_that_ask_get_them() -> None:
    station = FakeStation()
    hub, source = hub_of(station), Source(3)
    hub.sources["numbers"] = source
    async with Client().subscribed(hub, subscription()) as without:
        assert source.starts == []
        async with Client().subscribed(hub, subscription(also=["numbers", "unknown"])) as client:
            source.grow(1)
            await settle()
            assert numbers(client) == [0, 1, 2, 3]
            assert {"type": "numbers", "station": "main", "number": 3} in received(client)
        assert numbers(without) == []
        assert source.ended == 1


@pytest.mark.parametrize("delivery", ["lossless", "conflate"])
async def test_slow_subscriptions(delivery: str) -> None:
    hub, source = hub_of(FakeStation()), Source(0)
    hub.sources["numbers"] = source
    async with Client().subscribed(hub, subscription(also=["numbers"], delivery=delivery)) as client:
        client.room = 0
        source.grow(50)
        await settle()
        client.room = None
        client.allow(None)
        await settle()
        assert numbers(client) == (list(range(50)) if delivery == "lossless" else [0, 49])  # 0 was written in part
        missed = sum(message["missed"] for message in received(client) if message["type"] == "lagged")
        assert missed + len(numbers(client)) == 50


async def test_beginning_of_the_subscription() -> None:
    station = FakeStation()
    hub, source = hub_of(station), Source(0)
    hub.sources["numbers"] = source
    log = FakeLog()

    async def start_of(**keys: Any) -> Start | Cursor:
        async with Client().subscribed(hub, subscription(also=["numbers"], **keys)):
            return source.starts[-1]

    assert await start_of() == "live"
    game = station.begin(log)
    station.write(game, 10)
    for mode in ("live", "finalized"):
        head = Cursor(game.game_id, mode, game.logs[mode].head)
        assert await start_of(frames=mode) == head
    assert await start_of(cursor="start") == "start"
    earlier = log.first(4)[-1]
    assert await start_of(cursor=earlier.cursor) == Cursor(game.game_id, "live", earlier.position)
    assert source.ended == 5


async def test_source_ends_with_its_station() -> None:
    station = FakeStation()
    hub, source = hub_of(station, FakeStation("other")), Source(1)
    hub.sources["numbers"] = source
    async with Client().subscribed(hub, subscription(also=["numbers"])):
        assert len(source.starts) == 2
        hub.remove(station.channel)
        await settle()
        assert source.ended == 1
