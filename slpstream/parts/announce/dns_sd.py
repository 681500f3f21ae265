"""Announce the daemon by DNS-SD as `_slpstream._tcp`, so that other programs can find it even if they don't know its
address.

zeroconf answers queries in a thread of its own, which is started by its constructor and ended by `close`. All calls
into it block, so we make them in a worker thread. If the part is cancelled, we withdraw the announcement before the
thread ends.
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
    """The announcement of one daemon.

    You should call `run` in exactly one task. If a bug has ended it, call it again.
    """

    def __init__(self, name: str, host: str, port: int, facts: Callable[[], Mapping[str, str]]) -> None:
        """`name` is how people know the daemon. If it is empty, we use the name of the machine.

        `host` is the address on which the daemon listens. `facts` can be called at any time, and returns the facts
        about the daemon that should be in the announcement (TXT).
        """
        self._name = name or f"slpstream on {socket.gethostname().partition('.')[0]}"
        self._host = host
        self._everywhere = host in _EVERY
        self._port = port
        self._facts = facts
        self._limiter = trio.CapacityLimiter(1)
        self._problem = ""
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """Return why the daemon isn't announced. If it is, the list is empty."""
        return [f"announce: {self._problem}"] if self._problem else []

    async def run(self) -> None:
        """Announce the daemon until cancelled."""
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
        """Announce the daemon, and do it again whenever the facts change.

        If the machine gets other addresses, for example because it has joined a network, this returns. Raises `OSError`
        if it isn't possible to announce anything.
        """
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
        """Return the addresses under which you can reach the daemon. Raises `OSError` if we can't find them out."""
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
    """A context manager that turns errors of zeroconf into `OSError`.

    For example, there's one for names that can't be announced.
    """
    from zeroconf import Error  # noqa: PLC0415 -- an extra

    try:
        yield
    except Error as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


def _address_of(host: str) -> str:
    """Return the first IPv4 address that a host has."""
    return str(socket.getaddrinfo(host, None, socket.AF_INET)[0][4][0])
