"""The announcements that were configured for a daemon.

We only import the module of an announcement if it was configured.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import trio

from slpstream.config import is_loopback
from slpstream.model.errors import ConfigError
from slpstream.model.version import __version__
from slpstream.parts.announce.part import Announce
from slpstream.parts.announce.relayed import relayed_console
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import RelayedStations

if TYPE_CHECKING:
    from slpstream.parts.announce.dns_sd import DnsSd
    from slpstream.parts.announce.relay_call import RelayCall


class Announcements(RunningPart):
    """All announcements that are configured."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if the library that we need for DNS-SD isn't installed."""
        self._host = host
        self._announcements: list[DnsSd | RelayCall] = []
        if host.config.section(Announce).dns_sd and importlib.util.find_spec("zeroconf") is None:
            raise ConfigError(
                "configuration", "announce.dns_sd", "needs zeroconf: install the extra, `slpstream[announce]`"
            )

    def open(self) -> None:
        """Create the announcements. We do this here because now we know the port of the web server."""
        host, announce = self._host, self._host.config.section(Announce)
        if announce.dns_sd:
            from slpstream.parts.announce.dns_sd import DnsSd  # noqa: PLC0415 -- few daemons are announced

            self._announcements.append(DnsSd(announce.name, host.config.server.host, host.port, self._facts))
        if announce.relayed_station:
            from slpstream.parts.announce.relay_call import RelayCall  # noqa: PLC0415 -- as above

            target = announce.broadcast_host, announce.broadcast_port
            _, address = relayed_console(host.config, ())
            call = RelayCall(self._relayed, address, target, lambda: host.find(RelayedStations))
            self._announcements.append(call)

    async def run(self) -> None:
        """Announce until cancelled."""
        async with trio.open_nursery() as nursery:
            for each in self._announcements:
                nursery.start_soon(partial(self._host.errors.keep_running, "announce", each.run))

    def not_ready(self) -> list[str]:
        """Return the reasons why something isn't announced."""
        return [reason for each in self._announcements for reason in each.not_ready()]

    def _facts(self) -> Mapping[str, str]:
        """Return the facts about this daemon that are part of its announcement (TXT)."""
        access, stations = self._host.access(), self._host.stations
        needs_token = access.token is not None and (
            access.require_token or not is_loopback(self._host.config.server.host)
        )
        return {
            "version": __version__,
            "path": "/",
            "stations": str(len(stations.lasting_stations)),
            "token": "required" if needs_token else "none",
        }

    def _relayed(self) -> tuple[str, str] | None:
        """Return the id and name of the station to which launchers can connect."""
        relayed, _ = relayed_console(self._host.config, [each.config for each in self._host.stations.values()])
        return None if relayed is None else (relayed.id, relayed.name or relayed.id)
