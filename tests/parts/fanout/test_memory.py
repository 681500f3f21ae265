"""A broker with little memory, which refuses messages or deletes logs: every message arrives once."""

from __future__ import annotations

import pytest
import trio

from slpstream.parts.fanout.streams import MODES, StationKeys
from tests.marks import slow
from tests.parts.fanout.gateways import Follower, Gateway
from tests.parts.fanout.ingest import Ingest, broker_client, expected, stored, until
from tests.parts.fanout.redis_process import redis
from tests.stream.fakes import FakeLog, FakeStation

PAUSE_SECONDS = 0.02
MAX_BEHIND = 300
"""In messages. On a busy machine, the broker would delete messages before slower subscribers receive them."""


@pytest.mark.trio
@pytest.mark.parametrize(
    "policy",
    [
        *slow("noeviction", "allkeys-lru"),
        *(pytest.param(name, marks=pytest.mark.release) for name in ("volatile-lru", "allkeys-lfu", "allkeys-random")),
    ],
)
async def test_small_broker_delivers_everything_once(policy: str) -> None:
    """A connected subscriber gets every message, while the broker keeps only the newest ones."""
    station, logs = FakeStation(ring_bytes=1 << 26), [FakeLog(n, batches=1500) for n in range(4)]
    whole = [line for log in logs for line in expected(log)]
    event, follower = f"small-{policy}", Follower()
    with redis("--maxmemory", "3mb", "--maxmemory-policy", policy) as server:
        ingest = Ingest(server.url, event, station, max_messages=1_000_000)
        async with (
            ingest.running(),
            broker_client(server.url) as client,
            Gateway(server.url, event).running("main") as at,
        ):
            async with follower.at(at) as connection:
                written = 0
                for log in logs:
                    game, more = station.begin(log), True
                    while more:
                        begin = station.files[log.game_id].written
                        more = station.write(game, 20)
                        written += sum(len(batch["live"]) for batch in log.batches[begin : begin + 20])
                        await trio.sleep(PAUSE_SECONDS)
                        await until(lambda w=written: w - len(connection.log) <= MAX_BEHIND)  # type: ignore[misc]
                await until(lambda: len(connection.log) >= len(whole))
                assert connection.error is None
            await until(lambda: not any(lag for lag, _ in ingest.sink.lag().values()))
            found = await stored(client, event, "main")
            assert found == whole[len(whole) - len(found) :], "the broker has the newest part, without gaps"
            assert len(found) < len(whole)
            assert ingest.sink.max_kept is not None
            problems = ingest.sink.problems()
            assert any(policy in problem or "too small" in problem for problem in problems), problems
    assert follower.lines == whole


@pytest.mark.slow
@pytest.mark.trio
async def test_full_broker_resumes_when_it_has_room_again() -> None:
    """Another program uses up the memory. Once it is free again, all missing messages are sent."""
    station, logs = FakeStation(ring_bytes=1 << 20), [FakeLog(n, batches=60) for n in range(3)]
    with redis("--maxmemory", "4mb", "--maxmemory-policy", "noeviction") as server:
        ingest = Ingest(server.url, "full", station)
        async with ingest.running(), broker_client(server.url) as client:
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
                        assert found == whole[: len(found)], "no message is missing or repeated"
                        await trio.sleep(0.05)


@pytest.mark.slow
@pytest.mark.trio
async def test_deleted_log_is_sent_again_without_new_messages() -> None:
    """If the broker's policy allows deleting logs, they are checked even between games."""
    station, log = FakeStation(ring_bytes=1 << 20), FakeLog(1)
    with redis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru") as server:
        ingest = Ingest(server.url, "deleted", station)
        async with ingest.running(), broker_client(server.url) as client:
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


@pytest.mark.slow
@pytest.mark.trio
async def test_unknown_policy() -> None:
    """A user without the right to read the policy can still send."""
    rights = ("on", ">secret", "~slpstream:*", "+@connection", "+@read", "+@write", "+@scripting", "+time")
    with redis("--user", "venue", *rights) as server:
        station, log = FakeStation(), FakeLog(1)
        ingest = Ingest(server.url.replace("//", "//venue:secret@"), "unknown", station)
        async with ingest.running():
            station.play(log)
            await until(lambda: ingest.sent >= sum(len(log.whole(mode)) for mode in MODES))
            assert ingest.sink.policy is None
            assert ingest.sink.problems() == []
