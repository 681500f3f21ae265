"""Being found on the local network: the daemon by DNS-SD, and a relayed station by the broadcasts of a console.

Each part is a module that is imported only if it is configured.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from slpstream.config import CONSOLE_PORT, Config, StationConfig
from slpstream.model.errors import ConfigError


class Announcement(Protocol):
    """One way of being found."""

    async def run(self) -> None:
        """Announces until cancelled."""

    def not_ready(self) -> list[str]:
        """Why nothing is announced; empty if all is well."""


def check_announce(config: Config) -> None:
    """Raises `ConfigError` when the library for DNS-SD is not installed."""
    if config.announce.dns_sd and importlib.util.find_spec("zeroconf") is None:
        raise ConfigError(
            "configuration", "announce.dns_sd", "needs zeroconf: install the extra, `slpstream[announce]`"
        )


def announcements(
    config: Config,
    stations: Callable[[], Sequence[StationConfig]],
    port: int,
    facts: Callable[[], Mapping[str, str]],
    relay_clients: Callable[[str], int | None],
) -> list[Announcement]:
    """The announcements that are configured. `stations` returns the current ones, `port` is that of the web server;
    `facts` and `relay_clients` are those of `DnsSd` and of `RelayCall`."""
    announce = config.announce
    found: list[Announcement] = []
    if announce.dns_sd:
        from slpstream.daemon.announce.dns_sd import DnsSd  # noqa: PLC0415 -- few daemons are announced

        found.append(DnsSd(announce.name, config.server.host, port, facts))
    if announce.relayed_station:
        from slpstream.daemon.announce.relay_call import RelayCall  # noqa: PLC0415 -- as above

        target = announce.broadcast_host, announce.broadcast_port
        found.append(RelayCall(lambda: _relayed(stations()), config.relay.host, target, relay_clients))
    return found


def _relayed(stations: Sequence[StationConfig]) -> tuple[str, str] | None:
    """The id and the name of the station that launchers can connect to."""
    relayed = next((station for station in stations if station.relay_port == CONSOLE_PORT), None)
    return None if relayed is None else (relayed.id, relayed.name or relayed.id)
