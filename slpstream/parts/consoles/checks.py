"""Checks of `[relay]` and of the keys of `[[stations]]` for the network."""

from __future__ import annotations

from slpstream.config.checks import check_host
from slpstream.config.folders import address
from slpstream.config.sections import Config
from slpstream.model.errors import ConfigError
from slpstream.parts.consoles.part import SOURCES, NetworkKeys, Relay

_PORTS = {"relay_port": "tcp", "raw_relay_port": "tcp", "relay_enet_port": "udp"}
"""The keys of a station's relay ports, with their protocols."""


def check(config: Config, file: str) -> None:
    """Check the keys. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    relay = config.section(Relay)
    check_host(relay.host, file, "relay.host")
    check_host(relay.discovery_host, file, "relay.discovery_host")
    taken: dict[str, dict[int, str]] = {"tcp": {}, "udp": {}}
    if relay.discovery:
        taken["udp"][relay.discovery_port] = "relay.discovery_port"
    for i, station in enumerate(config.stations):
        keys = station.keys(NetworkKeys)
        for name in SOURCES:
            if getattr(keys, name):
                _check_address(getattr(keys, name), file, f"stations[{i}].{name}")
        for name, protocol in _PORTS.items():
            port, others = getattr(keys, name), taken[protocol]
            if port in others:
                raise ConfigError(file, f"stations[{i}].{name}", f"{port} is taken by {others[port]}")
            if port:
                others[port] = f"stations[{i}].{name}"


def _check_address(text: str, file: str, key: str) -> None:
    try:
        address(text, 1)
    except ValueError as error:
        raise ConfigError(file, key, f"expected host or host:port, found {text!r}") from error
