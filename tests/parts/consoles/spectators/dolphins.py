"""A Dolphin with spectators that uses the ENet library, and the packets that it sends."""

from __future__ import annotations

import base64
import json
from importlib.util import find_spec
from typing import Any

import pytest
import trio

from tests.project import IN_CI

needs_enet = pytest.mark.skipif(find_spec("enet") is None and not IN_CI, reason="the extra `dolphin` is not installed")


def packet(**message: Any) -> bytes:
    return json.dumps(message).encode()


def game_event(cursor: int, data: bytes) -> bytes:
    payload = base64.b64encode(data).decode()
    return packet(type="game_event", cursor=cursor, next_cursor=cursor + 1, payload=payload)


class SpectatedDolphin:
    """A Dolphin with spectators. It keeps the history of its game, and sends it to each client that joins."""

    def __init__(self) -> None:
        import enet

        self._enet: Any = enet
        self._host = enet.Host(enet.Address(b"127.0.0.1", 0), 4, 3, 0, 0)
        self.port: int = self._host.address.port
        self.requests: list[int] = []
        self.history: list[bytes] = []
        self.first = 0
        """Cursor of the first message of the history."""
        self._peers: list[tuple[Any, list[int]]] = []

    async def run(self) -> None:
        enet = self._enet
        while True:
            event = self._host.service(0)
            if event.type == enet.EVENT_TYPE_RECEIVE:
                request = json.loads(event.packet.data)
                assert request["type"] == "connect_request"
                self.requests.append(request["cursor"])
                known = self.first <= request["cursor"] <= self.first + len(self.history)
                cursor = request["cursor"] if known else self.first
                reply = packet(type="connect_reply", nick="Slippi Online", version="3.4.0", cursor=cursor)
                self._send(event.peer, reply)
                self._peers.append((event.peer, [cursor - self.first]))
            elif event.type == enet.EVENT_TYPE_DISCONNECT:
                self._peers = [known for known in self._peers if known[0] != event.peer]
            else:
                for peer, sent in self._peers:
                    for data in self.history[sent[0] :]:
                        self._send(peer, data)
                    sent[0] = len(self.history)
                with trio.move_on_after(0.01):
                    await trio.lowlevel.wait_readable(self._host.socket.fileno())

    def _send(self, peer: Any, data: bytes) -> None:
        peer.send(0, self._enet.Packet(data, self._enet.PACKET_FLAG_RELIABLE))

    def send(self, data: bytes) -> None:
        self.history.append(data)

    def play(self, data: bytes, size: int = 900) -> None:
        for start in range(0, len(data), size):
            self.send(game_event(self.first + len(self.history), data[start : start + size]))

    def begin(self) -> None:
        """Begin another game, and forget the history of the previous one."""
        self.first += len(self.history)
        self.history.clear()
        for _, sent in self._peers:
            sent[0] = 0
        self.send(packet(type="start_game", players=[]) if self.first else self._counted("start_game"))

    def end(self) -> None:
        self.send(self._counted("end_game", dolphin_closed=False))

    def _counted(self, kind: str, **values: Any) -> bytes:
        cursor = self.first + len(self.history)
        return packet(type=kind, cursor=cursor, next_cursor=cursor + 1, **values)

    def drop(self) -> None:
        for peer, _ in self._peers:
            peer.disconnect_now()
        self._peers.clear()
        self._host.flush()

    def close(self) -> None:
        trio.lowlevel.notify_closing(self._host.socket.fileno())
