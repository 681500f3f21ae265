"""Many lossless subscribers in one thread. Each knows its expected messages and moves to the next gateway when its
connection ends.

Plain sockets on one epoll. Each message is compared on arrival; the first wrong, repeated or missing one is reported.
"""

from __future__ import annotations

import re
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlencode

from tests.daemons.process import STATUS_TYPES

_READ_BYTES = 1 << 18
_TYPE = re.compile(rb'\{"type":"(\w+)"')
_CURSOR = re.compile(rb'"cursor":"([^"]+)"')
_CLOSE, _PING = 0x8, 0x9


class Follower:
    """One subscriber of one station, on changing gateways."""

    def __init__(self, station: str, frames: str, games: Sequence[Sequence[bytes]], gateway: int) -> None:
        """`games` are the lines of each game with the station, in order."""
        self.station = station
        self.expected = [line for game in games for line in game]
        self._lengths = [len(game) for game in games]
        self.received = 0
        self.gateway = gateway
        self.connections = 0
        self.wrong: str | None = None
        self.closes: list[bytes] = []
        self.socket: socket.socket | None = None
        self.frames = frames
        self._rest = b""

    @property
    def games(self) -> float:
        """Number of games received, including the fraction of the current one."""
        left, games = self.received, 0
        while games < len(self._lengths) and left >= self._lengths[games]:
            left -= self._lengths[games]
            games += 1
        return games + (left / self._lengths[games] if games < len(self._lengths) else 0)

    def connect(self, ports: Sequence[int]) -> bool:
        """Connect to the next gateway, with the cursor of the last message. Returns whether that worked."""
        self.gateway += 1
        cursor = "start"
        if self.received:
            found = _CURSOR.search(self.expected[self.received - 1], 0, 300)
            assert found is not None
            cursor = found[1].decode()
        query = urlencode(
            {
                "station": self.station,
                "frames": self.frames,
                "topics": "game,frame,event,stats,diagnostic",
                "delivery": "lossless",
                "cursor": cursor,
            }
        )
        request = (
            f"GET /v1/stream?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        with ExitStack() as stack:
            try:
                sock = socket.create_connection(("127.0.0.1", ports[self.gateway % len(ports)]), 5)
                stack.callback(sock.close)
                sock.sendall(request.encode())
                head = b""
                while b"\r\n\r\n" not in head:
                    data = sock.recv(_READ_BYTES)
                    if not data:
                        return False
                    head += data
            except OSError:
                return False
            stack.pop_all()
        sock.setblocking(False)
        self.socket = sock
        self.connections += 1
        self._rest = b""
        self.take(head.partition(b"\r\n\r\n")[2])
        return True

    def take(self, data: bytes) -> None:
        """Parse received bytes into websocket frames."""
        data = self._rest + data if self._rest else data
        start, end = 0, len(data)
        while end - start >= 2:
            size, payload = data[start + 1], start + 2
            if size == 126:
                size, payload = int.from_bytes(data[start + 2 : start + 4], "big"), start + 4
            elif size == 127:
                size, payload = int.from_bytes(data[start + 2 : start + 10], "big"), start + 10
            if payload + size > end or payload > end:
                break
            self._message(data[start] & 0x0F, data[payload : payload + size])
            start = payload + size
        self._rest = data[start:]

    def _message(self, opcode: int, payload: bytes) -> None:
        if opcode == _PING and self.socket is not None:
            self.socket.send(b"\x8a\x80\x00\x00\x00\x00")
        elif opcode == _CLOSE:
            self.closes.append(payload)
        elif self.received < len(self.expected) and payload == self.expected[self.received]:
            self.received += 1
        elif self.wrong is None:
            kind = _TYPE.match(payload)
            if kind is None or kind[1].decode() not in STATUS_TYPES:
                due = self.expected[self.received][:160] if self.received < len(self.expected) else b"no message"
                self.wrong = f"message {self.received}: received {payload[:160]!r}, expected {due!r}"


class Crowd:
    """A thread that keeps followers connected and receives their messages."""

    def __init__(self, followers: Sequence[Follower], ports: Sequence[int]) -> None:
        self.followers = followers
        self._ports = ports
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Crowd:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join(timeout=10)
        for follower in self.followers:
            if follower.socket is not None:
                follower.socket.close()

    @property
    def progress(self) -> float:
        """Number of games that the slowest follower has received."""
        return min(follower.games for follower in self.followers)

    def wait(self, games: float, seconds: float) -> None:
        """Wait until all followers have received a number of games, or one has received a wrong message."""
        deadline = time.monotonic() + seconds
        while self.progress < games and not any(f.wrong for f in self.followers):
            assert time.monotonic() < deadline, self.describe()
            time.sleep(0.05)

    def describe(self) -> str:
        """How far the followers have come, for messages of failed assertions."""
        where = Counter(
            f"{f.station} {f.frames} {f.received}/{len(f.expected)} at {f.gateway % len(self._ports)}"
            for f in self.followers
        )
        closes = {close for f in self.followers for close in f.closes[-1:]}
        away = sum(f.socket is None for f in self.followers)
        return f"{self.progress:.2f} games: {dict(where)}, {away} disconnected, close frames {closes}"

    def _run(self) -> None:
        by_descriptor: dict[int, Follower] = {}
        away = list(self.followers)
        with select.epoll() as poll:
            while not self._stop.is_set():
                still_away: list[Follower] = []
                for follower in away:
                    if follower.connect(self._ports):
                        assert follower.socket is not None
                        by_descriptor[follower.socket.fileno()] = follower
                        poll.register(follower.socket, select.EPOLLIN)
                    else:
                        still_away.append(follower)
                away = still_away
                for descriptor, _ in poll.poll(0.05):
                    follower = by_descriptor[descriptor]
                    assert follower.socket is not None
                    try:
                        data = follower.socket.recv(_READ_BYTES)
                    except BlockingIOError:
                        continue
                    except OSError:
                        data = b""
                    if data:
                        follower.take(data)
                        continue
                    poll.unregister(descriptor)
                    del by_descriptor[descriptor]
                    follower.socket.close()
                    follower.socket = None
                    away.append(follower)
