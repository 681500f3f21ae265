"""A whole daemon: a console on TCP is recorded, streamed and served again.

Determinism: free ports of 127.0.0.1, a separate state folder, and `fail_after` as the only timeout.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
import trio
import trio.testing

from slpstream.api import messages
from slpstream.config import Config, StationConfig, check
from slpstream.model.errors import ConfigError
from slpstream.model.messages import START
from slpstream.parts import registry
from slpstream.parts.consoles.discovery import write_call
from slpstream.parts.consoles.part import NetworkKeys, Relay
from slpstream.parts.consoles.session import ConsoleSession
from tests.daemons.station import until
from tests.formats.slippi.built import Built
from tests.parts.consoles.daemons import daemon_of
from tests.parts.consoles.relays import receive
from tests.parts.consoles.wii import Wii, raw_of
from tests.ports import free_port
from tests.project import has_part

ONE = Built().frames(-123, 60).end().closed()
TIMEOUT_SECONDS = 60.0


@asynccontextmanager
async def wii_on_tcp(wii: Wii) -> AsyncIterator[int]:
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, wii.serve, listeners)
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_console_is_recorded_streamed_and_served(tmp_path: Path) -> None:
    raw = raw_of(ONE)
    wii = Wii(2, nick="Setup 7")
    wii.break_probability = 0.1
    relay_port = free_port()
    with trio.fail_after(TIMEOUT_SECONDS):
        async with wii_on_tcp(wii) as port:
            config = StationConfig(id="wii", parts=(NetworkKeys(console=f"127.0.0.1:{port}", relay_port=relay_port),))
            async with daemon_of(tmp_path, config) as daemon:
                channel = daemon.host.hub.channels["wii"]
                wii.begin_game()
                wii.write(raw[:20_000])
                await until(lambda: channel.current is not None)
                session = ConsoleSession()
                async with await trio.open_tcp_stream("127.0.0.1", relay_port) as stream:
                    await stream.send_all(session.connect())
                    wii.write(raw[20_000:])
                    wii.end_game()
                    data, _ = await receive(stream, session, len(raw))
                assert data == raw
                game = channel.current
                assert game is not None
                await until(lambda: [m.type for m in game.logs["live"].since(START) or []][-1:] == ["metadata"])
                all_written = 'slpstream_unwritten_bytes{station="wii"} 0.0'
                await until(lambda: all_written in daemon.served.render_metrics().decode())
                [path] = (tmp_path / "recordings" / "wii").glob("*.slp")
                assert raw_of(path.read_bytes()) == raw
                log = game.logs["live"].since(START) or []
                assert [m.json() for m in log] == [m.json() for m in messages(path)]
                [described] = daemon.served.stations()
                assert described["state"] == "idle"
                assert 'slpstream_relay_clients{station="wii"}' in daemon.served.render_metrics().decode()
                if has_part("audit"):
                    [setup] = await audited_setups(daemon.host.port)
                    assert setup["games"] == 1
                    assert "clock" not in {value["name"] for value in setup["values"]}, "the daemon's own times"


async def audited_setups(port: int) -> list[dict[str, Any]]:
    """The setups in the audit, as soon as there are any."""
    while True:
        response = await trio.to_thread.run_sync(urlopen, f"http://127.0.0.1:{port}/v1/audit")
        setups: list[dict[str, Any]] = json.loads(response.read())["setups"]
        if setups:
            return setups


@pytest.mark.trio
async def test_discovered_console_that_does_not_answer(tmp_path: Path) -> None:
    """It becomes one offline station, even if another name is broadcast from the same address."""
    port = free_port()
    relay = Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=port)
    there = StationConfig(id="Setup-7", folder=str(tmp_path / "there"))
    (tmp_path / "there").mkdir()
    with trio.fail_after(TIMEOUT_SECONDS):
        async with daemon_of(tmp_path, there, relay=relay) as daemon:
            with trio.socket.socket(type=trio.socket.SOCK_DGRAM) as sender:
                while len(daemon.served.stations()) < 2:
                    await sender.sendto(write_call("Setup 7", "01:02:03:04:05:06"), ("127.0.0.1", port))
                    await trio.sleep(0.02)
                for _ in range(5):
                    await sender.sendto(write_call("Other", "01:02:03:04:05:07"), ("127.0.0.1", port))
                    await trio.sleep(0.02)
            await until(lambda: "cannot be reached" in daemon.served.stations()[1]["reason"])
            _, station = daemon.served.stations()
            assert (station["id"], station["name"], station["state"]) == ("Setup-7-2", "Setup 7", "offline")
            assert station["discovered"]
            assert daemon.served.not_ready() == [f"station Setup-7-2: {station['reason']}"]
            assert not await daemon.served.remove_discovered("Setup-7"), "it is configured"
            assert await daemon.served.remove_discovered("Setup-7-2")
            assert [each["id"] for each in daemon.served.stations()] == ["Setup-7"]


@pytest.mark.trio
async def test_discovered_console_that_is_configured_later_has_one_station(tmp_path: Path) -> None:
    """A console accepts only one client."""
    mine = StationConfig(id="mine", parts=(NetworkKeys(console=f"localhost:{free_port()}"),))

    def read_again(config: Config) -> tuple[Config, list[StationConfig]]:
        return msgspec.structs.replace(config, stations=[mine]), [mine]

    with trio.fail_after(TIMEOUT_SECONDS):
        async with daemon_of(tmp_path, read_again=read_again) as daemon:
            for host in ("127.0.0.1", "127.0.0.2"):
                found = StationConfig(id=f"found-{host[-1]}", parts=(NetworkKeys(console=host),))
                assert await daemon.host.stations.add(found)
            await daemon.reload()
            assert set(daemon.host.stations) == {"found-2", "mine"}


@pytest.mark.parametrize("key", ["console", "relay_port"])
def test_installation_without_the_part_refuses_consoles(key: str) -> None:
    sections = [section for part in registry.parts() if part.name != "consoles" for section in part.sections]
    with pytest.raises(ConfigError, match=rf"stations\[0\]\.{key}: unknown key"):
        check({"stations": [{"id": "wii", key: "10.0.0.1" if key == "console" else 1}]}, sections)
