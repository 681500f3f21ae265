"""A source against a spectator server that uses the same ENet library, with real packets on the loopback interface.

Determinism: free ports, and `fail_after` as the only timeout; the server sends packets when the test asks for it.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from slpstream.model.errors import FormatError
from slpstream.parts.consoles.session import BytesLost, EventBytes, HandshakeDone, Idle
from slpstream.parts.consoles.spectators.dolphin import DolphinSession, DolphinSource
from tests.formats.slippi.built import Built
from tests.parts.consoles.listeners import Notices
from tests.parts.consoles.recordings import recorded, recorder_of
from tests.parts.consoles.spectators.dolphins import SpectatedDolphin, game_event, needs_enet, packet
from tests.parts.consoles.wii import raw_of

ONE = raw_of(Built().frames(-123, -60).end().closed())
TWO = raw_of(Built(random_seed=3).frames(-123, -90).end().closed())


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
    """A source that repeats its handshake must not count as connected each time."""
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


@asynccontextmanager
async def recording(folder: Path, dolphin: SpectatedDolphin) -> AsyncIterator[Notices]:
    notices = Notices()
    recorder = recorder_of(folder, notices, played_on="dolphin")
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            source = DolphinSource("127.0.0.1", dolphin.port, recorder, notices, rng=random.Random(1))
            nursery.start_soon(dolphin.run)
            nursery.start_soon(recorder.run)
            nursery.start_soon(source.run)
            yield notices
            nursery.cancel_scope.cancel()
    dolphin.close()


def finished(folder: Path) -> list[bytes]:
    """The events of the recordings that are finished."""
    return [raw_of(data) for data in recorded(folder) if int.from_bytes(data[11:15], "big")]


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
        while len(finished(tmp_path / "pc")) < 1:
            await trio.sleep(0.01)
        dolphin.begin()
        dolphin.play(TWO)
        dolphin.end()
        while len(finished(tmp_path / "pc")) < 2:
            await trio.sleep(0.01)
    assert finished(tmp_path / "pc") == [ONE, TWO]
    assert notices.connection[0] == ("connected", "Slippi Online")
    assert dolphin.requests[0] == 0
    assert dolphin.requests[1] > 0
    assert notices.received_bytes == len(ONE + TWO), "it continued where it had stopped"
    assert not notices.gaps


@needs_enet
@pytest.mark.trio
async def test_dolphin_that_does_not_answer(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """ENet does not report this, so only the connection timeout ends an attempt."""
    dolphin, notices = SpectatedDolphin(), Notices()
    source = DolphinSource("127.0.0.1", dolphin.port, recorder_of(tmp_path, notices), notices)
    with trio.move_on_after(60):
        await source.run()
    assert set(notices.connection) == {("unreachable", "no answer")}
    dolphin.close()
