"""Announce a relayed station by broadcast in the same way as a console, so that launchers show it in their list.

Launchers connect to the address that has sent the broadcast, and always use the port of consoles. This means that each
address can only announce one station, which is the one that has this port as its `relay_port`. Just like a console, we
only do this while no client is connected.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import SO_BROADCAST, SOL_SOCKET

import trio

from slpstream.sources.console import discovery
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
        clients: Callable[[str], int | None],
    ) -> None:
        """`relayed` returns the id and name of the station, or `None` while there isn't one.

        `source` is the address of the relay, and `target` is the address and port to which we broadcast. `clients`
        returns how many clients are connected to the relay of a station, or `None` while it isn't listening.
        """
        self._relayed = relayed
        self._source = source
        self._target = target
        self._clients = clients
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
            relayed = self._relayed()
            is_waiting = relayed is not None and self._clients(relayed[0]) == 0
            if relayed is not None and is_waiting:
                await self._call(*relayed)
            await trio.sleep(CALL_SECONDS if is_waiting else _LOOK_SECONDS)

    async def _call(self, station: str, name: str) -> None:
        try:
            with trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM) as socket:
                socket.setsockopt(SOL_SOCKET, SO_BROADCAST, 1)
                await socket.bind((self._source, 0))
                await socket.sendto(discovery.write_call(name, discovery.own_mac(station)), self._target)
        except OSError as error:
            what = error.strerror or str(error)
            if (station, what) != self._problem:
                self._log.error("relayed station cannot be announced", station=station, what=what)
            self._problem = station, what
        else:
            self._problem = "", ""
