"""Sessions with a console: where the events continue, which bytes are lost, and messages that are invalid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.errors import FieldError, FormatError
from slpstream.parts.consoles.session import BytesLost, ConsoleSession, EventBytes, HandshakeDone, Idle, SessionEvent
from slpstream.parts.consoles.wire import decode_client_handshake
from tests.parts.consoles import wii


def handshake(token: int, cursor: int) -> bytes:
    return wii.handshake("Wii", token, cursor)


def replay(cursor: int, data: bytes, *, forced: bool = False) -> bytes:
    return wii.replay(cursor, cursor + len(data), data, forced=forced)


def connected(token: int = 5, cursor: int = 100) -> ConsoleSession:
    session = ConsoleSession()
    session.connect()
    session.receive(handshake(token, cursor))
    return session


def test_first_connection() -> None:
    session = ConsoleSession()
    request = decode_client_handshake(session.connect()[4:])
    assert (request.cursor, request.token, request.realtime) == (0, 0, True)
    events = session.receive(handshake(5, 100) + replay(100, b"abc") + wii.KEEP_ALIVE)
    assert events == [HandshakeDone("Wii", "1.10.0", True), EventBytes(b"abc", 103), Idle()]
    assert (session.token, session.cursor) == (5, 103)


@pytest.mark.parametrize(
    ("token", "cursor", "events"),
    [
        (5, 100, [HandshakeDone("Wii", "1.10.0", False)]),
        (5, 40, [HandshakeDone("Wii", "1.10.0", True)]),
        (5, 170, [HandshakeDone("Wii", "1.10.0", False), BytesLost(70)]),
        (6, 100, [HandshakeDone("Wii", "1.10.0", True)]),
        (6, 170, [HandshakeDone("Wii", "1.10.0", True)]),
    ],
    ids=["continues", "from the beginning", "bytes are lost", "unknown token", "unknown token, later cursor"],
)
def test_next_connection(token: int, cursor: int, events: list[SessionEvent]) -> None:
    session = connected()
    request = decode_client_handshake(session.connect()[4:])
    assert (request.cursor, request.token) == (100, 5)
    assert session.receive(handshake(token, cursor)) == events
    assert (session.token, session.cursor) == (token, cursor)


def test_ring_overflow_is_reported_as_lost_bytes() -> None:
    session = connected()
    assert session.receive(replay(160, b"ab", forced=True)) == [BytesLost(60), EventBytes(b"ab", 162)]
    assert session.receive(replay(162, b"c", forced=True)) == [EventBytes(b"c", 163)], "forced, but nothing is missing"


@pytest.mark.parametrize(("cursor", "forced"), [(101, False), (99, False), (99, True)])
def test_wrong_cursor_is_an_error(cursor: int, forced: bool) -> None:
    session = connected()
    with pytest.raises(FieldError, match=f"expected cursor 100, found {cursor}"):
        session.receive(replay(cursor, b"x", forced=forced))
    assert decode_client_handshake(session.connect()[4:]).token == 0, "the next connection starts afresh"


@pytest.mark.parametrize("first", [replay(0, b"x"), wii.KEEP_ALIVE + replay(0, b"x")])
def test_events_before_the_handshake_are_an_error(first: bytes) -> None:
    session = ConsoleSession()
    session.connect()
    with pytest.raises(FieldError):
        session.receive(first)


def test_second_handshake_is_an_error() -> None:
    with pytest.raises(FieldError):
        connected().receive(handshake(5, 100))


@pytest.mark.parametrize("first", [b"HELO\0", b"\x35\x0d\x36"])
def test_raw_events(first: bytes) -> None:
    """Old consoles and the launcher's relay send no messages. `HELO` is left for the framer to remove."""
    session = connected()
    session.connect()
    assert session.receive(first[:1]) == [HandshakeDone("", "", True), EventBytes(first[:1], None)]
    assert session.receive(first[1:]) == [EventBytes(first[1:], None)]
    assert decode_client_handshake(session.connect()[4:]).token == 0


@given(
    st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([handshake(5, 9), replay(9, b"ab"), wii.KEEP_ALIVE])))
)
def test_random_bytes_raise_only_format_errors(parts: list[bytes]) -> None:
    session = ConsoleSession()
    session.connect()
    try:
        for data in parts:
            session.receive(data)
    except FormatError:
        session.connect()
