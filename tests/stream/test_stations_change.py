"""Stations that come and go under a subscription. The determinism rules are in `fakes.py`."""

from __future__ import annotations

import pytest

from slpstream.model.errors import NoSuchGame, TooSlow
from slpstream.stream import Hub
from tests.stream.fakes import Client, FakeLog, FakeStation, hub_of, lines, settle, subscription

pytestmark = pytest.mark.trio


def leave(hub: Hub, station: FakeStation) -> None:
    """As a station ends: it says so, then its channel goes."""
    station.channel.publish_state({"state": "offline", "reason": "removed"})
    hub.remove(station.channel)


@pytest.mark.parametrize("cursor", ["live", "start", "resumed"])
async def test_lossless_to_all_gets_a_new_station_from_its_first_message(cursor: str) -> None:
    main, late = FakeStation("main"), FakeStation("late", settled=False)
    before, one, two = FakeLog(1, batches=5), FakeLog(2, batches=9), FakeLog(3, batches=4)
    main.play(before)
    hub = hub_of(main)
    at = before.whole()[-1].cursor if cursor == "resumed" else cursor
    async with Client().subscribed(hub, subscription(stations="*", delivery="lossless", cursor=at)) as client:
        had = len(client.lines)
        game = late.begin(one, catching_up=True)  # it is written already when its folder is found
        late.write(game, 4)
        hub.add(late.channel)
        await settle()
        assert client.lines[had:] == [], "nothing is said before the folder was looked at"
        late.channel.settled = True
        late.channel.caught_up(game)
        late.write_all(game)
        late.play(two)
        await settle()
        assert client.lines[had:] == lines(one, "late") + lines(two, "late")
        assert client.error is None


async def test_a_conflating_subscriber_is_shown_where_a_new_station_stands() -> None:
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
        had = sum(len(batch["live"]) for batch in log.batches[:5])
        assert client.log == lines(log, "late")[had:]


async def test_a_station_goes_and_the_others_go_on() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    one, two = FakeLog(1, batches=8), FakeLog(2, batches=8)
    hub = hub_of(left, right)
    async with Client().subscribed(hub, subscription(stations="*", delivery="lossless")) as client:
        left_game, right_game = left.begin(one), right.begin(two)
        left.write(left_game, 3)
        right.write(right_game, 3)
        await settle()
        leave(hub, left)
        await settle()
        left.write_all(left_game)
        right.write_all(right_game)
        await settle()
        had = sum(len(batch["live"]) for batch in one.batches[:3])
        assert [line for line in client.lines if b'"station":"left"' in line] == lines(one, "left")[:had]
        assert [line for line in client.lines if b'"station":"right"' in line] == lines(two, "right")
        states = [(m["station"], m["state"], m["reason"]) for m in client.of_type("station")]
        assert states[-1] == ("left", "offline", "removed")
        assert client.error is None
        assert left.channel.subscribers == 0


@pytest.mark.parametrize("stations", [["left"], ["left", "right"]])
async def test_who_named_stations_is_closed_when_the_last_one_of_them_goes(stations: list[str]) -> None:
    left, right, third = FakeStation("left"), FakeStation("right"), FakeStation("third")
    hub = hub_of(left, right, third)
    async with Client().subscribed(hub, subscription(stations=stations)) as client:
        leave(hub, left)
        await settle()
        if "right" in stations:
            assert client.error is None
            leave(hub, right)
            await settle()
        assert isinstance(client.error, NoSuchGame)
        assert client.error.close_code == 4404
        assert third.channel.subscribers == 0


async def test_one_that_goes_before_its_subscriber_has_begun() -> None:
    station = FakeStation("main")
    hub = hub_of(station)
    wanted = hub.wanted(["main"])
    leave(hub, station)
    assert wanted.over
    async with Client().subscribed(hub, subscription(stations="*")) as client:
        assert client.all_lines == []


@pytest.mark.parametrize("delivery", ["lossless", "conflate"])
async def test_another_one_of_the_same_name_takes_its_place(delivery: str) -> None:
    before, after = FakeStation("main"), FakeStation("main")
    hub = hub_of(before)
    log = FakeLog(2, batches=6)
    async with Client().subscribed(hub, subscription(stations=["main"], delivery=delivery)) as client:
        before.play(FakeLog(1, batches=2))
        await settle()
        had = len(client.lines)
        hub.add(after.channel)
        await settle()
        hub.remove(before.channel)  # too late: it is not there any more
        after.play(log)
        await settle()
        assert client.lines[had:] == lines(log, "main")
        assert client.error is None
        assert before.channel.subscribers == 0


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("stations", ["*", ["main", "other"]])
async def test_one_that_comes_back_goes_on_where_it_was(stations: object, behind: bool) -> None:
    log, later = FakeLog(1, batches=20), FakeLog(2, batches=3)
    before, other = FakeStation("main"), FakeStation("other")
    hub = hub_of(before, other)
    wanted = subscription(stations=stations, delivery="lossless")
    async with Client(room=None if not behind else 1500).subscribed(hub, wanted) as client:
        game = before.begin(log)
        before.write(game, 8)
        await settle()
        leave(hub, before)
        await settle()
        client.allow(None)
        after = FakeStation("main", settled=False)  # it reads its folder again: the game is in progress
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


async def test_a_cursor_of_a_station_that_is_not_there_yet() -> None:
    """As after a restart, when its folder is found a moment later."""
    main, late = FakeStation("main"), FakeStation("late")
    log = FakeLog(2, batches=9)
    hub = hub_of(main)
    wanted = subscription(stations="*", delivery="lossless", cursor={"late": log.whole()[4].cursor})
    async with Client().subscribed(hub, wanted) as client:
        late.play(log)
        hub.add(late.channel)
        await settle()
        assert client.lines == lines(log, "late")[5:]


async def test_a_reader_that_is_behind_ends_with_its_station() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    hub = hub_of(left, right)
    one = FakeLog(1, batches=60)
    async with Client(room=3000).subscribed(hub, subscription(stations="*", delivery="lossless")) as client:
        left.play(one)
        await settle()
        leave(hub, left)
        two = FakeLog(2, batches=3)
        right.play(two)
        client.allow(None)
        await settle()
        got = [line for line in client.lines if b'"station":"left"' in line]
        assert got == lines(one, "left")[: len(got)]
        assert [line for line in client.lines if b'"station":"right"' in line] == lines(two, "right")
        assert (client.of_type("station")[-1]["state"], client.error) == ("offline", None)


async def test_a_subscriber_that_has_failed_gets_no_new_station() -> None:
    main, late = FakeStation("main"), FakeStation("late")
    hub = hub_of(main)
    async with Client(room=0, limit_bytes=200).subscribed(hub, subscription(stations="*")) as client:
        main.play(FakeLog(1, batches=20))
        hub.add(late.channel)
        late.play(FakeLog(2))
        await settle()
        assert isinstance(client.error, TooSlow)
        assert late.channel.subscribers == 0
