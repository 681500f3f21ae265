"""A process with many websocket clients that do as little as possible: they read, and log the arrival of frames.

They are plain sockets on one `epoll`, to use little of the processor that they share with the daemon. Every n-th client
parses its messages; the others only count bytes. The process prints `connected` when all are subscribed.

Without `--reconnects-per-second` it reads until its stdin ends, and then prints its counts. With it, the clients are
lossless: they repeatedly drop their connection, discard any partial message, and reconnect with the cursor of the last
message they have read. For each game a client keeps the SHA-256 of its lines, because the lines would be gigabytes. A
line of JSON on stdin, with the number of games of each station, means that no more games follow. The clients then stay
connected until each has all its games or no more data arrives, and the process prints the results.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.bench.clocks import RECORD, game_of_station

FINALIZED_EVERY = 5
"""One of this many lossless clients reads only final frames."""
_REQUEST = (
    "GET /v1/stream?station=s{station:02}&{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_TEXT, _PING, _CLOSE = 0x81, 0x89, 0x88
_PONG = b"\x8a\x80\x00\x00\x00\x00"
_READ_BYTES = 32 * 1024
_FRAME, _NUMBER = b'{"type":"frame",', b'"frame":{"frame":'
_HEAD_BYTES = 300
_GAME_ID = b'"gameId":"'
_CURSOR = re.compile(rb'"cursor":"([^"]+)"')
_STATUS_PREFIXES = tuple(
    b'{"type":"%b"' % kind for kind in (b"hello", b"station", b"snapshot", b"lagged", b"error", b"set")
)
_FAULTS = (b'{"type":"lagged"', b'{"type":"error"', b'{"type":"snapshot"')
_TIMEOUT_SECONDS = 20.0


def mode_of(station: int) -> str:
    """The frames mode of the lossless client of a station."""
    return "finalized" if station % FINALIZED_EVERY == FINALIZED_EVERY - 1 else "live"


class Listener:
    """One client."""

    def __init__(self, port: int, station: int, query: str, poll: select.epoll, *, sampled: bool) -> None:
        self.station = station
        self.query = query
        self.sampled = sampled
        self.frames: list[tuple[int, int, int]] = []
        self.messages = 0
        self.read_bytes = 0
        self._port = port
        self._poll = poll
        self.connect()

    def connect(self) -> None:
        """Connect, and subscribe."""
        self._rest = b""
        self.subscribed = False
        self.socket = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        self.socket.sendall(_REQUEST.format(station=self.station, query=self.query).encode())
        self.socket.setblocking(False)
        self._poll.register(self.socket.fileno(), select.EPOLLIN)

    def leave(self) -> None:
        """Drop the connection without a close frame."""
        self._poll.unregister(self.socket.fileno())
        self.socket.close()

    def read(self) -> bool:
        """Read available data. Returns False if the daemon has closed the connection."""
        try:
            data = self.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return True
        except ConnectionError:
            data = b""
        now = time.monotonic_ns()
        self.read_bytes += len(data)
        if self.sampled or not self.subscribed:
            self._take(self._rest + data if self._rest else data, now)
        elif b"\x89\x00" in data:  # a ping
            self.socket.send(_PONG)
        return bool(data)

    def _take(self, data: bytes, now: int) -> None:
        start, end = 0, len(data)
        if not self.subscribed:
            head_end = data.find(b"\r\n\r\n")
            if head_end < 0:
                self._rest = data
                return
            if not data.startswith(b"HTTP/1.1 101 "):
                raise ConnectionError(data[:100].decode(errors="replace"))
            self.subscribed, start = True, head_end + 4
        while end - start >= 2:
            size, payload = data[start + 1], start + 2
            if size == 126:
                size, payload = int.from_bytes(data[start + 2 : start + 4], "big"), start + 4
            elif size == 127:
                size, payload = int.from_bytes(data[start + 2 : start + 10], "big"), start + 10
            if payload + size > end:
                break
            if data[start] == _TEXT:
                self.messages += 1
                self.message(data, payload, payload + size, now)
            elif data[start] == _PING:
                self.socket.send(_PONG)
            elif data[start] == _CLOSE:
                self.closed(data[payload : payload + size])
            start = payload + size
        self._rest = data[start:]

    def message(self, data: bytes, start: int, end: int, now: int) -> None:
        """Record a message."""
        if data.startswith(_FRAME, start):
            number = data.index(_NUMBER, start, start + _HEAD_BYTES) + len(_NUMBER)
            self.frames.append((self.station, int(data[number : data.index(b",", number)]), now))

    def closed(self, reason: bytes) -> None:
        """The daemon closes the connection."""


class LosslessListener(Listener):
    """One client, across its connections."""

    def __init__(self, port: int, station: int, poll: select.epoll) -> None:
        self.mode = mode_of(station)
        self.lines: dict[bytes, int] = {}
        self.digests: dict[bytes, Any] = {}
        self.over = 0
        """Number of games whose last message has arrived."""
        self.faults: list[str] = []
        self.reconnects = -1
        self._last = b""
        super().__init__(port, station, "", poll, sampled=True)

    def connect(self) -> None:
        """Connect with the cursor of the last message."""
        self.reconnects += 1
        found = _CURSOR.search(self._last, 0, _HEAD_BYTES)
        cursor = "start" if found is None else quote(found[1].decode())
        topics = "topics=game,frame,event,stats,diagnostic"
        self.query = f"{topics}&frames={self.mode}&delivery=lossless&cursor={cursor}"
        super().connect()

    def message(self, data: bytes, start: int, end: int, now: int) -> None:
        """Add a line to the digest of its game."""
        line = data[start:end]
        if line.startswith(_STATUS_PREFIXES):
            if line.startswith(_FAULTS):
                self.faults.append(line[:200].decode(errors="replace"))
            return
        self._last = line
        begin = line.find(_GAME_ID, 0, _HEAD_BYTES) + len(_GAME_ID)
        game_id = line[begin : begin + 32]
        self.lines[game_id] = self.lines.get(game_id, 0) + 1
        self.digests.setdefault(game_id, hashlib.sha256()).update(line + b"\n")
        if line.startswith(_FRAME) and self.mode == "live":
            number = line.index(_NUMBER, 0, _HEAD_BYTES) + len(_NUMBER)
            game = game_of_station(self.station, len(self.lines) - 1)
            self.frames.append((game, int(line[number : line.index(b",", number)]), now))
        elif line.startswith(b'{"type":"metadata"'):
            self.over += 1

    def closed(self, reason: bytes) -> None:
        """The daemon closes the connection, which is a fault."""
        self.faults.append(f"closed: {reason!r}")

    def results(self) -> dict[str, Any]:
        """A summary of the received messages."""
        games = {
            game_id.decode(): {"lines": count, "sha256": self.digests[game_id].hexdigest()}
            for game_id, count in self.lines.items()
        }
        return {"reconnects": self.reconnects, "faults": self.faults, "games": games}


def main() -> None:
    """Connect, report it, read, and print the counts or results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--stations", type=int, required=True)
    parser.add_argument("--subscribers", type=int, default=1)
    parser.add_argument("--query", default="")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--sample-every", type=int, default=1)
    parser.add_argument("--reconnects-per-second", type=float)
    arguments = parser.parse_args()
    port, stations = arguments.port, range(arguments.stations)
    with select.epoll() as poll:
        if arguments.reconnects_per_second is not None:
            clients = [LosslessListener(port, station, poll) for station in stations]
            seconds = _follow(poll, clients, arguments.reconnects_per_second)
            result = {"seconds": seconds, "clients": [client.results() for client in clients]}
            frames = [frame for client in clients for frame in client.frames]
        else:
            listeners = [
                Listener(port, station, arguments.query, poll, sampled=client % arguments.sample_every == 0)
                for station in stations
                for client in range(arguments.subscribers)
            ]
            closed = _read(poll, listeners)
            sampled = [listener for listener in listeners if listener.sampled]
            frames = [frame for listener in sampled for frame in listener.frames]
            result = {
                "closed": closed,
                "read_bytes": sum(listener.read_bytes for listener in listeners),
                "sampled": len(sampled),
                "sampled_bytes": sum(listener.read_bytes for listener in sampled),
                "sampled_messages": sum(listener.messages for listener in sampled),
            }
    arguments.log.write_bytes(b"".join(RECORD.pack(*frame) for frame in frames))
    print(json.dumps(result))


