"""One TCP connection as a non-blocking standard socket: trio waits, the socket is read and written directly.

A websocket client is written to straight from the fan-out with one system call; trio's streams would need a task
switch for each of a thousand clients. `trio.lowlevel.wait_readable` and `wait_writable` work on every platform that
trio runs on.
"""

from __future__ import annotations

import socket

import trio

_READ_BYTES = 64 * 1024
_GONE = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError, TimeoutError)


class Connection:
    """A connected non-blocking socket. Closing is the caller's business, with `close`."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self.peer = peer
        """Address of the other end."""
        self.gone = False
        """The other end can no longer be written to."""

    async def read(self) -> bytes:
        """The next bytes; empty at the end, also when the connection was reset."""
        while True:
            try:
                return self._socket.recv(_READ_BYTES)
            except (BlockingIOError, InterruptedError):
                await trio.lowlevel.wait_readable(self._socket)
            except _GONE:
                self.gone = True
                return b""

    def write_now(self, data: bytes | memoryview) -> int:
        """Writes without blocking; how many bytes were taken. A connection that is gone takes everything."""
        if self.gone:
            return len(data)
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except _GONE:
            self.gone = True
            return len(data)

    async def writable(self) -> None:
        """Returns when the socket takes bytes again."""
        await trio.lowlevel.wait_writable(self._socket)

    async def write_all(self, data: bytes) -> None:
        """Writes everything, as fast as the other end takes it."""
        rest = memoryview(data)
        while rest and not self.gone:
            taken = self.write_now(rest)
            rest = rest[taken:]
            if rest:
                await self.writable()

    def limit_send_buffer(self, size_bytes: int) -> None:
        """Bounds what the system keeps for a slow client: data that lies there is neither ours to drop nor fresh."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size_bytes)

    def finish(self) -> None:
        """Says that no more will be written."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # not connected any more: nothing to say, to nobody
            self.gone = True

    def close(self) -> None:
        """Closes the socket; tasks that wait for it are woken with `trio.ClosedResourceError`."""
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
