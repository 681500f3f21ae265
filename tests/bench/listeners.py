"""A process with many websocket clients that do as little as possible: they read, and log when frames arrive.

Plain sockets on one `epoll`, so that the clients use little of the processor that they share with the daemon. Every
n-th client parses its messages; the others only count bytes and answer pings. The process prints `connected` when all
are subscribed, reads until its stdin ends, and then prints its counts.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import sys
import time
from pathlib import Path

from tests.bench.clocks import RECORD

_REQUEST = (
    "GET /v1/stream?station={station}&{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_SUBSCRIBED = b'"type":"station"'
_PING, _PONG = b"\x89\x00", b"\x8a\x80\x00\x00\x00\x00"
_TEXT_OPCODE = 0x81
_READ_BYTES = 32 * 1024
_FRAME = b'{"type":"frame",'
_NUMBER, _MAX_NUMBER_OFFSET = b'"frame":{"frame":', 300


class Listener:
    """One client."""

    def __init__(self, port: int, station: int, query: str, *, sampled: bool) -> None:
        self.station = station
        self.sampled = sampled
        self.frames: list[tuple[int, int, int]] = []
        self.messages = 0
        self.read_bytes = 0
        self._rest = b""
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(_REQUEST.format(station=f"s{station:02}", query=query).encode())

    def subscribed(self) -> None:
        """Read until the station's state arrives, which begins the subscription."""
        data = b""
        while _SUBSCRIBED not in data:
            piece = self.socket.recv(_READ_BYTES)
            if not piece:
                raise ConnectionError(f"the daemon has closed the connection: {data[-200:]!r}")
            data += piece
        self._rest = data.partition(b"\r\n\r\n")[2]
        self.socket.setblocking(False)

    def take(self, data: bytes, now: int) -> None:
        """Count received bytes, and parse them if this client is sampled."""
        self.read_bytes += len(data)
        if _PING in data:
            self.socket.send(_PONG)
        if self.sampled:
            self._parse(self._rest + data if self._rest else data, now)

    def _parse(self, data: bytes, now: int) -> None:
        start, end = 0, len(data)
        while end - start >= 4:
            size, payload = data[start + 1], start + 2
            if size == 126:
                size, payload = int.from_bytes(data[start + 2 : start + 4], "big"), start + 4
            elif size == 127:
                size, payload = int.from_bytes(data[start + 2 : start + 10], "big"), start + 10
            if payload + size > end:
                break
            if data[start] == _TEXT_OPCODE:
                self.messages += 1
                if data.startswith(_FRAME, payload):
                    number = data.index(_NUMBER, payload, payload + _MAX_NUMBER_OFFSET) + len(_NUMBER)
                    self.frames.append((self.station, int(data[number : data.index(b",", number)]), now))
            start = payload + size
        self._rest = data[start:]


def main() -> None:
    """Connect, report it, read, and print the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--stations", type=int, required=True)
    parser.add_argument("--subscribers", type=int, default=1)
    parser.add_argument("--query", default="")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--sample-every", type=int, default=1)
    arguments = parser.parse_args()
    listeners = [
        Listener(arguments.port, station, arguments.query, sampled=client % arguments.sample_every == 0)
        for station in range(arguments.stations)
        for client in range(arguments.subscribers)
    ]
    for listener in listeners:
        listener.subscribed()
    by_descriptor = {listener.socket.fileno(): listener for listener in listeners}
    closed = _read(by_descriptor)
    sampled = [listener for listener in listeners if listener.sampled]
    arguments.log.write_bytes(b"".join(RECORD.pack(*frame) for listener in sampled for frame in listener.frames))
    counts = {
        "closed": closed,
        "read_bytes": sum(listener.read_bytes for listener in listeners),
        "sampled": len(sampled),
        "sampled_bytes": sum(listener.read_bytes for listener in sampled),
        "sampled_messages": sum(listener.messages for listener in sampled),
    }
    print(json.dumps(counts))
    for listener in listeners:
        listener.socket.close()


def _read(by_descriptor: dict[int, Listener]) -> int:
    """Read until stdin ends. Returns the number of connections that the daemon has closed."""
    closed = 0
    stdin = sys.stdin.fileno()
    with select.epoll() as poll:
        poll.register(stdin, select.EPOLLIN)
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        print("connected", flush=True)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == stdin:
                    return closed
                listener = by_descriptor[descriptor]
                try:
                    data = listener.socket.recv(_READ_BYTES)
                except BlockingIOError:
                    continue
                except ConnectionError:
                    data = b""
                if data:
                    listener.take(data, time.monotonic_ns())
                else:
                    closed += 1
                    poll.unregister(descriptor)


if __name__ == "__main__":
    main()
