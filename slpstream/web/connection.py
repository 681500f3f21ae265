"""One TCP connection as a non-blocking standard socket: trio waits, the socket is read and written directly.

A websocket client is written to straight from the fan-out with one system call; trio's streams would need a task
switch for each of a thousand clients. `trio.lowlevel.wait_readable` and `wait_writable` work on every platform that
trio runs on.
"""

from __future__ import annotations

import contextlib
import errno
import socket

import trio

_READ_BYTES = 64 * 1024
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 4 << 20


class Connection:
    """A connected socket. Closing is the caller's business, with `finish` and `close`."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self.peer = peer
        """Address of the other end."""
        self.gone = False
        """The other end can no longer be written to."""
        sock.setblocking(False)
        self._set(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def read(self, max_bytes: int = _READ_BYTES) -> bytes:
        """The next bytes; empty at the end, also when the connection was reset. Always lets others run: somebody who
        sends without a pause must not have the event loop for himself."""
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            try:
                return self._socket.recv(max_bytes)
            except (BlockingIOError, InterruptedError):
                continue
            except OSError as error:
                self._lose(error)
                return b""

    def write_now(self, data: bytes | memoryview) -> int:
        """Writes without blocking; how many bytes were taken. A connection that is gone takes everything."""
        if self.gone:
            return len(data)
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError as error:
            self._lose(error)
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
        self._set(socket.SOL_SOCKET, socket.SO_SNDBUF, size_bytes)

    async def finish(self) -> None:
        """Says that no more will be written, and lets the other end do the same for a moment. A socket that is closed
        while bytes wait to be read is reset, and what was written last is lost with it."""
        if self.gone:
            return
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._lose(error)
        left = _LINGER_BYTES
        with trio.move_on_after(_LINGER_SECONDS):
            while not self.gone and left > 0:
                data = await self.read()
                if not data:
                    return
                left -= len(data)

    def close(self) -> None:
        """Closes the socket."""
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()

    def _set(self, level: int, option: int, value: int) -> None:
        with contextlib.suppress(OSError):  # some systems refuse it when the other end has left already
            self._socket.setsockopt(level, option, value)

    def _lose(self, error: OSError) -> None:
        """The network has many ways to say that a connection is over. A closed socket would be our own mistake."""
        if error.errno == errno.EBADF:
            raise error
        self.gone = True
