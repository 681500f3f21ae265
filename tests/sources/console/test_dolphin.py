"""A source against a spectator server that is made with the same ENet library: real packets on the loopback.

Determinism: free ports, `fail_after` the only time; the server says what it is told, when it is told.
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
from slpstream.sources.console.session import Arrived, Greeted, Lost, Quiet
from tests.formats.slippi.built import Built
from tests.shared_data import IN_CI
from tests.sources.console.listeners import Told
from tests.sources.console.wii import raw_of

ONE = raw_of(Built().frames(-123, -60).end().closed())
TWO = raw_of(Built(random_seed=3).frames(-123, -90).end().closed())

needs_enet = pytest.mark.skipif(not is_available() and not IN_CI, reason="the extra `dolphin` is not installed")


def said(**message: Any) -> bytes:
    return json.dumps(message).encode()


def event(cursor: int, data: bytes) -> bytes:
    payload = base64.b64encode(data).decode()
    return said(type="game_event", cursor=cursor, next_cursor=cursor + 1, payload=payload)


def test_a_session() -> None:
    session = DolphinSession()
    assert json.loads(session.connect()) == {"type": "connect_request", "cursor": 0}
    with pytest.raises(FormatError):
        session.receive(event(3, b"x"))
    reply = said(type="connect_reply", nick="Slippi Online", version="3.4", cursor=3)
    assert session.receive(reply) == [Greeted("Slippi Online", "3.4", True)]
    assert session.receive(said(type="menu_event", payload="AAAA")) == []
    assert session.receive(said(type="start_game", players=[{"connect_code": "A#1", "is_decider": True}])) == []
    assert session.receive(event(3, b"abc")) == [Arrived(b"abc", None)]
    assert session.receive(event(3, b"abc")) == [], "the same once more"
    assert session.receive(event(5, b"def")) == [Lost(None), Arrived(b"def", None)]
    assert session.receive(said(type="end_game", cursor=6, next_cursor=7, dolphin_closed=False)) == [Quiet()]
    assert json.loads(session.connect())["cursor"] == 7
    assert session.receive(said(type="connect_reply", nick="", version="", cursor=7)) == [Greeted("", "", False)]
    assert json.loads(session.connect())["cursor"] == 7
    assert session.receive(said(type="connect_reply", nick="", version="", cursor=2)) == [Greeted("", "", True)]


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"type":"game_event","cursor":0,"next_cursor":1,"payload":"@"}',
        b'{"type":"game_event","cursor":0,"next_cursor":1,"payload":7}',
        b'{"type":"game_event","cursor":0,"next_cursor":1,"payload":"\xc3\xa4"}',
        b'{"type":"connect_reply","nick":"\xff\xfe"}',
        b"[" * 100_000,
    ],
)
def test_hostile_packets(packet: bytes) -> None:
    session = DolphinSession()
    session.receive(said(type="connect_reply", nick="", version="", cursor=0))
    with pytest.raises(FormatError):
        session.receive(packet)


def test_odd_packets_are_passed_over() -> None:
    session = DolphinSession()
    session.receive(said(type="connect_reply", nick=None, version=3, cursor="x"))
    for message in ({}, {"type": 5}, {"type": "menu_event"}, {"type": "start_game", "next_cursor": -4}):
        assert session.receive(json.dumps(message).encode()) == []


class Spectated:
    """A Dolphin that is watched: keeps the history of the game, says it to who joins."""

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
            happened = self._host.service(0)
            if happened.type == enet.EVENT_TYPE_RECEIVE:
                request = json.loads(happened.packet.data)
                assert request["type"] == "connect_request"
                self.requests.append(request["cursor"])
                known = self.first <= request["cursor"] <= self.first + len(self.history)
                cursor = request["cursor"] if known else self.first
                reply = said(type="connect_reply", nick="Slippi Online", version="3.4.0", cursor=cursor)
                self._send(happened.peer, reply)
                self._peers.append((happened.peer, [cursor - self.first]))
            elif happened.type == enet.EVENT_TYPE_DISCONNECT:
                self._peers = [known for known in self._peers if known[0] != happened.peer]
            else:
                for peer, sent in self._peers:
                    for packet in self.history[sent[0] :]:
                        self._send(peer, packet)
                    sent[0] = len(self.history)
                with trio.move_on_after(0.01):
                    await trio.lowlevel.wait_readable(self._host.socket.fileno())

    def _send(self, peer: Any, packet: bytes) -> None:
        peer.send(0, self._enet.Packet(packet, self._enet.PACKET_FLAG_RELIABLE))

    def say(self, packet: bytes) -> None:
        self.history.append(packet)

    def play(self, data: bytes, size: int = 900) -> None:
        for at in range(0, len(data), size):
            self.say(event(self.first + len(self.history), data[at : at + size]))

    def begin(self) -> None:
        """Another game: the history of the one before is forgotten."""
        self.first += len(self.history)
        self.history.clear()
        for _, sent in self._peers:
            sent[0] = 0
        self.say(said(type="start_game", players=[]) if self.first else self._counted("start_game"))

    def end(self) -> None:
        self.say(self._counted("end_game", dolphin_closed=False))

    def _counted(self, kind: str, **values: Any) -> bytes:
        cursor = self.first + len(self.history)
        return said(type=kind, cursor=cursor, next_cursor=cursor + 1, **values)

    def drop(self) -> None:
        for peer, _ in self._peers:
            peer.disconnect_now()
        self._peers.clear()
        self._host.flush()

    def close(self) -> None:
        trio.lowlevel.notify_closing(self._host.socket.fileno())


@asynccontextmanager
async def watched(folder: Path, dolphin: Spectated) -> AsyncIterator[Told]:
    told = Told()
    recorder = Recorder(
        folder,
        told,
        played_on=PLAYED_ON,
        max_unwritten_bytes=1 << 20,
        in_thread=partial(trio.to_thread.run_sync, limiter=trio.CapacityLimiter(2)),
        wall_clock=lambda: 1_700_000_000.0,
    )
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            source = DolphinSource("127.0.0.1", dolphin.port, recorder, told, chance=random.Random(1))
            nursery.start_soon(dolphin.run)
            nursery.start_soon(recorder.run)
            nursery.start_soon(source.run)
            yield told
            nursery.cancel_scope.cancel()
    dolphin.close()


def recorded(folder: Path) -> list[bytes]:
    paths = sorted(folder.glob("*.slp"), key=lambda path: (len(path.name), path.name))
    files = [path.read_bytes() for path in paths]
    return [raw_of(data) for data in files if int.from_bytes(data[11:15], "big")]


@needs_enet
@pytest.mark.trio
async def test_games_of_a_dolphin(tmp_path: Path) -> None:
    """Joined in the middle of a game, dropped, and there for the next one."""
    dolphin = Spectated()
    dolphin.begin()
    dolphin.play(ONE[:9000])
    async with watched(tmp_path / "pc", dolphin) as told:
        while told.received_bytes < 9000:
            await trio.sleep(0.01)
        dolphin.drop()
        dolphin.play(ONE[9000:])
        dolphin.say(said(type="menu_event", payload="AAAA"))
        dolphin.end()
        while len(recorded(tmp_path / "pc")) < 1:
            await trio.sleep(0.01)
        dolphin.begin()
        dolphin.play(TWO)
        dolphin.end()
        while len(recorded(tmp_path / "pc")) < 2:
            await trio.sleep(0.01)
    assert recorded(tmp_path / "pc") == [ONE, TWO]
    assert told.said[0] == ("connected", "Slippi Online")
    assert dolphin.requests[0] == 0
    assert dolphin.requests[1] > 0
    assert told.received_bytes == len(ONE + TWO), "it went on where it stopped"
    assert not told.gaps


@needs_enet
@pytest.mark.trio
async def test_a_dolphin_that_is_away(tmp_path: Path) -> None:
    """Nobody answers at first; ENet says nothing of that, so the time to connect is what ends an attempt."""
    dolphin = Spectated()
    told = Told()
    source = DolphinSource("127.0.0.1", dolphin.port, None, told)  # type: ignore[arg-type]
    with trio.move_on_after(0.3):
        await source._converse()
    assert told.said == []
    dolphin.close()
