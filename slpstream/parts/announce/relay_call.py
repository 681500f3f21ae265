"""Announce a relayed station by broadcast in the same way as a console, so that launchers show it in their list.

Launchers connect to the address that has sent the broadcast, and always use the port of consoles. This means that each
address can only announce one station, which is the one that has this port as its `relay_port`. Just like a console, we
only do this while no client is connected.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from slpstream.parts.services import RelayedStations
from slpstream.system.logs import get_logger

CALL_SECONDS = 10.0
_LOOK_SECONDS = 1.0


class RelayCall:
    """The broadcasts for the relayed station, which can change if the configuration is reloaded.

    You should call `run` in exactly one task. If a bug has ended it, call it again.
    """

    def __init__(
        self,
        relayed: Callable[[], tuple[str, str] | None],
        source: str,
        target: tuple[str, int],
        stations: Callable[[], RelayedStations | None],
    ) -> None:
        """`relayed` returns the id and name of the station, or `None` while there isn't one.

        `source` is the address of the relay, and `target` is the address and port to which we broadcast. `stations`
        returns the relayed stations, or `None` while there aren't any.
        """
        self._relayed = relayed
        self._source = source
        self._target = target
        self._stations = stations
        self._problem = "", ""
        """The station that could not be announced, and why, or empty after it was."""
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """Return why the station isn't announced. If it is, the list is empty."""
        (station, what), relayed = self._problem, self._relayed()
        is_current = relayed is not None and relayed[0] == station
        return [f"announce: station {station}: {what}"] if what and is_current else []

    async def run(self) -> None:
        """Send a broadcast every ten seconds, as long as the relay has no client. This runs until it is cancelled."""
        while True:
            relayed, stations = self._relayed(), self._stations()
            if relayed is not None and stations is not None and stations.relay_clients(relayed[0]) == 0:
                await self._call(stations, *relayed)
                await trio.sleep(CALL_SECONDS)
            else:
                await trio.sleep(_LOOK_SECONDS)

    async def _call(self, stations: RelayedStations, station: str, name: str) -> None:
        try:
            await stations.call(station, name, self._source, self._target)
        except OSError as error:
            what = error.strerror or str(error)
            if (station, what) != self._problem:
                self._log.error("relayed station cannot be announced", station=station, what=what)
            self._problem = station, what
        else:
            self._problem = "", ""
