"""The codes that you scan with a phone to get to the seats of a station."""

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
    """The codes of all stations. Each of them contains the address of this daemon and the token of its station."""

    def __init__(
        self,
        address: str,
        key_file: KeyFile,
        stations: Callable[[], Mapping[str, str]],
        listening: Callable[[], tuple[str, int]],
    ) -> None:
        """If `address` is empty, we use the address of this machine. `stations` returns the names of all stations by
        id.

        `listening` returns the host and port of the daemon. This blocks, because it reads the `key_file`.
        """
        self._configured_address = address
        self._file = key_file
        self._keys = key_file.load()
        self._stations = stations
        self._listening = listening
        self._keeping = trio.Lock()
        self._log = get_logger()

    @property
    def trouble(self) -> str | None:
        """The reason why the codes won't survive a restart, or `None` if they will."""
        return self._file.trouble

    def is_token(self, station: str, token: str) -> bool:
        """Whether a token is the right one for the given station."""
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
        """Return the address that the codes contain, and where it comes from."""
        if self._configured_address:
            return self._configured_address.rstrip("/"), "configuration"
        host, port = self._listening()
        everywhere = host in ("", "0.0.0.0", "::")
        shown = (lan_address() if everywhere else host) or "127.0.0.1"
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}"
        return address, "loopback" if is_loopback(shown) else "machine"

    async def renew(self, station: str | None) -> None:
        """Replace the token of the given station, or of all stations."""
        async with self._keeping:
            if station is None:
                self._keys = await trio.to_thread.run_sync(self._file.renew)
            else:
                self._keys = tokens.renewed(self._keys, station)
                await trio.to_thread.run_sync(self._file.keep, self._keys)
        self._log.info("codes of seats renewed", station=station or "all")

    async def keep(self) -> None:
        """If it wasn't possible to write the secret to its file, try it again."""
        if self._file.trouble is not None:
            async with self._keeping:
                await trio.to_thread.run_sync(self._file.keep, self._keys)
