"""Calls for clients of a relayed station by broadcast, as a console does, so that launchers list it.

Launchers connect to the address that sent the broadcast, on the port of consoles. So one address can announce one
station: the one with that port as its `relay_port`. Like a console, it calls only while nobody is connected.
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
    """The broadcasts for one relayed station. `run` it in one task; after a bug, run it again."""

    def __init__(
        self, station: str, nick: str, source: str, target: tuple[str, int], clients: Callable[[], int | None]
    ) -> None:
        """`source` is the address of the relay, `target` the address and port to broadcast to. `clients` returns the
        number of clients of the relay; `None` while it does not listen."""
        self._source = source
        self._target = target
        self._clients = clients
        self._datagram = discovery.write_call(nick, discovery.own_mac(station))
        self._station = station
        self._problem = ""
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """Why the station is not announced; empty if it is."""
        return [f"announce: station {self._station}: {self._problem}"] if self._problem else []

    async def run(self) -> None:
        """Calls every ten seconds while the relay has no client, until cancelled."""
        while True:
            is_waiting = self._clients() == 0
            if is_waiting:
                await self._call()
            await trio.sleep(CALL_SECONDS if is_waiting else _LOOK_SECONDS)

    async def _call(self) -> None:
        try:
            with trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM) as socket:
                socket.setsockopt(SOL_SOCKET, SO_BROADCAST, 1)
                await socket.bind((self._source, 0))
                await socket.sendto(self._datagram, self._target)
        except OSError as error:
            what = error.strerror or str(error)
            if what != self._problem:
                self._log.error("relayed station cannot be announced", station=self._station, what=what)
            self._problem = what
        else:
            self._problem = ""
