"""What a session makes of what a console says: where it goes on, what is lost, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.errors import FieldError, FormatError
from slpstream.sources.console.session import Arrived, ConsoleSession, Greeted, Lost, Quiet, Said
from slpstream.sources.console.wire import read_client_handshake
from tests.sources.console import wii


def hello(token: int, cursor: int) -> bytes:
    return wii.handshake("Wii", token, cursor)


def events(cursor: int, data: bytes, *, forced: bool = False) -> bytes:
    return wii.replay(cursor, cursor + len(data), data, forced=forced)


def greeted(token: int = 5, cursor: int = 100) -> ConsoleSession:
    session = ConsoleSession()
    session.connect()
    session.receive(hello(token, cursor))
    return session


def test_the_first_connection() -> None:
    session = ConsoleSession()
    asked = read_client_handshake(session.connect()[4:])
    assert (asked.cursor, asked.token, asked.realtime) == (0, 0, True)
    said = session.receive(hello(5, 100) + events(100, b"abc") + wii.KEEP_ALIVE)
    assert said == [Greeted("Wii", "1.10.0", True), Arrived(b"abc", 103), Quiet()]
    assert (session.token, session.cursor) == (5, 103)


@pytest.mark.parametrize(
    ("token", "cursor", "said"),
    [
        (5, 100, [Greeted("Wii", "1.10.0", False)]),
        (5, 40, [Greeted("Wii", "1.10.0", True)]),
        (5, 170, [Greeted("Wii", "1.10.0", False), Lost(70)]),
        (6, 100, [Greeted("Wii", "1.10.0", True)]),
        (6, 170, [Greeted("Wii", "1.10.0", True)]),
    ],
    ids=["goes on", "from the beginning", "some is gone", "does not know us", "does not know us, further on"],
)
def test_the_next_connection(token: int, cursor: int, said: list[Said]) -> None:
    session = greeted()
    asked = read_client_handshake(session.connect()[4:])
    assert (asked.cursor, asked.token) == (100, 5)
    assert session.receive(hello(token, cursor)) == said
    assert (session.token, session.cursor) == (token, cursor)


def test_a_ring_that_overflowed() -> None:
    session = greeted()
    assert session.receive(events(160, b"ab", forced=True)) == [Lost(60), Arrived(b"ab", 162)]
    assert session.receive(events(162, b"c", forced=True)) == [Arrived(b"c", 163)], "forced, and nothing is missing"


@pytest.mark.parametrize(("cursor", "forced"), [(101, False), (99, False), (99, True)])
def test_a_cursor_that_is_wrong(cursor: int, forced: bool) -> None:
    session = greeted()
    with pytest.raises(FieldError, match=f"expected cursor 100, found {cursor}"):
        session.receive(events(cursor, b"x", forced=forced))
    assert read_client_handshake(session.connect()[4:]).token == 0, "begin anew"


@pytest.mark.parametrize("first", [events(0, b"x"), wii.KEEP_ALIVE + events(0, b"x")])
def test_events_before_the_handshake(first: bytes) -> None:
    session = ConsoleSession()
    session.connect()
    with pytest.raises(FieldError):
        session.receive(first)


def test_a_second_handshake() -> None:
    with pytest.raises(FieldError):
        greeted().receive(hello(5, 100))


@pytest.mark.parametrize("first", [b"HELO\0", b"\x35\x0d\x36"])
def test_bare_events(first: bytes) -> None:
    """Old consoles and the launcher's relay have no messages; the cutter takes `HELO` out."""
    session = greeted()
    session.connect()
    assert session.receive(first[:1]) == [Greeted("", "", True), Arrived(first[:1], None)]
    assert session.receive(first[1:]) == [Arrived(first[1:], None)]
    assert read_client_handshake(session.connect()[4:]).token == 0


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([hello(5, 9), events(9, b"ab"), wii.KEEP_ALIVE]))))
def test_anything(said: list[bytes]) -> None:
    """Values or a `FormatError`, nothing else."""
    session = ConsoleSession()
    session.connect()
    try:
        for data in said:
            session.receive(data)
    except FormatError:
        session.connect()
