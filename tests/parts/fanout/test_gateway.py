"""Several gateways in one process. A subscriber of any gateway gets the messages that the daemon would have sent, or an
error if they are no longer in the broker."""

from __future__ import annotations

from functools import partial

import pytest
import trio

from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import START, FramesMode
from slpstream.parts.fanout.gateway.games import BrokerGames
from slpstream.parts.fanout.streams import MODES, EventKeys, StationKeys
from slpstream.store import GameKey, GamesQuery
from slpstream.web.games import FramesQuery, InvalidQuery
from slpstream.web.schemas import GameList
from tests.parts.fanout.gateways import Follower, Gateway, block
from tests.parts.fanout.ingest import Ingest, broker_client, expected, until, until_stored
from tests.parts.fanout.redis_process import RedisProcess
from tests.stream.fakes import FakeLog, FakeStation


@pytest.mark.trio
async def test_trimmed_messages_are_reported_as_gone(broker: RedisProcess) -> None:
    station, logs = FakeStation(ring_bytes=1 << 22), [FakeLog(n, batches=500) for n in range(3)]
    ingest = Ingest(broker.url, "gone", station, max_messages=400)
    async with ingest.running(), broker_client(broker.url) as client:
        last = expected(logs[-1])[-1]
        for log in logs:
            station.play(log)
        stream = StationKeys("gone", "main").stream("live")
        while (await client.xrevrange(stream, count=1) or [None])[0] is None or (
            await client.xrevrange(stream, count=1)
        )[0].field_values[b"json"] != last:
            await trio.sleep(0.02)
        async with Gateway(broker.url, "gone", 1).running("main") as gateway:
            for log in (logs[0], logs[1], logs[2]):
                follower = Follower()
                follower.cursor = str(log.whole()[3].cursor)
                async with follower.at(gateway) as connection:
                    await until(lambda c=connection: c.error is not None)  # type: ignore[misc]
                    assert isinstance(connection.error, CursorGone)
                assert not follower.lines
            follower.cursor = str(logs[2].whole()[-100].cursor)
            async with follower.at(gateway) as connection:
                await until(lambda: len(connection.log) >= 99)
            assert follower.lines == expected(logs[2])[-99:]


@pytest.mark.slow
@pytest.mark.trio
@pytest.mark.parametrize("reconnecting", [False, True])
async def test_long_disconnected_gateway_reports_missing_messages(
    broker: RedisProcess, monkeypatch: pytest.MonkeyPatch, reconnecting: bool
) -> None:
    """Live subscribers of a gateway get an error when messages were trimmed before the gateway read them."""
    station, logs = FakeStation(ring_bytes=1 << 22), [FakeLog(n, batches=500) for n in range(4)]
    ingest = Ingest(broker.url, f"missed-{reconnecting}", station, max_messages=300)
    async with ingest.running(), Gateway(broker.url, f"missed-{reconnecting}").running("main") as gateway:
        follower = Follower()
        async with follower.at(gateway) as connection:
            game = station.begin(logs[0])
            station.write(game, 30)
            await until(lambda: len(connection.log) > 30)
            gate = block(gateway, monkeypatch)
            station.write_all(game)
            for log in logs[1:]:
                station.play(log)
            total = sum(len(log.whole(mode)) for log in logs for mode in MODES)
            await until(lambda: ingest.sent >= total)
            gate.set()
            if reconnecting:
                async with broker_client(broker.url) as client:
                    await client.client_kill(skipme=True)
            await until(lambda: connection.error is not None)
            assert isinstance(connection.error, CursorGone)
        assert follower.lines == expected(logs[0])[: len(follower.lines)]


