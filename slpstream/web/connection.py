"""A TCP connection as a non-blocking socket of the standard library, which we read and write directly.

We only need trio to wait for it.

The fan-out writes to a websocket client with a single system call. With trio's streams, it would need a task switch for
each of a thousand clients. `trio.lowlevel.wait_readable` and `wait_writable` work on every platform that trio supports.
"""

from __future__ import annotations

import contextlib
import errno
import socket

import trio

from slpstream.stream.outbox import readiness

_READ_BYTES = 64 * 1024
LINGER_SECONDS = 1.0
_LINGER_BYTES = 4 << 20


class Connection:
    """A connected socket. The caller has to close it, first with `finish` and then with `close`."""

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self.peer = peer
        """The address of the other end."""
        self.descriptor = sock.fileno()
        """The file descriptor of the socket, or -1 if it is closed or writing has failed.

        The fan-out writes to it directly. `_withdraw` stops this before the socket is closed, because the operating
        system then gives the same number to another connection.
        """
        self.gone = False
        """Whether writing has become impossible, because the other end has left or was abandoned."""
        sock.setblocking(False)
        self._set(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def read(self, max_bytes: int = _READ_BYTES) -> bytes:
        """Read the next bytes. At the end of the connection and after a reset, this returns `b""`.

        It is always a checkpoint, so that a client that sends without any pause doesn't starve the others.
        """
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
        """Write without blocking, and return how many bytes were written.

        If the connection is gone, the data is discarded, and counts as written.
        """
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
        """Wait until the socket can be written to."""
        await trio.lowlevel.wait_writable(self._socket)

    async def write_all(self, data: bytes) -> None:
        """Write all bytes, as fast as the other end reads them."""
        rest = memoryview(data)
        while rest and not self.gone:
            written = self.write_now(rest)
            rest = rest[written:]
            if rest:
                await self.writable()

    def limit_send_buffer(self, size_bytes: int) -> None:
        """Limit the send buffer of the operating system.

        Data for a slow client that is in this buffer can no longer be replaced by newer data.
        """
        self._set(socket.SOL_SOCKET, socket.SO_SNDBUF, size_bytes)

    async def finish(self) -> None:
        """Shut down the sending side, and wait a moment for the other end to do the same.

        Closing a socket with unread bytes resets the connection, so the response could get lost.
        """
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
        """Close the socket."""
        self._withdraw()
        if self._socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()

    def _set(self, level: int, option: int, value: int) -> None:
        with contextlib.suppress(OSError):  # some systems refuse it after the other end has left
            self._socket.setsockopt(level, option, value)

    def _withdraw(self) -> None:
        """Stop the fan-out from writing to the socket directly."""
        self.descriptor = -1
        readiness.version = object()

    def _lose(self, error: OSError) -> None:
        """Mark the connection as gone after a network error. EBADF would be a bug, so it is raised again."""
        if error.errno == errno.EBADF:
            raise error
        self.gone = True
        self._withdraw()
