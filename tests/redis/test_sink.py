"""The broker has each message exactly once and in order, however often the sink is stopped, cut off, or not alone."""

from __future__ import annotations

import random
import time

import msgspec
import pytest
import trio

from slpstream.model.messages import FramesMode
from slpstream.outputs.redis.sink import Log
from slpstream.outputs.redis.streams import MODES, EventKeys, StationKeys, parse_turns
from slpstream.stream import Game
from tests.redis.ends import Ingest, asking, expected, of_game, stored, until, until_stored
from tests.redis.redis_process import RedisProcess, redis
from tests.stream.fakes import FakeLog, FakeStation

SCHEDULES = 6


async def schedule(url: str, seed: int, *, sinks: int) -> None:
    """Games that alternate, rings so small that nearly everything is read back, sinks that come and go and are cut
    off."""
    chance = random.Random(f"sink {seed} {sinks}")
    event = f"schedule-{seed}-{sinks}"
    station = FakeStation(ring_bytes=chance.choice((1, 5000, 1 << 20)))
    logs = [FakeLog(n, batches=chance.randint(0, 40), seed=seed) for n in range(chance.randint(1, 4))]
    ingests = [Ingest(url, event, station) for _ in range(sinks)]
    async with trio.open_nursery() as nursery, asking(url) as client:
        ingests[0].start(nursery)
        await ingests[0].begun()
        waiting, games = list(logs), list[Game]()
        while waiting or games:
            for ingest in ingests:
                if not ingest.running:
                    ingest.start(nursery)
                elif chance.random() < 0.03:
                    ingest.stop()
            if chance.random() < 0.05:
                await client.client_kill(skipme=True)
            if waiting and (not games or chance.random() < 0.1):
                games.append(station.begin(waiting.pop(0), catching_up=False))
                station.write(games[-1])
            game = chance.choice(games)
            if not station.write(game, chance.choice((1, 2, 8))):
                games.remove(game)
            await trio.sleep(chance.choice((0, 0, 0.002, 0.02)))
        for ingest in ingests:
            if not ingest.running:
                ingest.start(nursery)
        for mode in MODES:
            await until_stored(client, event, {("main", mode): sum(len(log.whole(mode)) for log in logs)})
        await trio.sleep(0.1)  # what would be doubled is doubled now
        for mode in MODES:
            found = await stored(client, event, "main", mode)
            assert all(of_game(found, log) == expected(log, mode=mode) for log in logs)
            assert len(found) == sum(len(log.whole(mode)) for log in logs)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
@pytest.mark.parametrize("seed", range(SCHEDULES))
async def test_each_message_once_in_order_whatever_happens(broker: RedisProcess, seed: int) -> None:
    await schedule(broker.url, seed, sinks=1)


@pytest.mark.trio
@pytest.mark.parametrize("seed", range(2))
async def test_two_sinks_of_the_same_station_do_not_double_anything(broker: RedisProcess, seed: int) -> None:
    await schedule(broker.url, seed, sinks=2)


@pytest.mark.trio
async def test_a_broker_that_has_forgotten_is_told_again(broker: RedisProcess) -> None:
    station, logs = FakeStation(), [FakeLog(n) for n in range(3)]
    ingest = Ingest(broker.url, "forgotten", station)
    async with trio.open_nursery() as nursery, asking(broker.url) as client:
        ingest.start(nursery)
        await ingest.begun()
        station.play(logs[0])
        game = station.begin(logs[1])
        station.write(game, 9)
        await until_stored(client, "forgotten", {("main", "live"): len(logs[0].whole()) + 3})
        keys = await client.keys("slpstream:forgotten*")
        await client.delete(keys)
        await client.client_kill(skipme=True)
        station.write_all(game)
        station.play(logs[2])
        for mode in MODES:
            await until_stored(client, "forgotten", {("main", mode): sum(len(log.whole(mode)) for log in logs)})
            found = await stored(client, "forgotten", "main", mode)
            assert found == [line for log in logs for line in expected(log, mode=mode)]
        assert ingest.reconnects >= 1
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_a_turn_that_was_not_written_down_is_known_by_its_messages(broker: RedisProcess) -> None:
    """What a cluster can lose alone."""
    station, log = FakeStation(), FakeLog(1)
    ingest = Ingest(broker.url, "unrecorded", station)
    async with trio.open_nursery() as nursery, asking(broker.url) as client:
        ingest.start(nursery)
        game = station.begin(log)
        station.write(game, 9)
        written = len(game.logs["live"].since(log.whole()[0].position) or ()) + 1
        await until_stored(client, "unrecorded", {("main", "live"): written})
        ingest.stop()
        for mode in MODES:
            assert await client.delete([StationKeys("unrecorded", "main").turns(mode)]) == 1
        ingest.start(nursery)
        station.write_all(game)
        for mode in MODES:
            await until_stored(client, "unrecorded", {("main", mode): len(log.whole(mode))})
            assert await stored(client, "unrecorded", "main", mode) == expected(log, mode=mode)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_a_broker_that_is_away_costs_nothing_but_time() -> None:
    station, log = FakeStation(ring_bytes=1), FakeLog(1, batches=100)
    with redis("--appendonly", "yes", "--appendfsync", "everysec") as server:
        ingest = Ingest(server.url, "away", station)
        async with trio.open_nursery() as nursery:
            ingest.start(nursery)
            await until(lambda: ingest.sink.connected)
            game = station.begin(log)
            station.write(game, 20)
            await until(lambda: ingest.sink.lag()["main"][1] == 0 and ingest.sent > 0)
            server.kill()
            station.write(game, 20)
            await until(lambda: not ingest.sink.connected)
            assert "broker redis://127.0.0.1" in (ingest.sink.problem or "")
            await until(lambda: ingest.sink.lag()["main"][0] > 0.1)
            assert ingest.sink.lag()["main"][1] > 0
            station.write_all(game)
            server.start()
            await until(lambda: ingest.sink.connected and ingest.sink.lag()["main"] == (0.0, 0))
            async with asking(server.url) as client:
                for mode in MODES:
                    await until_stored(client, "away", {("main", mode): len(log.whole(mode))})
                    assert await stored(client, "away", "main", mode) == expected(log, mode=mode)
            assert ingest.reconnects == 1
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_old_messages_are_trimmed_by_number(broker: RedisProcess) -> None:
    station, logs = FakeStation(ring_bytes=1 << 22), [FakeLog(n, batches=400) for n in range(3)]
    ingest = Ingest(broker.url, "trimmed", station, max_messages=400)
    async with trio.open_nursery() as nursery, asking(broker.url) as client:
        ingest.start(nursery)
        await ingest.begun()
        for log in logs:
            station.play(log)
        last: dict[FramesMode, bytes] = {mode: expected(logs[-1], mode=mode)[-1] for mode in MODES}
        for mode in MODES:
            most = 400 if mode == "live" else 200
            found: list[bytes] = []
            while not found or found[-1] != last[mode]:
                await trio.sleep(0.02)
                found = await stored(client, "trimmed", "main", mode)
            whole = [line for log in logs for line in expected(log, mode=mode)]
            assert found == whole[-len(found) :]
            assert most <= len(found) < most + 150  # by whole nodes of the broker's
        nursery.cancel_scope.cancel()


