"""Sources that send as fast as they can, each in a separate process with its own interpreter lock.

`python -m tests.parts.consoles.flooders KIND FOLDER` prints the port that it listens on, and a line once it has sent
something. The kinds are those of `TCP` and `ENET`, and the folder has the games that `flooding` has made. An error in
any thread ends it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.parts.consoles.spectators.dolphins import game_event, packet
from tests.parts.consoles.wii import handshake, raw_of, replay
from tests.synthetic.match import synthetic_match

_ORIGIN = 4096
_CHUNK_BYTES = 65536


@cache
def _made(seed: int) -> bytes:
    return raw_of(synthetic_match(seed=seed, frames=3000))


@cache
def _game(seed: int = 1) -> bytes:
    return (Path(sys.argv[2]) / str(seed)).read_bytes()


def _games() -> Iterator[bytes]:
    """Games without an end, one after the other."""
    games = [_game(1), _game(2)]
    for number in count():
        yield games[number % 2]


def _in_messages(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Replay messages of `size` bytes of events, after a handshake."""
    yield handshake("Flood", 7, _ORIGIN)
    cursor = _ORIGIN
    for piece in pieces:
        for start in range(0, len(piece), size):
            data = piece[start : start + size]
            yield replay(cursor, cursor + len(data), data)
            cursor += len(data)


def _repeated(data: bytes) -> Iterator[bytes]:
    while True:
        yield data * (_CHUNK_BYTES // len(data))


def _one_game_then(data: bytes) -> Iterator[bytes]:
    yield _game()[:100_000]
    yield from _repeated(data)


TCP: dict[str, Callable[[], Iterator[bytes]]] = {
    "messages": lambda: _in_messages(_games(), 20_000),
    "small-messages": lambda: _in_messages(_games(), 9),
    "helo-in-game": lambda: _one_game_then(b"HELO\0"),
    "rubbish": lambda: _in_messages(_repeated(b"HELO"), 5),
}
"""The chunks that each kind sends after a client has connected."""


def _game_events(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    yield packet(type="connect_reply", nick="Flood", version="3.4.0", cursor=0)
    data = (piece[start : start + size] for piece in pieces for start in range(0, len(piece), size))
    for cursor, part in enumerate(data):
        yield game_event(cursor, part)


ENET: dict[str, Callable[[], Iterator[bytes]]] = {
    "dolphin": lambda: _game_events(_games(), 400),
}
"""The packets that each kind of Dolphin sends after a client has requested a game."""


@cache
def _has_begun() -> None:
    """Print a line at the first call."""
    print("begun", flush=True)


def _serve_tcp(kind: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_flood, args=(client, TCP[kind]()), daemon=True).start()


def _flood(client: socket.socket, chunks: Iterator[bytes]) -> None:
    with client:
        try:
            for chunk in chunks:
                client.sendall(chunk)
                _has_begun()
        except OSError:
            return


def _serve_enet(kind: str) -> None:
    import enet

    host = enet.Host(enet.Address(b"127.0.0.1", 0), 64, 3, 0, 0)
    print(host.address.port, flush=True)
    packets: dict[Any, Iterator[bytes]] = {}
    while True:
        event = host.service(1)
        key = str(event.peer.address) if event.type else ""
        if event.type == enet.EVENT_TYPE_RECEIVE:
            packets[key] = _to(event.peer, ENET[kind]())
        elif event.type == enet.EVENT_TYPE_DISCONNECT:
            packets.pop(key, None)
        for sends in packets.values():
            next(sends, None)


def _to(peer: Any, packets: Iterator[bytes]) -> Iterator[bytes]:
    """Send packets, in batches of as many as the peer has acknowledged."""
    import enet

    for number, data in enumerate(packets):
        peer.send(0, enet.Packet(data, enet.PACKET_FLAG_RELIABLE))
        _has_begun()
        while (number % 64 == 63 or len(data) > 1000) and peer.reliableDataInTransit > 32_000:
            yield data
        if number % 64 == 63:
            yield data


def _end(error: threading.ExceptHookArgs) -> None:
    threading.__excepthook__(error)
    os._exit(1)


@contextmanager
def flooding(kinds: Sequence[str]) -> Iterator[dict[str, int]]:
    """Run one process for each kind.

    Yields the ports by kind. At the end, each must have sent something and must still be running.
    """
    with tempfile.TemporaryDirectory(prefix="slpstream-flood-") as folder:
        for seed in (1, 2):
            (Path(folder) / str(seed)).write_bytes(_made(seed))
        processes = {
            kind: subprocess.Popen([sys.executable, "-m", __name__, kind, folder], stdout=subprocess.PIPE, text=True)
            for kind in kinds
        }
        try:
            yield {kind: int(process.stdout.readline()) for kind, process in processes.items() if process.stdout}
            assert [kind for kind, process in processes.items() if process.poll() is not None] == []
            for process in processes.values():
                process.kill()
            begun = {kind: process.stdout.read() for kind, process in processes.items() if process.stdout}
            assert [kind for kind, lines in begun.items() if not lines] == []
        finally:
            for process in processes.values():
                process.kill()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


if __name__ == "__main__":
    os.nice(19)  # real sources are other machines
    threading.excepthook = _end
    chosen = sys.argv[1]
    (_serve_tcp if chosen in TCP else _serve_enet)(chosen)
