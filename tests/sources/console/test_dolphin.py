"""A source against a spectator server that uses the same ENet library, with real packets on the loopback interface.

Determinism: free ports, and `fail_after` as the only timeout; the server sends packets when the test asks for it.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.model.errors import FormatError
from slpstream.sources.console.dolphin import PLAYED_ON, DolphinSession, DolphinSource, is_available
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.session import BytesLost, EventBytes, HandshakeDone, Idle
from tests.formats.slippi.built import Built
from tests.project import IN_CI
from tests.sources.console.listeners import Notices
from tests.sources.console.wii import raw_of

ONE = raw_of(Built().frames(-123, -60).end().closed())
TWO = raw_of(Built(random_seed=3).frames(-123, -90).end().closed())

needs_enet = pytest.mark.skipif(not is_available() and not IN_CI, reason="the extra `dolphin` is not installed")


def packet(**message: Any) -> bytes:
    return json.dumps(message).encode()


def game_event(cursor: int, data: bytes) -> bytes:
    payload = base64.b64encode(data).decode()
    return packet(type="game_event", cursor=cursor, next_cursor=cursor + 1, payload=payload)


def test_session() -> None:
    session = DolphinSession()
    assert json.loads(session.connect()) == {"type": "connect_request", "cursor": 0}
    with pytest.raises(FormatError):
        session.receive(game_event(3, b"x"))
    reply = packet(type="connect_reply", nick="Slippi Online", version="3.4", cursor=3)
    assert session.receive(reply) == [HandshakeDone("Slippi Online", "3.4", True)]
    assert session.receive(packet(type="menu_event", payload="AAAA")) == []
    assert session.receive(packet(type="start_game", players=[{"connect_code": "A#1", "is_decider": True}])) == []
    assert session.receive(game_event(3, b"abc")) == [EventBytes(b"abc", None)]
    assert session.receive(game_event(3, b"abc")) == [], "a repeated message"
    assert session.receive(game_event(5, b"def")) == [BytesLost(None), EventBytes(b"def", None)]
    assert session.receive(packet(type="end_game", cursor=6, next_cursor=7, dolphin_closed=False)) == [Idle()]
    assert json.loads(session.connect())["cursor"] == 7
    assert session.receive(packet(type="connect_reply", nick="", version="", cursor=7)) == [
        HandshakeDone("", "", False)
    ]
    assert json.loads(session.connect())["cursor"] == 7
    assert session.receive(packet(type="connect_reply", nick="", version="", cursor=2)) == [HandshakeDone("", "", True)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"type":"game_event","cursor":0,"next_cursor":1,"payload":"@"}',
        b'{"type":"game_event","cursor":0,"next_cursor":1,"payload":7}',
        b'{"type":"game_event","cursor":0,"next_cursor":1,"payload":"\xc3\xa4"}',
        b'{"type":"connect_reply","nick":"\xff\xfe"}',
        b"[" * 100_000,
        packet(type="menu_event", payload="A" * (1 << 20)),
    ],
)
def test_hostile_packets(data: bytes) -> None:
    session = DolphinSession()
    session.receive(packet(type="connect_reply", nick="", version="", cursor=0))
    with pytest.raises(FormatError):
        session.receive(data)


def test_second_reply_is_an_error() -> None:
    """A source that repeats its handshake must not count as connected again and again."""
    session = DolphinSession()
    reply = packet(type="connect_reply", nick="", version="", cursor=0)
    session.receive(reply)
    with pytest.raises(FormatError, match="a second reply"):
        session.receive(reply)


def test_unknown_packets_are_ignored() -> None:
    session = DolphinSession()
    session.receive(packet(type="connect_reply", nick=None, version=3, cursor="x"))
    for message in ({}, {"type": 5}, {"type": "menu_event"}, {"type": "start_game", "next_cursor": -4}):
        assert session.receive(json.dumps(message).encode()) == []


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


@asynccontextmanager
async def recording(folder: Path, dolphin: SpectatedDolphin) -> AsyncIterator[Notices]:
    notices = Notices()
    recorder = Recorder(
        folder,
        notices,
        played_on=PLAYED_ON,
        max_unwritten_bytes=1 << 20,
        in_thread=partial(trio.to_thread.run_sync, limiter=trio.CapacityLimiter(2)),
        wall_clock=lambda: 1_700_000_000.0,
    )
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            source = DolphinSource("127.0.0.1", dolphin.port, recorder, notices, rng=random.Random(1))
            nursery.start_soon(dolphin.run)
            nursery.start_soon(recorder.run)
            nursery.start_soon(source.run)
            yield notices
            nursery.cancel_scope.cancel()
    dolphin.close()


def recorded(folder: Path) -> list[bytes]:
    paths = sorted(folder.glob("*.slp"), key=lambda path: (len(path.name), path.name))
    files = [path.read_bytes() for path in paths]
    return [raw_of(data) for data in files if int.from_bytes(data[11:15], "big")]


@needs_enet
@pytest.mark.trio
async def test_two_games_with_a_broken_connection(tmp_path: Path) -> None:
    """The source joins in the middle of a game, loses the connection, and stays for the next game."""
    dolphin = SpectatedDolphin()
    dolphin.begin()
    dolphin.play(ONE[:9000])
    async with recording(tmp_path / "pc", dolphin) as notices:
        while notices.received_bytes < 9000:
            await trio.sleep(0.01)
        dolphin.drop()
        dolphin.play(ONE[9000:])
        dolphin.send(packet(type="menu_event", payload="AAAA"))
        dolphin.end()
        while len(recorded(tmp_path / "pc")) < 1:
            await trio.sleep(0.01)
        dolphin.begin()
        dolphin.play(TWO)
        dolphin.end()
        while len(recorded(tmp_path / "pc")) < 2:
            await trio.sleep(0.01)
    assert recorded(tmp_path / "pc") == [ONE, TWO]
    assert notices.connection[0] == ("connected", "Slippi Online")
    assert dolphin.requests[0] == 0
    assert dolphin.requests[1] > 0
    assert notices.received_bytes == len(ONE + TWO), "it continued where it had stopped"
    assert not notices.gaps


@needs_enet
@pytest.mark.trio
async def test_dolphin_that_does_not_answer(tmp_path: Path) -> None:
    """ENet does not report this, so only the connection timeout ends an attempt."""
    dolphin = SpectatedDolphin()
    notices = Notices()
    source = DolphinSource("127.0.0.1", dolphin.port, None, notices)  # type: ignore[arg-type]
    with trio.move_on_after(0.3):
        await source._run_connection()
    assert notices.connection == []
    dolphin.close()
