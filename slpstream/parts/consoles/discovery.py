"""The discovery of consoles on the local network.

A console without a client broadcasts a UDP datagram every ten seconds. It consists of `SLIP_READY`, the MAC address in
six bytes, and the nickname in 32 bytes, zero-terminated. We can announce a relayed station in the same way.
"""

from __future__ import annotations

import hashlib
import uuid
from socket import SO_BROADCAST, SO_REUSEADDR, SOL_SOCKET  # trio's namespace lacks SO_REUSEADDR on Windows

import trio
from msgspec import Struct

PORT = 20582
_MAGIC = b"SLIP_READY"
_MAC_BYTES = 6
_NICK_BYTES = 32
_MAX_DATAGRAM_BYTES = 2048
_ERROR_SECONDS = 0.1


class Call(Struct, frozen=True):
    """The broadcast of a console that is waiting for a client. `host` is the address that has sent it."""

    nick: str
    mac: str
    host: str


def read_call(datagram: bytes, host: str) -> Call | None:
    """Parse a datagram. Returns `None` if it isn't the broadcast of a console."""
    if not datagram.startswith(_MAGIC) or len(datagram) < len(_MAGIC) + _MAC_BYTES:
        return None
    mac = datagram[len(_MAGIC) : len(_MAGIC) + _MAC_BYTES]
    nick = datagram[len(_MAGIC) + _MAC_BYTES :][:_NICK_BYTES].split(b"\0", 1)[0]
    return Call(nick.decode("utf-8", "replace").strip(), mac.hex(":"), host)


def own_mac(station: str) -> str:
    """Return the MAC address under which this machine announces a station.

    It stays the same after a restart, and doesn't belong to any device.
    """
    digest = hashlib.sha256(f"{uuid.getnode():x} {station}".encode()).digest()
    return bytes([0x02, *digest[: _MAC_BYTES - 1]]).hex(":")


def write_call(nick: str, mac: str) -> bytes:
    """Encode the broadcast of a console. If the nickname is too long, it is cut."""
    name = nick.encode()[: _NICK_BYTES - 1].decode("utf-8", "ignore").encode()
    return _MAGIC + bytes.fromhex(mac.replace(":", "")) + name.ljust(_NICK_BYTES, b"\0")


async def call(station: str, name: str, source: str, target: tuple[str, int]) -> None:
    """Broadcast the call of a console for a station of this machine. Raises `OSError` if this fails.

    `source` is the address to send it from, and `target` is the address and the port to broadcast to.
    """
    with trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM) as socket:
        socket.setsockopt(SOL_SOCKET, SO_BROADCAST, 1)
        await socket.bind((source, 0))
        await socket.sendto(write_call(name, own_mac(station)), target)


async def hear(host: str, port: int) -> trio.socket.SocketType:
    """Open a socket that receives broadcasts and shares its port with other programs.

    An empty `host` stands for every address. Raises `OSError` if the socket can't be opened.
    """
    socket = trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM)
    try:
        socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        socket.setsockopt(SOL_SOCKET, SO_BROADCAST, 1)
        await socket.bind((host, port))
    except OSError:
        socket.close()
        raise
    return socket


async def next_call(socket: trio.socket.SocketType) -> Call:
    """Receive the next broadcast. As long as a console is waiting, it repeats its broadcast."""
    while True:
        try:
            datagram, address = await socket.recvfrom(_MAX_DATAGRAM_BYTES)
        except OSError:
            # An ICMP error caused by an earlier datagram, or on Windows a datagram that is too long. The socket still
            # works. Without a pause, a persistent error would use the whole processor.
            await trio.sleep(_ERROR_SECONDS)
            continue
        found = read_call(datagram, str(address[0]))
        if found is not None:
            return found
