"""Announces the daemon by DNS-SD as `_slpstream._tcp`, so that programs find it without its address.

zeroconf answers queries in a thread of its own, which its constructor starts and `close` ends. All calls into it block
and run in a worker thread. When the part is cancelled, the announcement is withdrawn before the thread ends.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING

import trio

from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from zeroconf import ServiceInfo, Zeroconf

SERVICE = "_slpstream._tcp.local."
_WITHDRAW_SECONDS = 3.0
_RETRY_SECONDS = 30.0
_LOOK_SECONDS = 5.0
_MAX_NAME_BYTES = 63
_EVERY = ("0.0.0.0", "::")


class DnsSd:
    """The announcement of one daemon. `run` it once."""

    def __init__(self, name: str, host: str, port: int, facts: Callable[[], Mapping[str, str]]) -> None:
        """`name` is that of the daemon for people; empty for one with the name of the machine. `host` is the address on
        which it listens. `facts` returns the facts about the daemon in the announcement (TXT), at any time."""
        self._name = name or f"slpstream on {socket.gethostname().partition('.')[0]}"
        self._host = host
        self._port = port
        self._facts = facts
        self._limiter = trio.CapacityLimiter(1)
        self._problem = ""
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """Why the daemon is not announced; empty if it is."""
        return [f"announce: {self._problem}"] if self._problem else []

    async def run(self) -> None:
        """Announces the daemon until cancelled."""
        while True:
            try:
                await self._announce()
            except OSError as error:
                if str(error) != self._problem:
                    self._log.error("cannot be announced on the network", what=str(error))
                self._problem = str(error)
            await trio.sleep(_RETRY_SECONDS)

    async def _announce(self) -> None:
        """Announces the daemon, and again whenever the facts change. Raises `OSError`."""
        responder = await trio.to_thread.run_sync(self._open, limiter=self._limiter)
        try:
            facts = dict(self._facts())
            info = await trio.to_thread.run_sync(self._register, responder, facts, limiter=self._limiter)
            self._problem = ""
            self._log.info("announced on the network", name=info.name, port=self._port)
            while True:
                await trio.sleep(_LOOK_SECONDS)
                now = dict(self._facts())
                if now != facts:
                    facts = now
                    info = self._info(info.name.removesuffix(f".{SERVICE}"), facts)
                    await trio.to_thread.run_sync(responder.update_service, info, limiter=self._limiter)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _WITHDRAW_SECONDS):
                # Abandoned only by a network that takes longer than that; the process ends then anyway.
                await trio.to_thread.run_sync(responder.close, limiter=self._limiter, abandon_on_cancel=True)

    def _open(self) -> Zeroconf:
        from zeroconf import InterfaceChoice, Zeroconf  # noqa: PLC0415 -- an extra

        return Zeroconf(interfaces=InterfaceChoice.All if self._host in _EVERY else [_address_of(self._host)])

    def _register(self, responder: Zeroconf, facts: Mapping[str, str]) -> ServiceInfo:
        from zeroconf import Error  # noqa: PLC0415 -- an extra

        info = self._info(self._name, facts)
        try:
            responder.register_service(info, allow_name_change=True)
        except Error as error:
            raise OSError(f"no name is free: {error}") from error
        return info

    def _info(self, name: str, facts: Mapping[str, str]) -> ServiceInfo:
        from zeroconf import ServiceInfo  # noqa: PLC0415 -- an extra

        label = name.replace(".", " ").encode()[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
        return ServiceInfo(
            SERVICE,
            f"{label}.{SERVICE}",
            port=self._port,
            properties=dict(facts),
            parsed_addresses=self._addresses(),
            server=f"{socket.gethostname().partition('.')[0]}.local.",
        )

    def _addresses(self) -> list[str]:
        """The addresses on which the daemon can be reached."""
        if self._host not in _EVERY:
            return [_address_of(self._host)]
        import ifaddr  # noqa: PLC0415 -- comes with zeroconf

        addresses = [address.ip for adapter in ifaddr.get_adapters() for address in adapter.ips]
        found = [each for each in addresses if isinstance(each, str) and not ip_address(each).is_loopback]
        return found or ["127.0.0.1"]


def _address_of(host: str) -> str:
    """The first IPv4 address of a host."""
    return str(socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0])