def _read(poll: select.epoll, listeners: list[Listener]) -> int:
    """Read until stdin ends. Returns the number of connections that the daemon has closed."""
    by_descriptor = {listener.socket.fileno(): listener for listener in listeners}
    waiting, closed = set(by_descriptor), 0
    stdin = sys.stdin.fileno()
    poll.register(stdin, select.EPOLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == stdin:
                return closed
            if not by_descriptor[descriptor].read():
                closed += 1
                poll.unregister(descriptor)
            if descriptor in waiting and by_descriptor[descriptor].subscribed:
                waiting.remove(descriptor)
                if not waiting:
                    print("connected", flush=True)


def _follow(poll: select.epoll, clients: list[LosslessListener], reconnects_per_second: float) -> float:
    """Read until all games have arrived. Returns the duration of the reconnects, in seconds."""
    stdin = sys.stdin.fileno()
    poll.register(stdin, select.EPOLLIN)
    rng = random.Random(7)
    by_descriptor = {client.socket.fileno(): client for client in clients}
    began, ended, next_at = 0.0, 0.0, float("inf")
    expected: list[int] | None = None
    received, received_at = 0, time.monotonic()

    def reconnect(client: LosslessListener) -> None:
        del by_descriptor[client.socket.fileno()]
        client.leave()
        client.connect()
        by_descriptor[client.socket.fileno()] = client

    while True:
        now = time.monotonic()
        if not began and all(client.subscribed for client in clients):
            began = now
            print("connected", flush=True)
            next_at = now + 1 / reconnects_per_second
        while now >= next_at:
            next_at += 1 / reconnects_per_second
            if candidates := [client for client in clients if client.subscribed]:
                reconnect(rng.choice(candidates))
        for descriptor, _ in poll.poll(max(0.0, min(next_at - now, 0.5))):
            if descriptor == stdin:
                expected = json.loads(sys.stdin.readline())
                poll.unregister(stdin)
                ended, next_at = time.monotonic(), float("inf")
            elif (client := by_descriptor.get(descriptor)) is not None and not client.read():
                client.faults.append("the daemon has closed the connection")
                reconnect(client)
        if (count := sum(client.messages for client in clients)) != received:
            received, received_at = count, time.monotonic()
        if expected is not None:
            complete = all(client.over >= games for client, games in zip(clients, expected, strict=True))
            if complete or time.monotonic() - received_at > _TIMEOUT_SECONDS:
                return ended - began


if __name__ == "__main__":
    main()
