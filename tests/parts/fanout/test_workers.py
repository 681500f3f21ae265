"""Workers share the messages of a station with a consumer group of Redis, as shown in `fanout.md`."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio

from slpstream.parts.fanout.streams import StationKeys
from tests.parts.fanout.ingest import Ingest, broker_client, expected, until_stored
from tests.parts.fanout.redis_process import RedisProcess
from tests.project import ROOT
from tests.stream.fakes import FakeLog, FakeStation

PAGE = ROOT / "slpstream/parts/fanout/docs.md"


def worker() -> Any:
    """The worker in the example of the page."""
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    session: dict[str, Any] = {"__name__": "page"}
    exec(compile(example, PAGE.name, "exec"), session)
    return session["work"]


@pytest.mark.trio
async def test_workers_share_messages_and_take_over_from_each_other(broker: RedisProcess) -> None:
    work = worker()
    station, log = FakeStation(), FakeLog(1, batches=80)
    ingest = Ingest(broker.url, "workers", station)
    done: dict[str, list[bytes]] = {"one": [], "two": []}
    stuck: list[bytes] = []

    def keep(name: str) -> Any:
        def take(line: bytes) -> None:
            if name == "one" and len(done["one"]) == 20:
                stuck.append(line)
                raise RuntimeError("this worker dies in the middle of its work")
            done[name].append(line)

        return take

    async def one() -> None:
        with pytest.raises((RuntimeError, BaseExceptionGroup)):
            await work(broker.url, "workers", "main", "one", keep("one"), idle_milliseconds=50)

    async with ingest.running() as nursery, broker_client(broker.url) as client:
        nursery.start_soon(one)
        await trio.sleep(0.05)
        station.play(log)
        await until_stored(client, "workers", {("main", "live"): len(log.whole())})
        with trio.fail_after(30):
            while not stuck:
                await trio.sleep(0.01)

            async def two() -> None:
                await work(broker.url, "workers", "main", "two", keep("two"), idle_milliseconds=50)

            nursery.start_soon(two)
            while len(done["one"]) + len(done["two"]) < len(log.whole()):
                await trio.sleep(0.01)
        await trio.sleep(0.1)
        assert sorted(done["one"] + done["two"]) == sorted(expected(log))
        assert stuck[0] in done["two"]
        [group] = await client.xinfo_groups(StationKeys("workers", "main").stream("live"))
        assert {str(key): value for key, value in group.items()}  # monitoring can read its lag
