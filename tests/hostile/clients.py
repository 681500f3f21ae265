"""A process with many hostile clients of each kind, which reconnect as soon as they are disconnected.

`python -m tests.hostile.clients --port N KIND=COUNT...` prints `attacking` to stdout when all have connected once, runs
until its stdin ends, and then prints how often each kind has connected. It runs at the lowest priority (nice 19),
because real hostile clients run on other machines.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import trio

from tests.bench.machine import allow_descriptors

_HANDSHAKE = (
    "GET /v1/stream?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_SMALL_BUFFER_BYTES = 4096
_RECONNECT_SECONDS = 0.1
_MASK = bytes(4)
_PING = b"\x89\x80" + _MASK
_BIG_BYTES = 10 << 20
_SUBSCRIBE = (
    b'{"op":"subscribe"}',
    b'{"op":"subscribe","delivery":"lossless","cursor":"start"}',
    b'{"op":"subscribe","fields":["post.percent"],"rate":30}',
    b'{"op":"subscribe","frames":"finalized","delivery":"lossless","cursor":"start"}',
)


def text(payload: bytes) -> bytes:
    """A text message from a client, with a mask of zeros."""
    size = len(payload)
    if size < 126:
        return bytes((0x81, 0x80 | size)) + _MASK + payload
    return b"\x81\xfe" + size.to_bytes(2, "big") + _MASK + payload


async def _upgrade(stream: trio.SocketStream, query: str) -> None:
    await stream.send_all(_HANDSHAKE.format(query=query).encode())
    await stream.receive_some(1)


def _any_query(rng: random.Random) -> str:
    return rng.choice(("station=*", "station=*&delivery=lossless&cursor=start", "station=*&frames=finalized"))


async def _never_reads(stream: trio.SocketStream, rng: random.Random) -> None:
    await _upgrade(stream, _any_query(rng))
    await trio.sleep_forever()


async def _reads_a_byte_a_second(stream: trio.SocketStream, rng: random.Random) -> None:
    await _upgrade(stream, _any_query(rng))
    while await stream.receive_some(1):
        await trio.sleep(1)


async def _drain(stream: trio.SocketStream) -> None:
    while await stream.receive_some(65536):
        pass
    raise trio.BrokenResourceError


async def _sends(stream: trio.SocketStream, data: bytes) -> None:
    await _upgrade(stream, "")
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_drain, stream)
            while True:
                await stream.send_all(data)
    except* trio.BrokenResourceError:
        pass


async def _subscribes(stream: trio.SocketStream, rng: random.Random) -> None:
    await _sends(stream, b"".join(text(rng.choice(_SUBSCRIBE)) for _ in range(200)))


async def _pings(stream: trio.SocketStream, rng: random.Random) -> None:
    await _sends(stream, _PING * 2000)


async def _sends_big_messages(stream: trio.SocketStream, rng: random.Random) -> None:
    head = b"\x81\xff" + _BIG_BYTES.to_bytes(8, "big") + _MASK
    await _upgrade(stream, "")
    await stream.send_all(head + b" " * _BIG_BYTES)
    await _drain(stream)


async def _sends_big_bodies(stream: trio.SocketStream, rng: random.Random) -> None:
    head = b"POST /v1/stations HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % _BIG_BYTES
    await stream.send_all(head + b" " * _BIG_BYTES)
    await _drain(stream)


async def _is_half_open(stream: trio.SocketStream, rng: random.Random) -> None:
    """Send part of a handshake, then fall silent."""
    request = _HANDSHAKE.format(query="station=*").encode()
    await stream.send_all(request[: rng.randrange(1, len(request))])
    await _drain(stream)


async def _sends_its_head_slowly(stream: trio.SocketStream, rng: random.Random) -> None:
    await stream.send_all(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n")
    while True:
        await stream.send_all(b"x: y\r\n")
        await trio.sleep(1)


async def _sends_nothing(stream: trio.SocketStream, rng: random.Random) -> None:
    await _drain(stream)


async def _forges_cursors(stream: trio.SocketStream, rng: random.Random) -> None:
    """Resume after a cursor of a game that does not exist, and read until the refusal."""
    await _upgrade(stream, f"station=*&cursor={rng.randbytes(16).hex()}/l1.0")
    await _drain(stream)


async def _get(stream: trio.SocketStream, path: str) -> bytes:
    """Send a request and return the body of the response, up to the end of the connection."""
    await stream.send_all(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n".encode()
    )
    response = bytearray()
    while data := await stream.receive_some(65536):
        response += data
    return bytes(response.partition(b"\r\n\r\n")[2])


async def _lists_stations(stream: trio.SocketStream, rng: random.Random) -> None:
    """Request all stations, or one with its newest files."""
    await _get(stream, rng.choice(("/v1/stations", "/v1/stations/old")))


async def _searches(stream: trio.SocketStream, rng: random.Random) -> None:
    """Search the index with filters that match few games or all of them."""
    filters = {
        "station": ("s00", "old"),
        "player": ("nobody", "P1", "FOX"),
        "format": ("slippi", "gci"),
        "since": ("2000-01-01", "2030-01-01"),
        "until": ("2000-01-01", "2030-01-01"),
        "limit": ("1", "200"),
    }
    chosen = [f"{name}={rng.choice(values)}" for name, values in filters.items() if rng.random() < 0.5]
    await _get(stream, f"/v1/games?{'&'.join(chosen)}")


async def _longest_game(stream: trio.SocketStream) -> str | None:
    """The id of the longest of the newest finished games."""
    await stream.send_all(b"GET /v1/games?limit=50 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    response = b""
    while b"\r\n\r\n" not in response:
        response += await stream.receive_some(65536) or b"\r\n\r\n"
    head, _, body = response.partition(b"\r\n\r\n")
    length = next((line for line in head.lower().splitlines() if line.startswith(b"content-length:")), b":0")
    while len(body) < int(length.partition(b":")[2]):
        body += await stream.receive_some(65536)
    games: list[dict[str, Any]] = json.loads(body)["games"]
    ended = [game for game in games if game.get("durationSeconds")]
    return max(ended, key=lambda game: game["durationSeconds"])["gameId"] if ended else None


async def _reads_games(stream: trio.SocketStream, rng: random.Random) -> None:
    """Request a page of frames, the stats or the file of a long game."""
    game_id = await _longest_game(stream)
    what = rng.choice(("", "/frames", "/frames?fields=post.percent", "/frames?from=5000", "/stats", "/replay"))
    await _get(stream, f"/v1/games/{game_id}{what}")


async def _reads_whole_logs(stream: trio.SocketStream, rng: random.Random) -> None:
    """Read the whole log of a long game without losing a message."""
    game_id = await _longest_game(stream)
    await _upgrade(stream, f"station=*&delivery=lossless&cursor={game_id}/l0.0")
    await _drain(stream)


Attack = Callable[[trio.SocketStream, random.Random], Awaitable[None]]
KINDS: Mapping[str, Attack] = {
    "never_reads": _never_reads,
    "reads_a_byte_a_second": _reads_a_byte_a_second,
    "subscribes": _subscribes,
    "pings": _pings,
    "big_messages": _sends_big_messages,
    "big_bodies": _sends_big_bodies,
    "half_open": _is_half_open,
    "slow_head": _sends_its_head_slowly,
    "nothing": _sends_nothing,
    "forged_cursors": _forges_cursors,
    "lists_stations": _lists_stations,
    "searches": _searches,
    "reads_games": _reads_games,
    "reads_whole_logs": _reads_whole_logs,
}
_READS_SLOWLY = {"never_reads", "reads_a_byte_a_second"}


class Attackers:
    """All clients of this process."""

    def __init__(self, port: int, counts: Mapping[str, int]) -> None:
        self._port = port
        self._counts = counts
        self.connected: Counter[str] = Counter()
        self._missing = sum(counts.values())
        self._all_connected = trio.Event()

    async def run(self) -> None:
        """Attack until stdin ends."""
        async with trio.open_nursery() as nursery:
            for kind, count in self._counts.items():
                for number in range(count):
                    nursery.start_soon(self._attack, kind, random.Random(f"{kind} {number}"))
            with trio.move_on_after(20):
                await self._all_connected.wait()
            print("attacking", flush=True)
            await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
            nursery.cancel_scope.cancel()

    async def _attack(self, kind: str, rng: random.Random) -> None:
        first = True
        await trio.sleep(rng.random())
        while True:
            with suppress(OSError, trio.BrokenResourceError), trio.socket.socket() as sock:
                if kind in _READS_SLOWLY:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
                await sock.connect(("127.0.0.1", self._port))
                self.connected[kind] += 1
                self._missing -= first
                first = False
                if self._missing == 0:
                    self._all_connected.set()
                await KINDS[kind](trio.SocketStream(sock), rng)
            await trio.sleep(_RECONNECT_SECONDS * (1 + 5 * rng.random()))


def main() -> None:
    """Attack, and print the number of connections by kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("counts", nargs="+", metavar="KIND=COUNT")
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    counts = {kind: int(count) for kind, _, count in (each.partition("=") for each in arguments.counts)}
    allow_descriptors(sum(counts.values()) + 100)
    os.nice(19)
    attackers = Attackers(arguments.port, counts)
    trio.run(attackers.run)
    print(json.dumps(attackers.connected))


if __name__ == "__main__":
    main()
