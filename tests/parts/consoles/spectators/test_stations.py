"""The ports and the library that stations need."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from slpstream.config import Config, StationConfig
from slpstream.model.errors import ConfigError
from slpstream.parts.consoles.part import NetworkKeys
from slpstream.parts.consoles.stations import Consoles
from tests.daemons.hosts import host_of


@pytest.mark.trio
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["consoles", "spectators"])
async def test_relay_port_is_retried_until_it_is_free(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, kind: int
) -> None:
    autojump_clock.autojump_threshold = 0.05
    consoles = Consoles(host_of(Config()))
    key = "relay_port" if kind == socket.SOCK_STREAM else "relay_enet_port"
    async with trio.open_nursery() as nursery:
        with socket.socket(type=kind) as taken, capture_logs() as logs:
            taken.bind(("127.0.0.1", 0))
            if kind == socket.SOCK_STREAM:
                taken.listen()
            port = taken.getsockname()[1]
            config = StationConfig(id="main", folder=str(tmp_path), parts=(NetworkKeys(**{key: port}),))
            running: Any = SimpleNamespace(
                config=config,
                station=SimpleNamespace(id="main", name="main", files=SimpleNamespace()),
                nursery=nursery,
            )
            consoles.station_starts(running)
            await trio.sleep(12)
            taken.close()
            await trio.sleep(12)
        nursery.cancel_scope.cancel()
    assert [(line["event"], line["log_level"], line["port"]) for line in logs] == [
        ("cannot listen on relay port", "error", port),
        ("relay listening", "info", port),
    ]


def test_missing_enet_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    stations = [StationConfig(id="a", folder="/a"), StationConfig(id="b", parts=(NetworkKeys(dolphin="pc"),))]
    with pytest.raises(ConfigError, match=r"stations\[1\]\.dolphin: needs ENet"):
        Consoles(host_of(Config(stations=stations)))
