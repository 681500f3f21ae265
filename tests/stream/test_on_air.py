"""The station on air, and subscriptions that follow it. `fakes.py` explains why these tests are deterministic."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from slpstream.model.errors import NoSuchGame
from slpstream.stream.channel import Hub, OnAir
from slpstream.stream.game import Game
from tests.stream.fakes import Client, FakeLog, FakeStation, lines, settle, subscription

pytestmark = pytest.mark.trio

AT = 1_700_000_000.0


def hub_on_air(*stations: FakeStation) -> Hub:
    hub = Hub(OnAir())
    for station in stations:
        hub.add(station.channel)
    return hub


def playing(name: str, number: int, *, written: int = 5) -> tuple[FakeStation, FakeLog, Game]:
    station, log = FakeStation(name), FakeLog(number, batches=12)
    game = station.begin(log)
    station.write(game, written)
    return station, log, game


async def test_slow_follower_misses_no_change(autojump_clock: MockClock) -> None:
    on_air = OnAir()
    seen: list[str | None] = []

    async def follow() -> None:
        station = None
        while True:
            station = await on_air.other_than(station)
            seen.append(station)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        await wait_all_tasks_blocked()
        assert on_air.put("main", "operator", AT)
        await wait_all_tasks_blocked()
        on_air.put("side", "rule", AT)  # while the follower is busy with `main`
        on_air.put("third", "rule", AT)
        await trio.sleep(1.5)
        assert not on_air.put("third", "rule", AT + 9)
        assert on_air.put(None, None, AT)
        await trio.sleep(1.5)
        nursery.cancel_scope.cancel()
    assert seen == ["main", "third", None]


async def test_subscription_switches_with_the_station_on_air() -> None:
    main, _, game = playing("main", 1)
    side, two, other = playing("side", 2)
    hub = hub_on_air(main, side)
    async with Client().subscribed(hub, subscription(stations=["on-air"])) as client:
        assert [message["type"] for message in client.messages] == ["on_air"]
        assert client.messages[0]["station"] is None
        hub.put_on_air("main", "operator", AT)
        await settle()
        assert [message["type"] for message in client.messages[1:]] == ["on_air", "snapshot"]
        assert client.messages[2]["station"] == "main"
        before = len(client.lines)
        hub.put_on_air("side", "rule", AT + 1)
        await settle()
        main.write_all(game)  # no longer on air
        side.write_all(other)
        await settle()
        [told, snapshot, *rest] = client.lines[before:]
        assert b'"type":"on_air","station":"side","by":"rule"' in told
        assert snapshot.startswith(b'{"type":"snapshot","station":"side"')
        count = len(two.first(5))
        assert rest == lines(two, "side")[count:]
        assert client.error is None


async def test_lossless_subscription_begins_live_with_each_station() -> None:
    main, _, game = playing("main", 1)
    side, two, other = playing("side", 2)
    hub = hub_on_air(main, side)
    hub.put_on_air("main", "rule", AT)
    async with Client().subscribed(hub, subscription(stations=["on-air"], delivery="lossless")) as client:
        hub.put_on_air("side", "rule", AT)
        await settle()
        hub.put_on_air("main", "rule", AT)
        await settle()
        main.write_all(game)
        hub.put_on_air("side", "rule", AT)
        await settle()
        assert client.error is None
        before = len(client.lines)
        side.write_all(other)
        await settle()
        count = len(two.first(5))
        assert client.lines[before:] == lines(two, "side")[count:]


async def test_cursor_of_another_station_begins_live() -> None:
    main, one, _ = playing("main", 1)
    side, _, _ = playing("side", 2)
    hub = hub_on_air(main, side)
    hub.put_on_air("side", "rule", AT)
    cursor = one.whole()[3].cursor
    async with Client().subscribed(hub, subscription(stations=["on-air"], cursor=cursor)) as client:
        assert client.error is None
        assert [message.get("station") for message in client.messages] == ["side", "side"]


async def test_removing_the_station_on_air_leaves_the_subscription_open() -> None:
    main, _, _ = playing("main", 1)
    hub = hub_on_air(main)
    hub.put_on_air("main", "operator", AT)
    async with Client().subscribed(hub, subscription(stations=["on-air"])) as client:
        hub.remove(main.channel)
        hub.put_on_air(None, None, AT)
        await settle()
        assert client.error is None
        assert client.of_type("on_air")[-1]["station"] is None


async def test_subscription_of_all_stations_gets_the_station_on_air() -> None:
    main, _, _ = playing("main", 1)
    hub = hub_on_air(main)
    async with (
        Client().subscribed(hub, subscription(stations="*")) as everything,
        Client().subscribed(hub, subscription(stations=["main"])) as one,
    ):
        assert everything.of_type("on_air") == []
        hub.put_on_air("main", "operator", AT)
        await settle()
        assert [message["station"] for message in everything.of_type("on_air")] == ["main"]
        assert one.of_type("on_air") == []
    async with Client().subscribed(hub, subscription(stations="*")) as late:
        assert [message["by"] for message in late.of_type("on_air")] == ["operator"]


async def test_hub_without_a_station_on_air_refuses_the_subscription() -> None:
    with pytest.raises(NoSuchGame):
        Hub().check(["on-air"])


async def test_slow_subscriber_ends_with_the_station_that_is_on_air() -> None:
    main, _, _ = playing("main", 1)
    side, _, _ = playing("side", 2)
    hub = hub_on_air(main, side)
    client = Client(room=0, limit_bytes=400)
    async with client.subscribed(hub, subscription(stations=["on-air"], delivery="lossless")):
        for at, station in enumerate(("main", "side", "main", "side", "main")):
            hub.put_on_air(station, "rule", AT + at)
            await settle()
        client.allow(None)
        await settle()
        assert client.of_type("on_air")[-1]["station"] == "main"


async def test_station_that_is_also_named_continues_without_a_gap() -> None:
    main, log, game = playing("main", 1)
    hub = hub_on_air(main)
    named = subscription(stations=["main", "on-air"], delivery="lossless")
    async with Client().subscribed(hub, named) as client:
        await settle()
        channel = main.channel
        hub.remove(channel)
        await settle()
        main.write_all(game)
        hub.add(channel)
        await settle()
        received = client.log
        assert len(received) > 1, "the messages from while the station was off air"
        assert received == [message.json("main") for message in log.whole()][-len(received) :]
