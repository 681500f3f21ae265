"""A bug in one station of a gateway does not affect the subscribers of the other stations."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from slpstream.parts.fanout.gateway.feed import Feed
from slpstream.parts.fanout.gateway.station import GatewayStation
from slpstream.system.backoff import backoff_seconds
from slpstream.system.internal_errors import InternalErrors
from tests.faults.blast_radius import bug_in
from tests.parts.fanout.gateways import Follower, Gateway
from tests.parts.fanout.ingest import Ingest, broker_client, expected, until
from tests.parts.fanout.redis_process import RedisProcess
from tests.stream.fakes import FakeLog, FakeStation

pytestmark = pytest.mark.trio
FIRST_PAUSE_SECONDS = 0.05


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.parts.fanout.gateway.feed.LOOK_SECONDS", 0.02)
    monkeypatch.setattr("slpstream.parts.fanout.gateway.feed.FIRST_PAUSE_SECONDS", FIRST_PAUSE_SECONDS)


def is_bad(*arguments: Any) -> bool:
    return any(getattr(argument, "id", "") == "bad" for argument in arguments)


async def test_failed_station_is_opened_later(broker: RedisProcess) -> None:
    main, bad = FakeStation("main"), FakeStation("bad")
    log, counted = FakeLog(1, batches=60), list[str]()
    ingest = Ingest(broker.url, "opening", bad, main)
    gateway = Gateway(broker.url, "opening", errors=InternalErrors(counted.append, strict=False))
    async with ingest.running():
        with bug_in(GatewayStation, "open", when=is_bad) as raised:
            begun = trio.current_time()
            async with gateway.running("main"):
                follower = Follower()
                async with follower.at(gateway) as connection:
                    game = main.begin(log)
                    while main.write(game, 4):
                        await trio.sleep(0.01)
                    await until(lambda: raised[0] >= 3)
                    await until(lambda: len(connection.log) >= len(log.whole()))
                    assert list(gateway.hub.channels) == ["main"]
                    [reason] = gateway.feed.failed()
                    assert reason.startswith("station bad: internal error ")
                    assert (gateway.feed.connected, gateway.reconnects) == (True, 0)
                    bad.channel.publish_state({"state": "idle", "reason": "watching"})  # makes the gateway check again
                    await trio.sleep(0.05)
                    assert counted == ["station"] * raised[0]
                    pauses = sum(backoff_seconds(failures, FIRST_PAUSE_SECONDS) for failures in range(1, raised[0]))
                    assert pauses <= trio.current_time() - begun, "the pauses grow"
                assert follower.lines == expected(log)
        async with gateway.running("main", "bad"):
            assert gateway.feed.failed() == []


@pytest.mark.parametrize(
    ("owner", "name"),
    [(GatewayStation, "set_alive"), (GatewayStation, "check_trimmed"), (Feed, "_read_state")],
)
async def test_bug_in_the_maintenance_of_a_station(broker: RedisProcess, owner: Any, name: str) -> None:
    main, bad = FakeStation("main"), FakeStation("bad")
    log, counted, event = FakeLog(1, batches=60), list[str](), f"upkeep-{name}"
    ingest = Ingest(broker.url, event, bad, main)
    gateway = Gateway(broker.url, event, errors=InternalErrors(counted.append, strict=False))
    async with ingest.running(), broker_client(broker.url) as client, gateway.running("main", "bad"):
        follower = Follower()
        async with follower.at(gateway) as connection:
            game = main.begin(log)
            main.write(game, 20)
            await until(lambda: gateway.feed.connected)  # a connection lost earlier does not count
            with bug_in(owner, name, when=is_bad, times=2) as raised:
                await client.client_kill(skipme=True)
                await until(lambda: raised[0] > 0)
                main.write_all(game)
                await until(lambda: len(connection.log) >= len(log.whole()))
            assert set(counted) == {"station"}
            await until(lambda: gateway.reconnects == 1)  # the kill can be noticed later than the bug
            await until(lambda: gateway.feed.connected)
        assert follower.lines == expected(log)
