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
from slpstream.daemon.consoles import check_sources
from slpstream.model.errors import ConfigError
from slpstream.parts.services import DolphinSpectators
from slpstream.parts.spectators.stations import SpectatedStations
from tests.daemons.hosts import host_of


@pytest.mark.trio
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["consoles", "spectators"])
async def test_relay_port_is_retried_until_it_is_free(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, kind: int
) -> None:
    autojump_clock.autojump_threshold = 0.05
    host = host_of(Config())
    spectators = SpectatedStations(host)
    key = "relay_port" if kind == socket.SOCK_STREAM else "relay_enet_port"
    async with trio.open_nursery() as nursery:
        with socket.socket(type=kind) as taken, capture_logs() as logs:
            taken.bind(("127.0.0.1", 0))
            if kind == socket.SOCK_STREAM:
                taken.listen()
            port = taken.getsockname()[1]
            config = StationConfig(id="main", folder=str(tmp_path), **{key: port})
            running: Any = SimpleNamespace(
                config=config,
                station=SimpleNamespace(id="main", name="main", files=SimpleNamespace()),
                nursery=nursery,
            )
            host.consoles.start(running, spectators)
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
    host = host_of(Config())
    stations = [StationConfig(id="a", folder="/a"), StationConfig(id="b", dolphin="pc")]
    for spectators in (SpectatedStations(host), None):
        with pytest.raises(ConfigError, match=r"stations\[1\]\.dolphin: needs ENet"):
            check_sources(stations, spectators)
    assert isinstance(host.find(DolphinSpectators), SpectatedStations)


def test_port_that_nothing_serves_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"stations\[0\]\.relay_enet_port: this installation cannot serve it"):
        check_sources([StationConfig(id="a", folder="/a", relay_enet_port=1)], None)
