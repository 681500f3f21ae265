"""Keeps a rehearsal inside this process: no connection leaves the machine, and no file outside of a folder changes.

All TCP connections of trio are made to one stand-in on loopback instead, and names are never looked up. As a safety net
for everything that doesn't use trio, an audit hook of Python refuses connections and datagrams to other machines, and
changes of other files.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import trio

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
_SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_PUBLIC = [name for name in dir(trio.socket.SocketType) if not name.startswith("_") and name != "connect"]


class Destination(NamedTuple):
    """The address that a connection was meant for."""

    host: str
    port: int


class Redirection(trio.abc.SocketFactory, trio.abc.HostnameResolver):
    """Redirects all TCP connections to one port of this machine, and remembers where they should have led."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._destinations: dict[int, Destination] = {}
        self._addresses: dict[str, str] = {}

    def destination(self, stream: trio.SocketStream) -> Destination:
        """Return where a connection that the stand-in has accepted should have led."""
        return self._destinations.get(stream.socket.getpeername()[1], Destination("unknown", 0))

    def socket(
        self, family: int = socket.AF_INET, type: int = socket.SOCK_STREAM, proto: int = 0
    ) -> trio.socket.SocketType:
        """Make a socket. Those for streams are redirected once they are connected."""
        if type & 0xF != socket.SOCK_STREAM:
            return trio.socket.from_stdlib_socket(socket.socket(family, type, proto))
        return _Redirected(self, trio.socket.from_stdlib_socket(socket.socket(socket.AF_INET, type)))

    async def connect(self, connecting: trio.socket.SocketType, address: tuple[Any, ...]) -> None:
        """Connect a socket to the stand-in instead of an address."""
        await connecting.bind(("127.0.0.1", 0))
        names = {made_up: name for name, made_up in self._addresses.items()}
        destination = Destination(names.get(address[0], address[0]), address[1])
        self._destinations[connecting.getsockname()[1]] = destination
        await connecting.connect(("127.0.0.1", self._port))

    async def getaddrinfo(
        self,
        host: bytes | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """Return an address that stands for a name. It is made up, so we don't ask any name server."""
        name = (host or b"").decode("ascii", "replace")
        made_up = self._addresses.setdefault(name, str(ipaddress.IPv4Address("127.64.0.1") + len(self._addresses)))
        return [(socket.AF_INET, type or socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (made_up, int(port or 0)))]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        """Return an address as it is."""
        return str(sockaddr[0]), str(sockaddr[1])


class _Redirected(trio.socket.SocketType):
    """A socket that connects to the stand-in. Everything else is passed on to the real socket."""

    def __init__(self, redirection: Redirection, real: trio.socket.SocketType) -> None:
        self._redirection = redirection
        self.real = real

    async def connect(self, address: Any) -> None:
        await self._redirection.connect(self.real, address)


def _passed_on(name: str) -> property:
    return property(lambda self: getattr(self.real, name))


for _name in _PUBLIC:
    setattr(_Redirected, _name, _passed_on(_name))


@contextmanager
def contained(folder: Path) -> Iterator[None]:
    """Refuse connections to other machines, and changes of files outside of a folder, until the block ends."""
    inside = str(folder.resolve())
    is_active = True

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if not is_active:
            return
        if event in _SENDING and not _is_here(arguments[1]):
            raise PermissionError(errno.EACCES, "a rehearsal sends nothing")
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            _check_inside(arguments[0], inside)
        elif event in _CHANGING:
            for path in arguments[:2]:
                _check_inside(path, inside)

    sys.addaudithook(refuse)
    try:
        yield
    finally:
        is_active = False


def _is_here(address: Any) -> bool:
    """Whether an address is one of this machine, or a path. Names aren't, because they would be looked up."""
    if not isinstance(address, tuple):
        return True
    try:
        return ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _check_inside(path: Any, inside: str) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return  # a descriptor
    full = os.path.realpath(os.fsdecode(path))
    if not full.startswith((inside + os.sep, "/dev/")) and full != inside:
        raise PermissionError(errno.EACCES, "a rehearsal changes no files", full)
