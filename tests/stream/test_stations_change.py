"""Stations that appear and disappear during a subscription. `fakes.py` explains why these tests are deterministic."""

from __future__ import annotations

import pytest

from slpstream.model.errors import NoSuchGame, TooSlow
from slpstream.stream.channel import Hub
from tests.stream.fakes import Client, FakeLog, FakeStation, hub_of, lines, settle, subscription

pytestmark = [pytest.mark.trio, pytest.mark.usefixtures("each_way")]


def remove(hub: Hub, station: FakeStation) -> None:
    """Remove a station the way the daemon does: publish its last state, then remove its channel."""
    station.channel.publish_state({"state": "offline", "reason": "removed"})
    hub.remove(station.channel)


@pytest.mark.parametrize("cursor", ["live", "start", "resumed"])
async def test_lossless_subscriber_gets_a_new_station_from_its_first_message(cursor: str) -> None:
    main, late = FakeStation("main"), FakeStation("late", settled=False)
    before, one, two = FakeLog(1, batches=5), FakeLog(2, batches=9), FakeLog(3, batches=4)
    main.play(before)
    hub = hub_of(main)
    begin = before.whole()[-1].cursor if cursor == "resumed" else cursor
    async with Client().subscribed(hub, subscription(stations="*", delivery="lossless", cursor=begin)) as client:
        count = len(client.lines)
        game = late.begin(one, catching_up=True)  # already being written when its folder is found
        late.write(game, 4)
        hub.add(late.channel)
        await settle()
        assert client.lines[count:] == [], "nothing is sent before the folder was searched"
        late.channel.settled = True
        late.channel.caught_up(game)
        late.write_all(game)
        late.play(two)
        await settle()
        assert client.lines[count:] == lines(one, "late") + lines(two, "late")
        assert client.error is None


async def test_conflating_subscriber_gets_a_snapshot_of_a_new_station() -> None:
    main, late = FakeStation("main"), FakeStation("late")
    log = FakeLog(2, batches=9)
    hub = hub_of(main)
    async with Client().subscribed(hub, subscription(stations="*")) as client:
        game = late.begin(log)
        late.write(game, 5)
        hub.add(late.channel)
        await settle()
        assert [message["type"] for message in client.messages] == ["snapshot"]
        late.write_all(game)
        await settle()
        count = len(log.first(5))
        assert client.log == lines(log, "late")[count:]


async def test_removed_station_leaves_the_others_running() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    one, two = FakeLog(1, batches=8), FakeLog(2, batches=8)
    hub = hub_of(left, right)
    async with Client().subscribed(hub, subscription(stations="*", delivery="lossless")) as client:
        left_game, right_game = left.begin(one), right.begin(two)
        left.write(left_game, 3)
        right.write(right_game, 3)
        await settle()
        remove(hub, left)
        await settle()
        left.write_all(left_game)
        right.write_all(right_game)
        await settle()
        count = len(one.first(3))
        assert [line for line in client.lines if b'"station":"left"' in line] == lines(one, "left")[:count]
        assert [line for line in client.lines if b'"station":"right"' in line] == lines(two, "right")
        states = [(m["station"], m["state"], m["reason"]) for m in client.of_type("station")]
        assert states[-1] == ("left", "offline", "removed")
        assert client.error is None
        assert left.channel.subscribers == 0


@pytest.mark.parametrize("stations", [["left"], ["left", "right"]])
async def test_removal_of_the_last_named_station_closes_the_subscription(stations: list[str]) -> None:
    left, right, third = FakeStation("left"), FakeStation("right"), FakeStation("third")
    hub = hub_of(left, right, third)
    async with Client().subscribed(hub, subscription(stations=stations)) as client:
        remove(hub, left)
        await settle()
        if "right" in stations:
            assert client.error is None
            remove(hub, right)
            await settle()
        assert isinstance(client.error, NoSuchGame)
        assert client.error.close_code == 4404
        assert third.channel.subscribers == 0