def test_old_turns_are_trimmed_by_age() -> None:
    log = Log(StationKeys("e", "main"), "live", 1000)
    now_ms = time.time() * 1000
    assert log.oldest_wanted(60) == 0
    log.ordinals = [int(now_ms - age * 1000) for age in (300, 200, 90, 20)]
    assert log.oldest_wanted(0) == 0
    assert log.oldest_wanted(60) == log.ordinals[2]  # it went on until 20 seconds ago
    assert log.oldest_wanted(10) == log.ordinals[3]
    assert log.oldest_wanted(1000) == 0
    log.sent_at -= 100
    assert log.oldest_wanted(60) == log.ordinals[3] + 1


@pytest.mark.trio
async def test_what_late_joiners_need_is_in_a_hash(broker: RedisProcess) -> None:
    station, log = FakeStation(), FakeLog(4, batches=60)
    ingest = Ingest(broker.url, "state", station)
    station.channel.publish_set({"score": [1, 0]})
    keys = StationKeys("state", "main")
    async with trio.open_nursery() as nursery, asking(broker.url) as client:
        ingest.start(nursery)
        await ingest.begun()
        while await client.xlen(EventKeys("state").status) < 2:  # its state and its set
            await trio.sleep(0.01)
        station.play(log)
        station.channel.publish_state({"state": "playing", "reason": "game in progress", "gameId": log.game_id})
        with trio.fail_after(30):
            while True:
                state = await client.hgetall(keys.state)
                if b"playing" in state.get(b"station", b"") and b"stats" in state:
                    break
                await trio.sleep(0.02)
        stats = [message for message in log.whole() if message.type == "stats"]
        await until_stored(client, "state", {("main", "live"): len(log.whole())})
        state = await client.hgetall(keys.state)
        assert state[b"game_start"] == expected(log)[0]
        assert state[b"stats"] == stats[-1].json("main")
        assert msgspec.json.decode(state[b"set"]) == {"type": "set", "station": "main", "score": [1, 0]}
        assert msgspec.json.decode(state[b"station"])["gameId"] == log.game_id
        assert set(await client.hgetall(EventKeys("state").stations)) == {b"main"}
        told = [msgspec.json.decode(e.field_values[b"json"]) for e in await client.xrange(EventKeys("state").status)]
        assert [message.get("state") for message in told if message["type"] == "station"] == ["offline", "playing"]
        del ingest.stations["main"]
        while await client.hgetall(EventKeys("state").stations):
            await trio.sleep(0.02)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_each_game_has_one_turn_unless_games_alternate(broker: RedisProcess) -> None:
    station, logs = FakeStation(), [FakeLog(n) for n in range(3)]
    ingest = Ingest(broker.url, "turns", station)
    async with trio.open_nursery() as nursery, asking(broker.url) as client:
        ingest.start(nursery)
        await ingest.begun()
        for log in logs:
            station.play(log)
            await trio.sleep(0.05)
        await until_stored(client, "turns", {("main", "live"): sum(len(log.whole()) for log in logs)})
        turns = parse_turns(await client.hgetall(StationKeys("turns", "main").turns("live")))
        assert [turn.game_id for turn in turns] == [log.game_id for log in logs]
        assert {turn.behind for turn in turns} == {(-1, 0)}
        assert ingest.reconnects == 0
        nursery.cancel_scope.cancel()
