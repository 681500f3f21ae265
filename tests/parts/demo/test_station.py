"""The demo of a daemon that is starting, that refuses demos, and after a bug."""

from __future__ import annotations

from typing import Any, NoReturn, cast

import pytest
import trio
from trio.testing import MockClock

from slpstream.config import Config, StationConfig
from slpstream.daemon.stations import RunningStations
from slpstream.parts.demo import station as demo_module
from slpstream.parts.demo.station import Demo, DemoRefused
from slpstream.parts.fanout.part import Fanout
from slpstream.system.internal_errors import InternalErrors
from tests.daemons.hosts import host_of, parts_of
from tests.virtual_time import inline


class Running(dict[str, Any]):
    """Stations without behaviour, known by their names."""

    stations = ()

    async def add(self, config: StationConfig, origin: str) -> bool:
        await trio.lowlevel.checkpoint()
        return True

    async def remove(self, station: str, reason: str, *, origin: str) -> None:
        await trio.lowlevel.checkpoint()


def fail(*_: object, **__: object) -> NoReturn:
    raise KeyError("a bug")


@pytest.mark.trio
async def test_demo_can_be_started_again_after_a_bug(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trio.to_thread, "run_sync", inline)
    monkeypatch.setattr(demo_module, "bundled_match", fail)
    host = host_of(Config())
    host.stations = cast(RunningStations, Running())
    demo = Demo(host)
    errors = InternalErrors(strict=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(errors.keep_running, "station", demo.run)
        await trio.testing.wait_all_tasks_blocked()
        await demo.start()
        await trio.sleep(0.5)
        with pytest.raises(DemoRefused):
            await demo.start()
        await trio.sleep(1)
        monkeypatch.setattr(demo_module, "bundled_match", lambda *_, **__: b"")
        monkeypatch.setattr(demo_module, "write_replay", lambda *_, **__: trio.sleep(60))
        await demo.start()
        await trio.sleep(1)
        assert demo.station == "demo"
        await demo.stop()
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_demo_needs_a_running_daemon() -> None:
    demo = Demo(host_of(Config()))
    with pytest.raises(DemoRefused, match="still starting"):
        await demo.start()
    await demo.stop()


@pytest.mark.trio
async def test_broker_objects_to_demos() -> None:
    pytest.importorskip("coredis")
    parts = parts_of(Config(parts={"fanout": [Fanout(url="redis://127.0.0.1:1")]}))
    demo = cast(Demo, parts.by_name["demo"])
    with pytest.raises(DemoRefused, match="sent to a broker"):
        await demo.start()
