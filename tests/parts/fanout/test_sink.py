"""The broker gets each message exactly once and in order, despite stopped, disconnected and competing sinks."""

from __future__ import annotations

import random
import time

import msgspec
import pytest
import trio

from slpstream.model.messages import FramesMode
from slpstream.parts.fanout.sink import OutgoingLog
from slpstream.parts.fanout.streams import MODES, EventKeys, StationKeys
from slpstream.stream.game import Game
from tests.parts.fanout.ingest import Ingest, broker_client, expected, of_game, stored, until, until_stored
from tests.parts.fanout.redis_process import RedisProcess, redis
from tests.stream.fakes import FakeLog, FakeStation

SCHEDULES = 6


async def schedule(url: str, seed: int, *, sinks: int) -> None:
    """Play alternating games while sinks are stopped, started and disconnected at random.

    Rings can be so small that nearly all messages are read back from the files.
    """
    rng = random.Random(f"sink {seed} {sinks}")
    event = f"schedule-{seed}-{sinks}"
    station = FakeStation(ring_bytes=rng.choice((1, 5000, 1 << 20)))
    logs = [FakeLog(n, batches=rng.randint(0, 40), seed=seed) for n in range(rng.randint(1, 4))]
    ingests = [Ingest(url, event, station) for _ in range(sinks)]
    async with trio.open_nursery() as nursery, broker_client(url) as client:
        ingests[0].start(nursery)
        await ingests[0].started()
        waiting, games = list(logs), list[Game]()
        while waiting or games:
            for ingest in ingests:
                if not ingest.is_running:
                    ingest.start(nursery)
                elif rng.random() < 0.03:
                    ingest.stop()
            if rng.random() < 0.05:
                await client.client_kill(skipme=True)
            if waiting and (not games or rng.random() < 0.1):
                games.append(station.begin(waiting.pop(0), catching_up=False))
                station.write(games[-1])
            game = rng.choice(games)
            if not station.write(game, rng.choice((1, 2, 8))):
                games.remove(game)
            await trio.sleep(rng.choice((0, 0, 0.002, 0.02)))
        for ingest in ingests:
            if not ingest.is_running:
                ingest.start(nursery)
        for mode in MODES:
            await until_stored(client, event, {("main", mode): sum(len(log.whole(mode)) for log in logs)})
        await trio.sleep(0.1)  # time for messages sent twice by mistake
        for mode in MODES:
            found = await stored(client, event, "main", mode)
            assert all(of_game(found, log) == expected(log, mode=mode) for log in logs)
            assert len(found) == sum(len(log.whole(mode)) for log in logs)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
@pytest.mark.parametrize("seed", range(SCHEDULES))
async def test_messages_arrive_once_and_in_order_despite_interruptions(broker: RedisProcess, seed: int) -> None:
    await schedule(broker.url, seed, sinks=1)


@pytest.mark.slow
@pytest.mark.trio
@pytest.mark.parametrize("seed", range(2))
async def test_competing_sinks_do_not_duplicate_messages(broker: RedisProcess, seed: int) -> None:
    await schedule(broker.url, seed, sinks=2)


@pytest.mark.trio
async def test_empty_broker_gets_everything_again(broker: RedisProcess) -> None:
    station, logs = FakeStation(), [FakeLog(n) for n in range(3)]
    ingest = Ingest(broker.url, "forgotten", station)
    async with ingest.running(), broker_client(broker.url) as client:
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


@pytest.mark.trio
async def test_lost_record_of_a_turn_is_derived_from_its_messages(broker: RedisProcess) -> None:
    """One node of a cluster can lose the hash with the records while the others keep the streams."""
    station, log = FakeStation(), FakeLog(1)
    ingest = Ingest(broker.url, "unrecorded", station)
    async with trio.open_nursery() as nursery, broker_client(broker.url) as client:
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
async def test_returning_broker_gets_everything() -> None:
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
            async with broker_client(server.url) as client:
                for mode in MODES:
                    await until_stored(client, "away", {("main", mode): len(log.whole(mode))})
                    assert await stored(client, "away", "main", mode) == expected(log, mode=mode)
            assert ingest.reconnects == 1
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_logs_are_trimmed_by_number(broker: RedisProcess) -> None:
    station, logs = FakeStation(ring_bytes=1 << 22), [FakeLog(n, batches=400) for n in range(3)]
    ingest = Ingest(broker.url, "trimmed", station, max_messages=400)
    async with ingest.running(), broker_client(broker.url) as client:
        for log in logs:
            station.play(log)
        last: dict[FramesMode, bytes] = {mode: expected(logs[-1], mode=mode)[-1] for mode in MODES}
        for mode in MODES:
            max_messages = 400 if mode == "live" else 200
            found: list[bytes] = []
            while not found or found[-1] != last[mode]:
                await trio.sleep(0.02)
                found = await stored(client, "trimmed", "main", mode)
            whole = [line for log in logs for line in expected(log, mode=mode)]
            assert found == whole[-len(found) :]
            assert max_messages <= len(found) < max_messages + 150  # the broker trims whole nodes of the stream


def test_turns_are_trimmed_by_age() -> None:
    log = OutgoingLog(StationKeys("e", "main"), "live", 1000)
    now_ms = time.time() * 1000
    assert log.min_ordinal(60) == 0
    log.ordinals = [int(now_ms - age * 1000) for age in (300, 200, 90, 20)]
    assert log.min_ordinal(0) == 0
    assert log.min_ordinal(60) == log.ordinals[2]  # this turn lasted until 20 seconds ago
    assert log.min_ordinal(10) == log.ordinals[3]
    assert log.min_ordinal(1000) == 0
    log.sent_at -= 100
    assert log.min_ordinal(60) == log.ordinals[3] + 1


@pytest.mark.trio
async def test_hash_has_the_state_for_late_joiners(broker: RedisProcess) -> None:
    station, log = FakeStation(), FakeLog(4, batches=60)
    ingest = Ingest(broker.url, "state", station)
    station.channel.publish_set({"score": [1, 0]})
    keys = StationKeys("state", "main")
    async with ingest.running(), broker_client(broker.url) as client:
        while await client.xlen(EventKeys("state").status) < 2:  # the station's state and set
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
        statuses = [
            msgspec.json.decode(e.field_values[b"json"]) for e in await client.xrange(EventKeys("state").status)
        ]
        assert [message.get("state") for message in statuses if message["type"] == "station"] == ["offline", "playing"]
        del ingest.stations["main"]
        while await client.hgetall(EventKeys("state").stations):
            await trio.sleep(0.02)
