"""A broker with little memory, which refuses messages or deletes logs: every message arrives once, or the
subscriber receives an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import trio

from slpstream.model.errors import CursorGone
from slpstream.outputs.redis.streams import MODES, StationKeys
from tests.redis.ingest import Ingest, broker_client, expected, stored, until
from tests.redis.redis_process import redis
from tests.redis.test_gateway import Follower, Gateway
from tests.stream.fakes import FakeLog, FakeStation

_PAUSE_SECONDS = 0.02
_MAX_BEHIND = 300


async def play(station: FakeStation, logs: list[FakeLog], played: trio.Event, received: Callable[[], float]) -> None:
    """Write games one after the other, a little faster than real games, and set the event after the last one.

    Waits while the subscriber is far behind: on a busy machine, the broker would delete what it has not received yet.
    """
    written = 0
    for log in logs:
        game, more = station.begin(log), True
        while more:
            begin = station.files[log.game_id].written
            more = station.write(game, 20)
            written += sum(len(batch["live"]) for batch in log.batches[begin : begin + 20])
            await trio.sleep(_PAUSE_SECONDS)
            while written - received() > _MAX_BEHIND:
                await trio.sleep(_PAUSE_SECONDS)
    played.set()


async def deliver(
    policy: str, megabytes: int, logs: list[FakeLog], event: str, *, waiting: bool
) -> tuple[Ingest, list[Any]]:
    """Play games while a subscriber follows. It must get every message once and in order, as far as the broker has it.

    `waiting` is whether the games wait for a subscriber that is far behind. Returns the ingest, and what the
    subscriber's connections ended with.
    """
    station = FakeStation(ring_bytes=1 << 26)
    ended: list[Any] = []
    played = trio.Event()
    whole = [line for log in logs for line in expected(log)]
    with redis("--maxmemory", f"{megabytes}mb", "--maxmemory-policy", policy) as server:
        ingest = Ingest(server.url, event, station, max_messages=1_000_000)
        async with trio.open_nursery() as nursery, broker_client(server.url) as client:
            ingest.start(nursery)
            await ingest.started()
            async with Gateway(server.url, event).running("main") as gateway:
                follower = Follower()
                async with follower.at(gateway) as connection:

                    def received() -> float:
                        return len(connection.log) if waiting and connection.error is None else math.inf

                    nursery.start_soon(play, station, logs, played, received)
                    with trio.fail_after(900):
                        while len(connection.log) < len(whole) and connection.error is None:
                            await trio.sleep(0.02)
                    ended.append(connection.error)
                # A connection that has lost its cursor ends before the games do.
                with trio.fail_after(240):
                    await played.wait()
                with trio.fail_after(60):
                    while any(lag for lag, _ in ingest.sink.lag().values()):
                        await trio.sleep(0.05)
                found = await stored(client, event, "main")
                assert found == whole[len(whole) - len(found) :], "what the broker has is the newest part, without gaps"
                problems = ingest.sink.problems()
                assert any(policy in problem or "too small" in problem for problem in problems), problems
            nursery.cancel_scope.cancel()
    assert follower.lines == whole[: len(follower.lines)], "each once, in order"
    assert len(follower.lines) == len(whole) or isinstance(ended[0], CursorGone)
    print(f"{policy}: {len(follower.lines)} of {len(whole)} messages, kept {ingest.sink.max_kept}, ended {ended[0]!r}")
    return ingest, ended


@pytest.mark.slow
@pytest.mark.trio
@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru", "allkeys-lru", "allkeys-lfu", "allkeys-random"])
async def test_small_broker_delivers_everything_once(policy: str) -> None:
    logs = [FakeLog(n, batches=1500) for n in range(4)]
    ingest, ended = await deliver(policy, 3, logs, f"small-{policy}", waiting=True)
    assert ended == [None], "a gateway that is connected misses nothing"
    assert ingest.sink.max_kept is not None


@pytest.mark.slow
@pytest.mark.trio
@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
async def test_tens_of_thousands_of_messages(policy: str) -> None:
    logs = [FakeLog(n, batches=3000) for n in range(4)]
    await deliver(policy, 8, logs, f"many-{policy}", waiting=False)


@pytest.mark.trio
async def test_full_broker_resumes_when_it_has_room_again() -> None:
    """Another program takes all the memory. Once it is free again, everything that is missing is sent."""
    station, logs = FakeStation(ring_bytes=1 << 20), [FakeLog(n, batches=60) for n in range(3)]
    with redis("--maxmemory", "4mb", "--maxmemory-policy", "noeviction") as server:
        ingest = Ingest(server.url, "full", station)
        async with trio.open_nursery() as nursery, broker_client(server.url) as client:
            ingest.start(nursery)
            await ingest.started()
            station.play(logs[0])
            await until(lambda: ingest.sent >= sum(len(logs[0].whole(mode)) for mode in MODES))
            await client.config_set({"maxmemory": "1000000"})
            station.play(logs[1])
            await until(lambda: "no memory" in (ingest.sink.problem or ""))
            await client.config_set({"maxmemory": "0"})
            station.play(logs[2])
            for mode in MODES:
                whole = [line for log in logs for line in expected(log, mode=mode)]
                with trio.fail_after(30):
                    while (found := await stored(client, "full", "main", mode)) != whole:
                        assert found == whole[: len(found)], "nothing is missing, and nothing comes twice"
                        await trio.sleep(0.05)
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_deleted_log_is_sent_again_without_new_messages() -> None:
    """A broker that may delete logs is asked for them even while no game is played."""
    station, log = FakeStation(ring_bytes=1 << 20), FakeLog(1)
    with redis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru") as server:
        ingest = Ingest(server.url, "deleted", station)
        async with trio.open_nursery() as nursery, broker_client(server.url) as client:
            ingest.start(nursery)
            await ingest.started()
            station.play(log)
            await until(lambda: ingest.sent >= sum(len(log.whole(mode)) for mode in MODES))
            keys = StationKeys("deleted", "main")
            for key in (keys.stream("live"), keys.turns("finalized"), keys.state):
                assert await client.delete([key]) == 1
                with trio.fail_after(20):
                    while not await client.exists([key]):
                        await trio.sleep(0.05)
            for mode in MODES:
                with trio.fail_after(20):
                    while (await stored(client, "deleted", "main", mode))[-len(log.whole(mode)) :] != expected(
                        log, mode=mode
                    ):
                        await trio.sleep(0.05)
            assert "maxmemory-policy allkeys-lru" in ingest.sink.problems()[-1]
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_policy_may_be_unknown() -> None:
    """A user without the right to ask for it still sends."""
    rights = ("on", ">secret", "~slpstream:*", "+@connection", "+@read", "+@write", "+@scripting", "+time")
    with redis("--user", "venue", *rights) as server:
        station, log = FakeStation(), FakeLog(1)
        ingest = Ingest(server.url.replace("//", "//venue:secret@"), "unknown", station)
        async with trio.open_nursery() as nursery:
            ingest.start(nursery)
            await ingest.started()
            station.play(log)
            await until(lambda: ingest.sent >= sum(len(log.whole(mode)) for mode in MODES))
            assert ingest.sink.policy is None
            assert ingest.sink.problems() == []
            nursery.cancel_scope.cancel()
