"""An HTTP proxy for TLS connections that counts downloaded bytes."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CONNECT_SECONDS = 20.0


class CountingProxy(socketserver.ThreadingTCPServer):
    """Tunnels CONNECT requests on a free port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.downloaded_bytes = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Tunnel(socketserver.StreamRequestHandler):
    server: CountingProxy
    connection: socket.socket

    def handle(self) -> None:
        host, _, port = self.rfile.readline().split()[1].decode().rpartition(":")
        while self.rfile.readline().strip():
            pass
        with suppress(OSError), socket.create_connection((host, int(port)), _CONNECT_SECONDS) as remote:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            others = {self.connection: remote, remote: self.connection}
            while True:
                for ready in select.select(list(others), [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    if ready is remote:
                        with self.server.lock:
                            self.server.downloaded_bytes += len(data)
                    others[ready].sendall(data)


@contextmanager
def counting_proxy() -> Iterator[CountingProxy]:
    """A proxy for the duration of the block."""
    with CountingProxy() as proxy:
        serving = threading.Thread(target=proxy.serve_forever, daemon=True)
        serving.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            serving.join(10)