@pytest.mark.trio
async def test_station_of_a_silent_ingest_is_offline(broker: RedisProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.parts.fanout.gateway.feed.LOOK_SECONDS", 0.05)
    station = FakeStation()
    ingest = Ingest(broker.url, "silent", station)
    async with ingest.running() as nursery:
        station.channel.publish_state({"state": "idle", "reason": "watching"})
        async with Gateway(broker.url, "silent").running("main") as gateway:

            def state() -> str:
                state: str = gateway.feed.stations["main"].describe()["state"]
                return state

            await until(lambda: state() == "idle")
            ingest.stop()
            await until(lambda: state() == "offline")
            assert gateway.feed.stations["main"].describe()["reason"] == "its ingest is silent"
            ingest.start(nursery)
            await until(lambda: state() == "idle")
            station.channel.publish_state({"state": "playing", "reason": "game in progress"})
            await until(lambda: state() == "playing")
            names = [f"side {number}" for number in range(8)]
            for name in names:  # found by their status messages and by polling, possibly at the same time
                ingest.stations[name] = FakeStation(name).channel
                await trio.sleep(0.02)
            await until(lambda: set(names) <= set(gateway.hub.channels))
            assert (len(gateway.hub.channels), gateway.reconnects) == (9, 0)


@pytest.mark.trio
async def test_games_in_the_broker(broker: RedisProcess) -> None:
    station, logs = FakeStation(), [FakeLog(n, batches=150) for n in range(3)]
    running = FakeLog(7, batches=100, ended=False)
    ingest = Ingest(broker.url, "games", station)
    async with ingest.running(), broker_client(broker.url) as client:
        for log in logs:
            station.play(log)
            await trio.sleep(0.02)  # turns are numbered in milliseconds
        station.write_all(station.begin(running))
        whole = [*logs, running]
        await until_stored(client, "games", {("main", m): sum(len(log.whole(m)) for log in whole) for m in MODES})
        async with Gateway(broker.url, "games").running("main") as gateway:
            games = BrokerGames(lambda: gateway.feed.stations)
            first = await games.games(GamesQuery(limit=2))
            assert first.next is not None
            rest = await games.games(GamesQuery(limit=2, cursor=GameKey.parse(first.next)))
            listed = first.games + rest.games
            assert [item.game_id for item in listed] == [log.game_id for log in reversed(whole)]
            assert rest.next is None
            at_two = BrokerGames(lambda: dict.fromkeys(("main", "side"), gateway.feed.stations["main"]))
            both = await at_two.games(GamesQuery())
            assert [item.game_id for item in both.games] == [log.game_id for log in reversed(whole)], "each game once"
            assert [item.in_progress for item in listed] == [True, False, False, False]
            assert [item.reason for item in listed] == [None, "game_end", "game_end", "game_end"]
            assert await games.games(GamesQuery(station="side")) == GameList(games=[])
            assert await games.games(GamesQuery(format="slippi")) == GameList(games=[])
            assert (await games.games(GamesQuery(query="station:main -nobody"))).games == listed
            assert await games.games(GamesQuery(query="-station:main")) == GameList(games=[])
            with pytest.raises(InvalidQuery) as invalid:
                await games.games(GamesQuery(query="ann nokey:1"))
            assert [problem.position for problem in invalid.value.problems] == [4]
            game = await games.game(logs[1].game_id)
            assert game is not None
            assert (game.format, game.station, game.rate, game.files) == ("fake", "main", [60, 1], [])
            found = await games.frames(logs[1].game_id, FramesQuery(10, 40, 20))
            assert found is not None
            frames = [m for m in logs[1].whole("finalized") if m.frame is not None and m.frame >= 10]
            assert [bytes(frame) for frame in found.frames] == [bytes(m.entry()) for m in frames[:20]]
            assert (found.next, found.final) == (frames[20].frame, True)
            stats = await games.stats(running.game_id)
            newest = [m for m in running.whole() if m.type == "stats"][-1]
            assert stats is not None
            assert b'"stats":' + stats.body + b"}" in newest.body
            assert not stats.final
            for lookup in (games.game, games.stats, games.replay):
                assert await lookup("f" * 32) is None


@pytest.mark.trio
async def test_invalid_entries_of_other_programs_are_ignored(broker: RedisProcess) -> None:
    station, log = FakeStation(), FakeLog(1, batches=40)
    ingest = Ingest(broker.url, "others", station)
    keys, event = StationKeys("others", "main"), EventKeys("others")
    async with ingest.running(), broker_client(broker.url) as client:
        async with Gateway(broker.url, "others").running("main") as gateway:
            follower = Follower()
            async with follower.at(gateway) as connection:
                game = station.begin(log)
                station.write(game, 10)
                await until(lambda: len(connection.log) > 5)
                await client.hset(event.stations, {b"other": b"\xff", b"\xff": b"[]"})
                await client.hset(keys.state, {"station": b"{", "set": b"7", "game_start": b"x", "stats": b"y"})
                await client.hset(keys.turns("live"), {"x": "y"})
                for rubbish in ({"json": b"["}, {"json": b'{"station":[]}'}, {"x": b"y"}):
                    await client.xadd(event.status, rubbish)
                newest = (await client.xrevrange(keys.stream("live"), count=1))[0].identifier
                identifier = newest if isinstance(newest, bytes) else newest.encode()
                for number, rubbish in enumerate(({"json": b"["}, {"x": b"y"}), 1):
                    ordinal, _, packed = identifier.partition(b"-")
                    await client.xadd(
                        keys.stream("live"), rubbish, identifier=b"%b-%d" % (ordinal, int(packed) + number)
                    )
                station.write_all(game)
                await until(lambda: len(connection.log) >= len(log.whole()))
            assert follower.lines == expected(log)
            assert gateway.feed.connected
        async with Gateway(broker.url, "others").running("main") as late, follower.at(late) as connection:
            assert connection.error is None


@pytest.mark.trio
async def test_game_that_begins_during_a_lookup_is_the_current_one(broker: RedisProcess) -> None:
    station, logs = FakeStation(), [FakeLog(n, batches=10) for n in (1, 2)]
    ingest = Ingest(broker.url, "begins", station)
    keys, gateway = StationKeys("begins", "main"), Gateway(broker.url, "begins")
    async with ingest.running(), broker_client(broker.url) as client, gateway.running("main"):
        channel = gateway.hub.channels["main"]
        station.write_all(station.begin(logs[0]))
        await until(lambda: channel.current is not None and channel.current.ended)
        # The turn is recorded before its first message.
        newest = (await client.xrevrange(keys.stream("live"), count=1))[0].identifier
        text = newest.decode() if isinstance(newest, bytes) else newest
        ordinal = int(text.partition("-")[0]) + 1
        await client.hset(keys.turns("live"), {str(ordinal): logs[1].game_id})
        with pytest.raises(NoSuchGame):
            await channel.locate("f" * 32)
        station.write(station.begin(logs[1]), 5)
        await until(lambda: any(game.start and game.game_id == logs[1].game_id for game in channel.games))
        assert channel.current is not None
        assert channel.current.game_id == logs[1].game_id


@pytest.mark.trio
@pytest.mark.slow
async def test_unfinished_games_do_not_accumulate(broker: RedisProcess) -> None:
    """A console that is switched off during each game leaves many unfinished games."""
    station, logs = FakeStation(), [FakeLog(n, batches=40, ended=n == 0) for n in range(24)]
    ingest = Ingest(broker.url, "left", station)
    async with ingest.running(), Gateway(broker.url, "left").running("main") as gateway:
        channel = gateway.hub.channels["main"]
        first = station.begin(logs[0])
        station.write(first, 20)
        await until(lambda: channel.current is not None and len(channel.current.logs["live"].since(START) or []) > 10)

        def has(log: FakeLog, mode: FramesMode) -> bool:
            current = channel.current
            whole = log.whole(mode)[-1].position
            return current is not None and current.game_id == log.game_id and current.logs[mode].head == whole

        for log in logs[1:]:
            station.write_all(station.begin(log))
            for mode in MODES:
                await until(partial(has, log, mode))
        *others, last = channel.games
        assert len(others) < 20, "only the broker knows old games"
        assert [game.game_id for game in channel.games if game.in_progress] == [last.game_id]
        assert not any(log.size_bytes for game in others[:-1] for log in game.logs.values())
        found = await channel.locate(logs[0].game_id)
        assert await found.log_reader.messages("live", START)

        again = station.begin(FakeLog(99, batches=5))
        station.write(again)
        # In progress from its `game_start`, which can arrive after the first entry of its finalized log.
        await until(lambda: [game.game_id for game in channel.games if game.in_progress] == [again.game_id])
        assert channel.current is not None
        assert channel.current.game_id == again.game_id
        station.write_all(again)
        await until(lambda: channel.current is not None and channel.current.ended)
