"""A process of many websocket clients that do as little as they can: read what comes, and note when a frame came.

`python -m tests.bench.listeners --port P --stations N --each M --query Q --seconds S --log FILE --sample K`. Only
every K-th client looks into what it reads; the others count bytes. Plain sockets and one selector, so that the
clients do not take the processor from the daemon that is measured.
"""

from __future__ import annotations

import argparse
import re
import selectors
import socket
import sys
import time
from pathlib import Path

from tests.bench.clocks import RECORD

_FRAME = re.compile(rb'"type":"frame".{0,300}?"frame":\{"frame":(-?\d+),', re.DOTALL)
_LAGGED = b'"type":"lagged"'
_HANDSHAKE = (
    "GET /v1/stream?station={station}&{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def main() -> None:
    """Connects, says so on stdout, reads until the time is up, and prints: bytes read, lagged messages."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--stations", type=int, required=True)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--query", default="")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=1)
    arguments = parser.parse_args()
    selector = selectors.DefaultSelector()
    sockets = []
    for station in range(arguments.stations):
        for client in range(arguments.each):
            connection = socket.create_connection(("127.0.0.1", arguments.port))
            head = _HANDSHAKE.format(station=f"s{station:02}", query=arguments.query)
            connection.sendall(head.encode())
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ, (station, client % arguments.sample == 0))
            sockets.append(connection)
    sys.stdout.write("connected\n")
    sys.stdout.flush()
    seen: list[tuple[int, int, int]] = []
    size = lagged = 0
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.1):
            connection = key.fileobj  # type: ignore[assignment]
            try:
                data = connection.recv(1 << 18)
            except BlockingIOError:
                continue
            now = time.monotonic_ns()
            size += len(data)
            if not data:
                selector.unregister(connection)
                continue
            station, sampled = key.data
            if sampled:
                lagged += data.count(_LAGGED)
                seen += [(station, int(match[1]), now) for match in _FRAME.finditer(data)]
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in seen))
    for connection in sockets:
        connection.close()
    sys.stdout.write(f"{size} {lagged}\n")


if __name__ == "__main__":
    main()
