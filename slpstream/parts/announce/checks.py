"""Checks of `[announce]`."""

from __future__ import annotations

from slpstream.config.checks import is_printable
from slpstream.config.folders import is_loopback
from slpstream.config.sections import CONSOLE_PORT, Config
from slpstream.model.errors import ConfigError
from slpstream.parts.announce.part import Announce


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    announce, relay = config.section(Announce), config.relay
    if not is_printable(announce.name):
        raise ConfigError(file, "announce.name", f"expected printable characters, found {announce.name!r}")
    if not announce.relayed_station:
        return
    if not any(station.relay_port == CONSOLE_PORT for station in config.stations):
        what = f"needs a station with relay_port = {CONSOLE_PORT}: launchers connect to no other port"
        raise ConfigError(file, "announce.relayed_station", what)
    if is_loopback(relay.host) and not is_loopback(announce.broadcast_host):
        what = f"needs an address in relay.host that other machines can reach, found {relay.host!r}"
        raise ConfigError(file, "announce.relayed_station", what)
