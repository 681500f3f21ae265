"""Checks of `[announce]`."""

from __future__ import annotations

from slpstream.config.checks import is_printable
from slpstream.config.folders import is_loopback
from slpstream.config.sections import Config
from slpstream.model.errors import ConfigError
from slpstream.parts.announce.part import Announce
from slpstream.parts.announce.relayed import relayed_console


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    announce = config.section(Announce)
    if not is_printable(announce.name):
        raise ConfigError(file, "announce.name", f"expected printable characters, found {announce.name!r}")
    if not announce.relayed_station:
        return
    station, host = relayed_console(config, config.stations)
    if station is None:
        what = "needs a station with relay_port = 51441: launchers connect to no other port"
        raise ConfigError(file, "announce.relayed_station", what)
    if is_loopback(host) and not is_loopback(announce.broadcast_host):
        what = f"needs an address in relay.host that other machines can reach, found {host!r}"
        raise ConfigError(file, "announce.relayed_station", what)
