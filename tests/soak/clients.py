"""Clients that come and go: pages, some of them slow, one that reads all stations, and HTTP requests."""

from __future__ import annotations

import random

import trio

UPGRADE = (
    "GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: {version}\r\n\r\n"
)
GET = "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: {connection}\r\n\r\n"
_PATHS = ("/v1/stations", "/v1/games?limit=20", "/metrics", "/readyz", "/", "/overlay/s03", "/v1/stations/s07")
_QUERIES = ("delivery=conflate", "delivery=lossless&topics=game,event,stats", "frames=finalized&rate=20", "topics=game")
_READ_BYTES = 16384


class Client:
    """A client that repeatedly connects, reads for a while, and disconnects."""

    def __init__(self, port: int, stations: int, number: int, counts: dict[str, int]) -> None:
        self._port = port
        self._stations = stations
        self._rng = random.Random(1000 + number)
        self._counts = counts
        self._slow = number % 8 == 7
        self._all_stations = number == 0
        """Only one client, because its task for each station would hide growth."""

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await trio.sleep(self._rng.uniform(0, 1))
            try:
                if self._rng.random() < 0.3:
                    await self._request()
                else:
                    await self._watch()
            except (OSError, trio.BrokenResourceError):
                self._counts["refused"] = self._counts.get("refused", 0) + 1

    async def _request(self) -> None:
        stream = await trio.open_tcp_stream("127.0.0.1", self._port)
        async with stream:
            await stream.send_all(GET.format(path=self._rng.choice(_PATHS), connection="close").encode())
            response = b""
            while piece := await stream.receive_some(_READ_BYTES):
                response += piece
        assert response.startswith((b"HTTP/1.1 200", b"HTTP/1.1 503")), response[:100]
        self._counts["responses"] = self._counts.get("responses", 0) + 1

    async def _watch(self) -> None:
        query = f"station=s{self._rng.randrange(self._stations):02}&{self._rng.choice(_QUERIES)}"
        if self._all_stations:
            query = "station=*&topics=game,event"
        stream = await trio.open_tcp_stream("127.0.0.1", self._port)
        try:
            with trio.move_on_after(self._rng.uniform(0.1, 15)):
                await stream.send_all(UPGRADE.format(target=f"/v1/stream?{query}", version=13).encode())
                while piece := await stream.receive_some(_READ_BYTES):
                    self._counts["read_bytes"] = self._counts.get("read_bytes", 0) + len(piece)
                    if self._slow:
                        await trio.sleep(0.2)
        finally:
            stream.socket.close()  # without a close frame: the daemon notices when it writes
        self._counts["watched"] = self._counts.get("watched", 0) + 1
