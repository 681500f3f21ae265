"""Consoles that call: every ten seconds, while they have no client, a broadcast with their name.

The datagram: `SLIP_READY`, six bytes of hardware address, 32 bytes of name that end with a zero.
"""

from __future__ import annotations

import trio
from msgspec import Struct

PORT = 20582
_CALL = b"SLIP_READY"
_MAC_BYTES = 6
_NICK_BYTES = 32
_MAX_DATAGRAM_BYTES = 2048


class Call(Struct, frozen=True):
    """A console that waits for a client. `host` is where the datagram came from."""

    nick: str
    mac: str
    host: str


def read_call(datagram: bytes, host: str) -> Call | None:
    """A datagram to a call; `None` when it is something else."""
    if not datagram.startswith(_CALL) or len(datagram) < len(_CALL) + _MAC_BYTES:
        return None
    mac = datagram[len(_CALL) : len(_CALL) + _MAC_BYTES]
    nick = datagram[len(_CALL) + _MAC_BYTES :][:_NICK_BYTES].split(b"\0", 1)[0]
    return Call(nick.decode("utf-8", "replace").strip(), mac.hex(":"), host)


async def hear(host: str, port: int) -> trio.socket.SocketType:
    """A socket that hears broadcasts, with other programs that do. An empty host is every address. Raises
    `OSError`."""
    socket = trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM)
    try:
        socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_REUSEADDR, 1)
        socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_BROADCAST, 1)
        await socket.bind((host, port))
    except OSError:
        socket.close()
        raise
    return socket


async def next_call(socket: trio.socket.SocketType) -> Call:
    """The next call that is heard; the same console calls again and again."""
    while True:
        try:
            datagram, address = await socket.recvfrom(_MAX_DATAGRAM_BYTES)
        except OSError:
            continue  # what an earlier sender's network said; the socket hears on
        call = read_call(datagram, str(address[0]))
        if call is not None:
            return call