async def test_station_removed_before_its_subscriber_has_begun() -> None:
    station = FakeStation("main")
    hub = hub_of(station)
    client = Client()
    async with client.subscribed(hub, subscription(stations=["main"]), settled=False):
        remove(hub, station)
        await settle()
    assert isinstance(client.error, NoSuchGame)
    async with Client().subscribed(hub, subscription(stations="*")) as client:
        assert client.all_lines == []


@pytest.mark.parametrize("delivery", ["lossless", "conflate"])
async def test_new_station_of_the_same_name_replaces_the_old(delivery: str) -> None:
    before, after = FakeStation("main"), FakeStation("main")
    hub = hub_of(before)
    log = FakeLog(2, batches=6)
    async with Client().subscribed(hub, subscription(stations=["main"], delivery=delivery)) as client:
        before.play(FakeLog(1, batches=2))
        await settle()
        count = len(client.lines)
        hub.add(after.channel)
        await settle()
        hub.remove(before.channel)  # no effect: it has been replaced
        after.play(log)
        await settle()
        assert client.lines[count:] == lines(log, "main")
        assert client.error is None
        assert before.channel.subscribers == 0


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("stations", ["*", ["main", "other"]])
async def test_returning_station_continues_without_a_gap(stations: object, slow: bool) -> None:
    log, later = FakeLog(1, batches=20), FakeLog(2, batches=3)
    before, other = FakeStation("main"), FakeStation("other")
    hub = hub_of(before, other)
    request = subscription(stations=stations, delivery="lossless")
    async with Client(room=1500 if slow else None).subscribed(hub, request) as client:
        game = before.begin(log)
        before.write(game, 8)
        await settle()
        remove(hub, before)
        await settle()
        client.allow(None)
        after = FakeStation("main", settled=False)  # reads its folder again and finds the game in progress
        again = after.begin(log, catching_up=True)
        after.write(again, 12)
        hub.add(after.channel)
        await settle()
        after.channel.settled = True
        after.channel.caught_up(again)
        after.write_all(again)
        after.play(later)
        await settle()
        assert client.lines == lines(log, "main") + lines(later, "main")
        assert client.error is None


async def test_cursor_applies_to_a_station_that_appears_later() -> None:
    """For instance after a restart, when the station's folder is found a moment later."""
    main, late = FakeStation("main"), FakeStation("late")
    log = FakeLog(2, batches=9)
    hub = hub_of(main)
    request = subscription(stations="*", delivery="lossless", cursor={"late": log.whole()[4].cursor})
    async with Client().subscribed(hub, request) as client:
        late.play(log)
        hub.add(late.channel)
        await settle()
        assert client.lines == lines(log, "late")[5:]


async def test_slow_subscriber_stops_reading_a_removed_station() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    hub = hub_of(left, right)
    one = FakeLog(1, batches=60)
    async with Client(room=3000).subscribed(hub, subscription(stations="*", delivery="lossless")) as client:
        left.play(one)
        await settle()
        remove(hub, left)
        two = FakeLog(2, batches=3)
        right.play(two)
        client.allow(None)
        await settle()
        received = [line for line in client.lines if b'"station":"left"' in line]
        assert received == lines(one, "left")[: len(received)]
        assert [line for line in client.lines if b'"station":"right"' in line] == lines(two, "right")
        assert (client.of_type("station")[-1]["state"], client.error) == ("offline", None)


async def test_failed_subscriber_gets_no_new_station() -> None:
    main, late = FakeStation("main"), FakeStation("late")
    hub = hub_of(main)
    async with Client(room=0, limit_bytes=200).subscribed(hub, subscription(stations="*")) as client:
        main.play(FakeLog(1, batches=20))
        hub.add(late.channel)
        late.play(FakeLog(2))
        await settle()
        assert isinstance(client.error, TooSlow)
        assert late.channel.subscribers == 0
