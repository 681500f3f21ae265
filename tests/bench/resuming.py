"""A process with one lossless websocket client per station. The clients repeatedly drop their connection and reconnect
with the cursor of the last message they have read.

Plain sockets on one `epoll`. For each game a client keeps the SHA-256 of its lines, which would be gigabytes. Like any
client, it discards a partial message when its connection
is lost. The process prints `connected` when all are subscribed. A line of JSON on its stdin, with the number of games
of each station, means that no more games follow. The clients then stay connected until each has all its games or no
more data arrives, and the process prints the results.
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
from urllib.parse import quote

from tests.bench.clocks import RECORD, game_of_station

FINALIZED_EVERY = 5
"""One of this many clients reads only final frames."""
_REQUEST = (
    "GET /v1/stream?station={station}&topics=game,frame,event,stats,diagnostic&frames={mode}&delivery=lossless"
    "&cursor={cursor} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_TEXT, _PING, _CLOSE = 0x81, 0x89, 0x88
_PONG = b"\x8a\x80\x00\x00\x00\x00"
_READ_BYTES = 256 * 1024
_STATUS_PREFIXES = tuple(
    b'{"type":"%b"' % kind for kind in (b"hello", b"station", b"snapshot", b"lagged", b"error", b"set")
)
_FAULTS = (b'{"type":"lagged"', b'{"type":"error"', b'{"type":"snapshot"')
_GAME_ID = b'"gameId":"'
_CURSOR = re.compile(rb'"cursor":"([^"]+)"')
_FRAME = b'{"type":"frame",'
_NUMBER = b'"frame":{"frame":'
_HEAD_BYTES = 300
_TIMEOUT_SECONDS = 20.0


def mode_of(station: int) -> str:
    """The frames mode of the client of a station."""
    return "finalized" if station % FINALIZED_EVERY == FINALIZED_EVERY - 1 else "live"


class GameLines:
    """The digest of the lines of one game."""

    def __init__(self) -> None:
        self.lines = 0
        self.digest = hashlib.sha256()

    def add(self, line: bytes) -> None:
        """Add the next line."""
        self.digest.update(line + b"\n")
        self.lines += 1


class Client:
    """One client, across its connections."""

    def __init__(self, port: int, station: int, poll: select.epoll) -> None:
        self.station = station
        self.mode = mode_of(station)
        self.games: dict[bytes, GameLines] = {}
        self.over = 0
        """Number of games whose last message has arrived."""
        self.faults: list[str] = []
        self.frames: list[tuple[int, int, int]] = []
        self.lines = 0
        self.reconnects = -1
        self._port = port
        self._poll = poll
        self._last = b""
        self._game_numbers: dict[bytes, int] = {}
        self.connect()

    def connect(self) -> None:
        """Connect with the cursor of the last message."""
        self.reconnects += 1
        found = _CURSOR.search(self._last, 0, _HEAD_BYTES)
        cursor = "start" if found is None else found[1].decode()
        self._rest = b""
        self.subscribed = False
        self.socket = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        request = _REQUEST.format(station=f"s{self.station:02}", mode=self.mode, cursor=quote(cursor))
        self.socket.sendall(request.encode())
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
        if not data:
            self.faults.append("the daemon has closed the connection")
            return False
        self._take(self._rest + data if self._rest else data, time.monotonic_ns())
        return True

    def _take(self, data: bytes, now: int) -> None:
        start, end = 0, len(data)
        if not self.subscribed:
            head_end = data.find(b"\r\n\r\n")
            if head_end < 0:
                self._rest = data
                return
            if not data.startswith(b"HTTP/1.1 101 "):
                self.faults.append(data[:100].decode(errors="replace"))
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
                self._line(data[payload : payload + size], now)
            elif data[start] == _PING:
                self.socket.send(_PONG)
            elif data[start] == _CLOSE:
                self.faults.append(f"closed: {data[payload : payload + size]!r}")
            start = payload + size
        self._rest = data[start:]

    def _line(self, line: bytes, now: int) -> None:
        if line.startswith(_STATUS_PREFIXES):
            if line.startswith(_FAULTS):
                self.faults.append(line[:200].decode(errors="replace"))
            return
        self._last = line
        self.lines += 1
        begin = line.find(_GAME_ID, 0, _HEAD_BYTES) + len(_GAME_ID)
        game_id = line[begin : begin + 32]
        game = self.games.get(game_id)
        if game is None:
            game = self.games[game_id] = GameLines()
            self._game_numbers[game_id] = game_of_station(self.station, len(self.games) - 1)
        game.add(line)
        if line.startswith(_FRAME) and self.mode == "live":
            number = line.index(_NUMBER, 0, _HEAD_BYTES) + len(_NUMBER)
            self.frames.append((self._game_numbers[game_id], int(line[number : line.index(b",", number)]), now))
        elif line.startswith(b'{"type":"metadata"'):
            self.over += 1


def main() -> None:
    """Connect, report it, read with reconnects, and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--stations", type=int, required=True)
    parser.add_argument("--reconnects-per-second", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    with select.epoll() as poll:
        clients = [Client(arguments.port, station, poll) for station in range(arguments.stations)]
        seconds = _follow(poll, clients, arguments.reconnects_per_second)
    arguments.log.write_bytes(b"".join(RECORD.pack(*frame) for client in clients for frame in client.frames))
    result = {
        "seconds": seconds,
        "clients": [
            {
                "reconnects": client.reconnects,
                "faults": client.faults,
                "games": {
                    game_id.decode(): {"lines": game.lines, "sha256": game.digest.hexdigest()}
                    for game_id, game in client.games.items()
                },
            }
            for client in clients
        ],
    }
    print(json.dumps(result))
    for client in clients:
        client.socket.close()


def _follow(poll: select.epoll, clients: list[Client], reconnects_per_second: float) -> float:
    """Read until all games have arrived. Returns for how many seconds clients have reconnected."""
    stdin = sys.stdin.fileno()
    poll.register(stdin, select.EPOLLIN)
    rng = random.Random(7)
    by_descriptor = {client.socket.fileno(): client for client in clients}
    reported, began, ended = False, 0.0, 0.0
    expected: list[int] | None = None
    next_at = float("inf")
    received, received_at = 0, time.monotonic()
    while True:
        now = time.monotonic()
        if not reported and all(client.subscribed for client in clients):
            reported, began = True, now
            print("connected", flush=True)
            next_at = now + 1 / reconnects_per_second
        while now >= next_at:
            next_at += 1 / reconnects_per_second
            candidates = [client for client in clients if client.subscribed]
            if not candidates:
                break
            client = rng.choice(candidates)
            del by_descriptor[client.socket.fileno()]
            client.leave()
            client.connect()
            by_descriptor[client.socket.fileno()] = client
        for descriptor, _ in poll.poll(max(0.0, min(next_at - now, 0.5))):
            if descriptor == stdin:
                expected = json.loads(sys.stdin.readline())
                poll.unregister(stdin)
                ended, next_at = time.monotonic(), float("inf")
                continue
            client = by_descriptor[descriptor]
            if not client.read():
                client.leave()
                client.connect()
                del by_descriptor[descriptor]
                by_descriptor[client.socket.fileno()] = client
        if (lines := sum(client.lines for client in clients)) != received:
            received, received_at = lines, time.monotonic()
        if expected is not None:
            complete = all(client.over >= games for client, games in zip(clients, expected, strict=True))
            if complete or time.monotonic() - received_at > _TIMEOUT_SECONDS:
                return ended - began


if __name__ == "__main__":
    main()
