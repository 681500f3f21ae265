"""When finished replays are copied in during a game, a gateway stays with the game in progress, like the daemon."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.model.messages import FramesMode
from slpstream.parts.fanout.streams import MODES, StationKeys, parse_turns
from tests.parts.fanout.gateways import Follower, Gateway
from tests.parts.fanout.ingest import Ingest, broker_client, expected, of_game, until, until_stored
from tests.parts.fanout.redis_process import RedisProcess
from tests.stream.fakes import Client, FakeLog, FakeStation, LineEncoding, subscription

pytestmark = pytest.mark.trio


@pytest.fixture(autouse=True)
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.parts.fanout.sink.MIN_TURN_SECONDS", 0.01)


def shown(gateway: Gateway) -> Any:
    """The id of the game shown by `/v1/stations`, and whether it is in progress."""
    game = gateway.feed.stations["main"].describe().get("game", {})
    return game.get("gameId"), game.get("inProgress")


def counts(*logs: FakeLog) -> dict[tuple[str, FramesMode], int]:
    return {("main", mode): sum(len(log.whole(mode)) for log in logs) for mode in MODES}


async def until_read(gateway: Gateway, *logs: FakeLog) -> None:
    """Wait until a gateway has read all messages of some games."""
    await until(lambda: gateway.received >= sum(counts(*logs).values()))


async def test_gateway_stays_with_the_game_in_progress(broker: RedisProcess) -> None:
    station, played = FakeStation(), FakeLog(1, batches=60)
    copies = [FakeLog(number, batches=40) for number in range(2, 8)]
    ingest, gateway = Ingest(broker.url, "aside", station), Gateway(broker.url, "aside")
    async with ingest.running(), broker_client(broker.url) as client, gateway.running("main"):
        overlay = Client(encoding=LineEncoding())
        followers = [Follower(mode) for mode in MODES]
        async with (
            overlay.subscribed(gateway.hub, subscription(stations=["main"])),
            followers[0].at(gateway) as live,
            followers[1].at(gateway) as finalized,
        ):
            game = station.begin(played)
            station.write(game, 20)
            await until(lambda: shown(gateway) == (played.game_id, True))
            for number, copy in enumerate(copies):
                station.write_all(station.begin(copy, secondary=True))
                for mode, connection in zip(MODES, (live, finalized), strict=True):
                    count = len(copy.whole(mode))
                    await until(lambda c=connection, n=count, k=copy: len(of_game(c.log, k)) >= n)  # type: ignore[misc]
                assert shown(gateway) == (played.game_id, True)
                if number % 2:
                    station.write(game, 3)
            await until_stored(client, "aside", counts(*copies))

            async with Gateway(broker.url, "aside").running("main") as late:
                assert shown(late) == (played.game_id, True)
                joining = Client(encoding=LineEncoding())
                async with joining.subscribed(late.hub, subscription(stations=["main"])):
                    [snapshot] = joining.of_type("snapshot")
                    assert snapshot["gameId"] == played.game_id
                    assert {"settings", "frame", "stats", "cursor"} <= set(snapshot)

            station.write_all(game)
            await until_read(gateway, played, *copies)
            await until(lambda: shown(gateway) == (played.game_id, False))
            for copy in copies[:2]:  # and after the game
                again = FakeLog(int(copy.game_id, 16) + 100, batches=5)
                station.write_all(station.begin(again, secondary=True))
                for connection in (live, finalized):
                    await until(lambda c=connection, k=again: b'"metadata"' in b"".join(of_game(c.log, k)[-1:]))  # type: ignore[misc]
            assert shown(gateway) == (played.game_id, False)
        assert overlay.log == expected(played)
        for follower in followers:
            for log in [played, *copies]:
                assert of_game(follower.lines, log) == expected(log, mode=follower.mode)


@pytest.mark.parametrize("late", [False, True])
async def test_gateway_switches_games_like_the_station(broker: RedisProcess, late: bool) -> None:
    """The first game never ended, so the second one is secondary until its file has grown for a while."""
    event = f"turns-to-{late}"
    station, crashed, played = FakeStation(), FakeLog(1, batches=9, ended=False), FakeLog(2, batches=60)
    ingest = Ingest(broker.url, event, station)
    async with ingest.running(), broker_client(broker.url) as client:
        station.write_all(station.begin(crashed))
        await until_stored(client, event, counts(crashed))
        if late:
            game = station.begin(played, secondary=True)
            station.write(game, 20)
            await until(lambda: ingest.sent > sum(counts(crashed).values()) + 20)
        async with Gateway(broker.url, event).running("main") as gateway:
            await until(lambda: shown(gateway) == (crashed.game_id, True))
            overlay = Client(encoding=LineEncoding())
            async with overlay.subscribed(gateway.hub, subscription(stations=["main"])):
                if not late:
                    game = station.begin(played, secondary=True)
                    station.write(game, 20)
                    await until(lambda: any(g.game_id == played.game_id for g in gateway.hub.channels["main"].games))
                assert shown(gateway) == (crashed.game_id, True)
                assert not of_game(overlay.log, played)
                station.channel.turn_to(game)
                station.write(game, 5)
                await until(lambda: shown(gateway) == (played.game_id, True))
                station.write_all(game)
                await until(lambda: shown(gateway) == (played.game_id, False))
                await until(lambda: b'"metadata"' in b"".join(of_game(overlay.log, played)[-1:]))
            types = [message["type"] for message in overlay.messages if message.get("gameId") == played.game_id]
            assert types[0] == "game_start"
            assert types[-2:] == ["game_end", "metadata"]
        async with Gateway(broker.url, event).running("main") as another:
            assert shown(another) == (played.game_id, False)


async def test_rest_of_a_copy_stays_secondary_after_a_restart(broker: RedisProcess) -> None:
    station, played, copy = FakeStation(), FakeLog(1, batches=60), FakeLog(2, batches=60)
    ingest = Ingest(broker.url, "restart", station)
    async with ingest.running() as nursery, broker_client(broker.url) as client:
        async with Gateway(broker.url, "restart").running("main") as gateway:
            station.write_all(station.begin(played))
            await until_stored(client, "restart", counts(played))
            other = station.begin(copy, secondary=True)
            station.write(other, 20)
            half = ingest.sent
            await until(lambda: ingest.sent > half + 20)
            ingest.stop()

            again = FakeStation()
            again.archived(played, copy)
            ingest.stations["main"] = again.channel
            ingest.start(nursery)
            await until_stored(client, "restart", counts(played, copy))
            await until_read(gateway, played, copy)
            assert shown(gateway) == (played.game_id, False)
            follower = Follower()
            follower.cursor = str(copy.whole()[30].cursor)
            async with Gateway(broker.url, "restart").running("main") as late, follower.at(late) as connection:
                rest = expected(copy)[31:]
                await until(lambda: len(of_game(connection.log, copy)) >= len(rest))
                assert shown(late) == (played.game_id, False)
            assert of_game(follower.lines, copy) == rest
        records = await client.hgetall(StationKeys("restart", "main").turns("live"))
        assert [(turn.game_id, turn.aside) for turn in parse_turns(records)] == [
            (played.game_id, False),
            (copy.game_id, True),
            (copy.game_id, True),
        ]
