"""The station that launchers can connect to."""

from __future__ import annotations

from collections.abc import Iterable

from slpstream.config import Config, StationConfig
from slpstream.parts.consoles import wire
from slpstream.parts.consoles.part import NetworkKeys, Relay


def relayed_console(config: Config, stations: Iterable[StationConfig]) -> tuple[StationConfig | None, str]:
    """Return the station that is relayed on the port of consoles, because launchers connect to no other port.

    You also get the address on which it is relayed.
    """
    relayed = (station for station in stations if station.keys(NetworkKeys).relay_port == wire.PORT)
    return next(relayed, None), config.section(Relay).host
