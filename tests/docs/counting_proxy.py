"""An HTTP proxy for TLS connections that counts what a program downloads."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK_BYTES = 1 << 16
_CONNECT_SECONDS = 20.0


class CountingProxy:
    """Tunnels CONNECT requests on a free port of 127.0.0.1."""

    def __init__(self) -> None:
        self.downloaded_bytes = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Accept connections until the proxy is closed."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _tunnel(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(_CHUNK_BYTES)
            if not data:
                client.close()
                return
            head += data
        host, _, port = head.split()[1].decode().rpartition(":")
        try:
            server = socket.create_connection((host, int(port)), _CONNECT_SECONDS)
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            client.close()
            return
        server.settimeout(None)
        with client, server:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            up = threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True)
            up.start()
            self._pass_on(server, client, True)
            up.join()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_download: bool) -> None:
        try:
            while data := source.recv(_CHUNK_BYTES):
                if is_download:
                    with self._lock:
                        self.downloaded_bytes += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            _end(source)
            _end(target)


def _end(connection: socket.socket) -> None:
    """End both directions, so that no thread waits for them."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def counting_proxy() -> Iterator[CountingProxy]:
    """A proxy for the duration of the block."""
    proxy = CountingProxy()
    serving = threading.Thread(target=proxy.serve, daemon=True)
    serving.start()
    try:
        yield proxy
    finally:
        proxy.close()
        serving.join(10)
