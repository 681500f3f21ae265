"""The messages of consoles: the layout of ours by offset, theirs in every form, and bytes that are none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.errors import FieldError, FormatError, FramingError
from slpstream.sources.console import wire
from tests.sources.console import wii

CURSORS = st.integers(0, (1 << 64) - 1)
TOKENS = st.integers(0, (1 << 32) - 1)
LONG = st.binary(max_size=600)


def body(message: bytes) -> bytes:
    assert struct.unpack(">I", message[:4])[0] == len(message) - 4
    return message[4:]


@given(CURSORS, TOKENS, st.booleans())
def test_our_handshake_stands_where_consoles_read(cursor: int, token: int, realtime: bool) -> None:
    said = body(wire.client_handshake(cursor, token, realtime=realtime))
    assert len(said) == wire.CLIENT_HANDSHAKE_BYTES == 79
    assert said[8] == 1
    assert said[33:41] == cursor.to_bytes(8, "big")
    assert said[60:64] == token.to_bytes(4, "big")
    assert said[76:77] == (b"T" if realtime else b"F")
    expected = wire.ClientHandshake(cursor, token, realtime)
    assert wire.read_client_handshake(said) == expected
    assert wire.read_client_handshake_as_a_console(said) == expected


@given(st.text("aé字\0€😀", max_size=40), CURSORS, TOKENS)
def test_the_handshake_of_a_console(nick: str, cursor: int, token: int) -> None:
    said = wire.read_console_message(body(wire.console_handshake(wire.ConsoleHandshake(nick, "1.11", token, cursor))))
    assert isinstance(said, wire.ConsoleHandshake)
    assert (said.cursor, said.token, said.version) == (cursor, token, "1.11")
    assert len(said.nick.encode()) <= 32
    expected = nick.encode("utf-8", "replace").decode().rstrip("\0")
    assert expected.startswith(said.nick)


@given(CURSORS, CURSORS, st.booleans(), LONG)
def test_events(cursor: int, next_cursor: int, forced: bool, data: bytes) -> None:
    message = wire.Replay(cursor, next_cursor, forced, data)
    assert wire.read_console_message(body(wire.replay(message))) == message
    for length in "Il":
        theirs = wii.replay(cursor, next_cursor, data, forced=forced, length=length)
        assert wire.read_console_message(body(theirs)) == message


def test_a_console_in_other_forms() -> None:
    said = wire.read_console_message(body(wii.handshake("Röhre", 7, 9)))
    assert said == wire.ConsoleHandshake("Röhre", "1.10.0", 7, 9)
    assert wire.read_console_message(body(wii.KEEP_ALIVE)) == wire.KeepAlive()
    assert wire.read_console_message(body(wire.KEEP_ALIVE_MESSAGE)) == wire.KeepAlive()
    # The same values, none of them typed: lists, counted and closed by a bracket, and what is not asked for.
    eight = b"[" + b"".join(b"U%c" % n for n in range(8)) + b"]"
    counted = b"[#U\x02U\x05i\x06"
    odd = b"{U\x04typeI\x00\x02U\x07payload{#U\x06U\x03pos" + eight + b"U\x07nextPos" + eight
    odd += b"U\x08forcePosZU\x04data" + counted + b"U\x01xd\x00\x00\x00\x00U\x01y[{}[NZ]]}"
    cursor = int.from_bytes(bytes(range(8)), "big")
    assert wire.read_console_message(odd) == wire.Replay(cursor, cursor, False, b"\x05\x06")


MESSAGES = [
    wire.console_handshake(wire.ConsoleHandshake("Wii", "1.9.2", 99, 12)),
    wire.replay(wire.Replay(12, 15, False, b"abc")),
    wire.KEEP_ALIVE_MESSAGE,
    wii.replay(15, 615, bytes(600), forced=True),
    wire.client_handshake(1, 2),
]
STREAM = b"".join(MESSAGES)
BODIES = [message[4:] for message in MESSAGES]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 80, len(STREAM)])
def test_messages_cut_anywhere(size: int) -> None:
    messages = wire.Messages()
    found = []
    for at in range(0, len(STREAM), size):
        found += messages.feed(STREAM[at : at + size])
    assert [data for _, data in found] == BODIES
    assert all(STREAM[offset : offset + len(data)] == data for offset, data in found)
    assert not messages.waiting_bytes


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_messages_in_random_splits(cuts: list[int]) -> None:
    messages = wire.Messages()
    at = 0
    found = []
    for cut in [*sorted(cuts), len(STREAM)]:
        found += messages.feed(STREAM[at:cut])
        at = cut
    assert [data for _, data in found] == BODIES


@given(st.binary(max_size=300))
def test_noise(noise: bytes) -> None:
    """Refused, unless it begins as a message does."""
    for read in (wire.read_console_message, wire.read_client_handshake):
        try:
            read(noise)
        except FormatError:
            continue
        assert noise[:1] == b"{"
        assert noise[-1:] == b"}"


@given(st.integers(0, len(STREAM) * 8 - 1), st.integers(0, len(STREAM)))
def test_flipped_and_cut(bit: int, end: int) -> None:
    """A message, or an error that is the other end's; nothing else, and never more memory than bytes came."""
    data = bytearray(STREAM)
    data[bit // 8] ^= 1 << bit % 8
    try:
        for offset, message in wire.Messages().feed(bytes(data[:end])):
            for read in (wire.read_console_message, wire.read_client_handshake):
                try:
                    read(message, offset)
                except FormatError as error:
                    assert offset <= error.offset <= offset + len(message)  # noqa: PT017
    except FramingError:
        pass


@pytest.mark.parametrize(
    "message",
    [
        b"{U\x04typeU\x02U\x07payload[$U#l\x7f\xff\xff\xff}",  # a length of two gigabytes
        b"{U\x04type[$Z#l\x7f\xff\xff\xff}",  # what aborts other readers
        b"{U\x04type[#l\x7f\xff\xff\xff}",
        b"[" * 100_000,
        b"{U\x04type" * 9,
        b"{U\x04typeSl\x7f\xff\xff\xff",
        b"{" + b"N" * 100_000,
        b"{U\x04typeU\x03U\x04typeU\x03}",
        b"{i\xfftypeU\x03}",
        b"[" + b"Z" * 500 + b"]",
        b"",
    ],
)
def test_hostile_messages(message: bytes) -> None:
    with pytest.raises(FieldError):
        wire.read_console_message(message)


@pytest.mark.parametrize("size", [0, wire.MAX_MESSAGE_BYTES + 1, 0xFFFF_FFFF])
def test_hostile_lengths(size: int) -> None:
    messages = wire.Messages()
    assert messages.feed(STREAM) == [(offset, data) for offset, data in wire.Messages().feed(STREAM)]
    with pytest.raises(FramingError) as raised:
        messages.feed(struct.pack(">I", size))
    assert raised.value.offset == len(STREAM)
