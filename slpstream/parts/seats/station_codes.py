"""The codes that lead phones to the seats of a station."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import trio

from slpstream.config import is_loopback
from slpstream.parts.seats import tokens
from slpstream.parts.seats.code_api import SeatCode, SeatCodes, seat_url
from slpstream.parts.seats.key_file import KeyFile
from slpstream.parts.seats.lan_address import lan_address
from slpstream.system.logs import get_logger


class StationCodes:
    """The codes of all stations. Each has the address of this daemon and the token of its station."""

    def __init__(
        self,
        address: str,
        key_file: KeyFile,
        stations: Callable[[], Mapping[str, str]],
        listening: Callable[[], tuple[str, int]],
    ) -> None:
        """`address` is the configured address; if it is empty, that of this machine is used. `stations` returns the
        names of all stations by id, `listening` the host and port of the daemon. Blocks, to read the `key_file`."""
        self._configured_address = address
        self._file = key_file
        self._keys = key_file.load()
        self._stations = stations
        self._listening = listening
        self._keeping = trio.Lock()
        self._log = get_logger()

    @property
    def trouble(self) -> str | None:
        """Why the codes would not survive a restart; `None` if they would."""
        return self._file.trouble

    def is_token(self, station: str, token: str) -> bool:
        """Whether a token is the one of a station."""
        return token != "" and tokens.is_token(self._keys, station, token)

    def listed(self) -> SeatCodes:
        """The codes of all stations."""
        address, address_from = self.address()
        return SeatCodes(
            address=address,
            address_from=address_from,
            codes=[
                SeatCode(
                    station=station, name=name, url=seat_url(address, station, tokens.token_of(self._keys, station))
                )
                for station, name in self._stations().items()
            ],
        )

    def address(self) -> tuple[str, Literal["configuration", "machine", "loopback"]]:
        """The address in the codes, and its source."""
        if self._configured_address:
            return self._configured_address.rstrip("/"), "configuration"
        host, port = self._listening()
        everywhere = host in ("", "0.0.0.0", "::")
        shown = (lan_address() if everywhere else host) or "127.0.0.1"
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
        return address, "loopback" if is_loopback(shown) else "machine"

    async def renew(self, station: str | None) -> None:
        """Replace the token of a station, or of all stations."""
        async with self._keeping:
            if station is None:
                self._keys = await trio.to_thread.run_sync(self._file.renew)
            else:
                self._keys = tokens.renewed(self._keys, station)
                await trio.to_thread.run_sync(self._file.keep, self._keys)
        self._log.info("codes of seats renewed", station=station or "all")

    async def keep(self) -> None:
        """Write the secret to its file if that has failed before."""
        if self._file.trouble is not None:
            async with self._keeping:
                await trio.to_thread.run_sync(self._file.keep, self._keys)
