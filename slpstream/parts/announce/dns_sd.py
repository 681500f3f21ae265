"""Announces the daemon by DNS-SD as `_slpstream._tcp`, so that programs find it without its address.

zeroconf answers queries in a separate thread, which its constructor starts and `close` ends. All calls into it block
and run in a worker thread. When the part is cancelled, the announcement is withdrawn before the thread ends.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
_LOOPBACK = "127.0.0.1"


class DnsSd:
    """The announcement of one daemon. `run` it in one task; after a bug, run it again."""

    def __init__(self, name: str, host: str, port: int, facts: Callable[[], Mapping[str, str]]) -> None:
        """`name` is that of the daemon for people; empty for one with the name of the machine. `host` is the address on
        which it listens. `facts` returns the facts about the daemon in the announcement (TXT), at any time."""
        self._name = name or f"slpstream on {socket.gethostname().partition('.')[0]}"
        self._host = host
        self._everywhere = host in _EVERY
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
                self._cannot(str(error))
                await trio.sleep(_RETRY_SECONDS)

    def _cannot(self, what: str) -> None:
        if what != self._problem:
            self._log.error("cannot be announced on the network", what=what)
        self._problem = what

    async def _announce(self) -> None:
        """Announces the daemon, and again whenever the facts change. Returns when the machine has other addresses, as
        after it has joined a network. Raises `OSError`."""
        addresses = await trio.to_thread.run_sync(self._addresses, limiter=self._limiter)
        responder = await trio.to_thread.run_sync(self._open, limiter=self._limiter)
        try:
            facts = dict(self._facts())
            info = self._info(self._name, facts, addresses)
            await trio.to_thread.run_sync(_register, responder, info, limiter=self._limiter)
            if self._everywhere and addresses == [_LOOPBACK]:
                self._cannot("this machine has no address in a network")
            else:
                self._problem = ""
                self._log.info("announced on the network", name=info.name, port=self._port)
            while True:
                await trio.sleep(_LOOK_SECONDS)
                if (
                    self._everywhere
                    and await trio.to_thread.run_sync(self._addresses, limiter=self._limiter) != addresses
                ):
                    return  # a responder keeps to the networks that it has found when it was opened
                now = dict(self._facts())
                if now != facts:
                    facts = now
                    info = self._info(info.name.removesuffix(f".{SERVICE}"), facts, addresses)
                    await trio.to_thread.run_sync(_update, responder, info, limiter=self._limiter)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + _WITHDRAW_SECONDS):
                # Abandoned only by a network that takes longer than that; the process ends then anyway.
                await trio.to_thread.run_sync(responder.close, limiter=self._limiter, abandon_on_cancel=True)

    def _open(self) -> Zeroconf:
        from zeroconf import InterfaceChoice, Zeroconf  # noqa: PLC0415 -- an extra

        return Zeroconf(interfaces=InterfaceChoice.All if self._everywhere else [_address_of(self._host)])

    def _info(self, name: str, facts: Mapping[str, str], addresses: Sequence[str]) -> ServiceInfo:
        from zeroconf import ServiceInfo  # noqa: PLC0415 -- an extra

        label = name.replace(".", " ").encode()[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
        with _zeroconf_errors():
            return ServiceInfo(
                SERVICE,
                f"{label}.{SERVICE}",
                port=self._port,
                properties=dict(facts),
                parsed_addresses=list(addresses),
                server=f"{socket.gethostname().partition('.')[0]}.local.",
            )

    def _addresses(self) -> list[str]:
        """The addresses on which the daemon can be reached. Raises `OSError`."""
        if not self._everywhere:
            return [_address_of(self._host)]
        import ifaddr  # noqa: PLC0415 -- comes with zeroconf

        addresses = [address.ip for adapter in ifaddr.get_adapters() for address in adapter.ips]
        found = [each for each in addresses if isinstance(each, str) and not ip_address(each).is_loopback]
        return found or [_LOOPBACK]


def _register(responder: Zeroconf, info: ServiceInfo) -> None:
    with _zeroconf_errors():
        responder.register_service(info, allow_name_change=True)


def _update(responder: Zeroconf, info: ServiceInfo) -> None:
    with _zeroconf_errors():
        responder.update_service(info)


@contextmanager
def _zeroconf_errors() -> Iterator[None]:
    """Raises `OSError` for the errors of zeroconf, such as one about a name that cannot be announced."""
    from zeroconf import Error  # noqa: PLC0415 -- an extra

    try:
        yield
    except Error as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _address_of(host: str) -> str:
    """The first IPv4 address of a host."""
    return str(socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0])
