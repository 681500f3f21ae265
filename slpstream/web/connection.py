"""A TCP connection as a non-blocking standard socket, read and written directly; trio only waits for it.

The fan-out writes to a websocket client with one system call, where trio's streams would need a task switch for each of
a thousand clients. `trio.lowlevel.wait_readable` and `wait_writable` work on every platform that trio supports.
"""

from __future__ import annotations

import contextlib
import errno
import socket

import trio

_READ_BYTES = 64 * 1024
LINGER_SECONDS = 1.0
_LINGER_BYTES = 4 << 20


class Connection:
    """A connected socket. The caller closes it, with `finish` and then `close`."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self.peer = peer
        """Address of the other end."""
        self.gone = False
        """Whether writing has become impossible, because the other end has left or was abandoned."""
        sock.setblocking(False)
        self._set(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def read(self, max_bytes: int = _READ_BYTES) -> bytes:
        """Reads the next bytes; returns `b""` at the end and after a reset. Always a checkpoint, so that a client that
        sends without a pause does not starve the others."""
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
        """Writes without blocking and returns the number of bytes written. A connection that is gone discards them."""
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
        """Waits until the socket can be written to."""
        await trio.lowlevel.wait_writable(self._socket)

    async def write_all(self, data: bytes) -> None:
        """Writes all bytes at the pace at which the other end reads them."""
        rest = memoryview(data)
        while rest and not self.gone:
            written = self.write_now(rest)
            rest = rest[written:]
            if rest:
                await self.writable()

    def limit_send_buffer(self, size_bytes: int) -> None:
        """Limits the system's send buffer, in which data for a slow client can no longer be replaced by newer data."""
        self._set(socket.SOL_SOCKET, socket.SO_SNDBUF, size_bytes)

    async def finish(self) -> None:
        """Shuts down the sending side and waits a moment for the other end to do the same. Closing a socket that has
        unread bytes resets the connection, which can lose the response."""
        if self.gone:
            return
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._lose(error)
        remaining = _LINGER_BYTES
        with trio.move_on_after(LINGER_SECONDS):
            while not self.gone and remaining > 0:
                data = await self.read()
                if not data:
                    return
                remaining -= len(data)

    def close(self) -> None:
        """Closes the socket."""
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()

    def _set(self, level: int, option: int, value: int) -> None:
        with contextlib.suppress(OSError):  # some systems refuse it after the other end has left
            self._socket.setsockopt(level, option, value)

    def _lose(self, error: OSError) -> None:
        """Marks the connection as gone after any network error. EBADF would be a bug, so it is raised."""
        if error.errno == errno.EBADF:
            raise error
        self.gone = True
