"""Messages of the console protocol: the layout of our own, every form of a console's, and invalid bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slpstream.model.errors import FieldError, FormatError, FramingError
from slpstream.parts.consoles import wire
from tests.parts.consoles import wii

CURSORS = st.integers(0, (1 << 64) - 1)
TOKENS = st.integers(0, (1 << 32) - 1)
LONG = st.binary(max_size=600)


def body(message: bytes) -> bytes:
    assert struct.unpack(">I", message[:4])[0] == len(message) - 4
    return message[4:]


@given(CURSORS, TOKENS, st.booleans())
def test_client_handshake_has_the_offsets_that_consoles_read(cursor: int, token: int, realtime: bool) -> None:
    message = body(wire.encode_client_handshake(cursor, token, realtime=realtime))
    assert len(message) == wii.CLIENT_HANDSHAKE_BYTES == 79
    assert message[8] == 1
    assert message[33:41] == cursor.to_bytes(8, "big")
    assert message[60:64] == token.to_bytes(4, "big")
    assert message[76:77] == (b"T" if realtime else b"F")
    assert wire.decode_client_handshake(message) == wire.ClientHandshake(cursor, token, realtime)
    assert wii.read_client_handshake(message) == (cursor, token, realtime)


@given(st.text("aé字\0€😀", max_size=40), CURSORS, TOKENS)
def test_console_handshake_round_trip(nick: str, cursor: int, token: int) -> None:
    message = wire.encode_console_handshake(wire.ConsoleHandshake(nick, "1.11", token, cursor))
    handshake = wire.decode_console_message(body(message))
    assert isinstance(handshake, wire.ConsoleHandshake)
    assert (handshake.cursor, handshake.token, handshake.version) == (cursor, token, "1.11")
    assert len(handshake.nick.encode()) <= 32
    expected = nick.encode("utf-8", "replace").decode().rstrip("\0")
    assert expected.startswith(handshake.nick)


@given(CURSORS, CURSORS, st.booleans(), LONG)
def test_replay_round_trip(cursor: int, next_cursor: int, forced: bool, data: bytes) -> None:
    message = wire.Replay(cursor, next_cursor, forced, data)
    assert wire.decode_console_message(body(wire.encode_replay(message))) == message
    for length in "Il":
        theirs = wii.replay(cursor, next_cursor, data, forced=forced, length=length)
        assert wire.decode_console_message(body(theirs)) == message


def test_other_encodings_of_the_same_values() -> None:
    message = wire.decode_console_message(body(wii.handshake("Röhre", 7, 9)))
    assert message == wire.ConsoleHandshake("Röhre", "1.10.0", 7, 9)
    assert wire.decode_console_message(body(wii.KEEP_ALIVE)) == wire.KeepAlive()
    assert wire.decode_console_message(body(wire.KEEP_ALIVE_MESSAGE)) == wire.KeepAlive()
    # Untyped arrays, with a count or a closing bracket, and keys that the protocol does not have.
    eight = b"[" + b"".join(b"U%c" % n for n in range(8)) + b"]"
    counted = b"[#U\x02U\x05i\x06"
    odd = b"{U\x04typeI\x00\x02U\x07payload{#U\x06U\x03pos" + eight + b"U\x07nextPos" + eight
    odd += b"U\x08forcePosZU\x04data" + counted + b"U\x01xd\x00\x00\x00\x00U\x01y[{}[NZ]]}"
    cursor = int.from_bytes(bytes(range(8)), "big")
    assert wire.decode_console_message(odd) == wire.Replay(cursor, cursor, False, b"\x05\x06")


MESSAGES = [
    wire.encode_console_handshake(wire.ConsoleHandshake("Wii", "1.9.2", 99, 12)),
    wire.encode_replay(wire.Replay(12, 15, False, b"abc")),
    wire.KEEP_ALIVE_MESSAGE,
    wii.replay(15, 615, bytes(600), forced=True),
    wire.encode_client_handshake(1, 2),
]
STREAM = b"".join(MESSAGES)
BODIES = [message[4:] for message in MESSAGES]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
@example(splits=list(range(len(STREAM))))
def test_messages_in_any_splits(splits: list[int]) -> None:
    messages = wire.MessageFramer()
    start = 0
    found = []
    for end in [*sorted(splits), len(STREAM)]:
        found += messages.feed(STREAM[start:end])
        start = end
    assert [data for _, data in found] == BODIES
    assert all(STREAM[offset : offset + len(data)] == data for offset, data in found)
    assert not messages.buffered_bytes


@given(st.binary(max_size=300))
def test_noise_is_refused(noise: bytes) -> None:
    """Unless it happens to look like a message."""
    for read in (wire.decode_console_message, wire.decode_client_handshake):
        try:
            read(noise)
        except FormatError:
            continue
        assert noise[:1] == b"{"
        assert noise[-1:] == b"}"


@given(st.integers(0, len(STREAM) * 8 - 1), st.integers(0, len(STREAM)))
def test_flipped_and_truncated_messages(bit: int, end: int) -> None:
    """They are decoded or raise a `FormatError`, and nothing else."""
    data = bytearray(STREAM)
    data[bit // 8] ^= 1 << bit % 8
    try:
        for offset, message in wire.MessageFramer().feed(bytes(data[:end])):
            for read in (wire.decode_console_message, wire.decode_client_handshake):
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
        b"{U\x04type[$Z#l\x7f\xff\xff\xff}",  # aborts other parsers
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
        wire.decode_console_message(message)


@pytest.mark.parametrize("size", [0, wire.MAX_MESSAGE_BYTES + 1, 0xFFFF_FFFF])
def test_hostile_lengths(size: int) -> None:
    messages = wire.MessageFramer()
    assert messages.feed(STREAM) == [(offset, data) for offset, data in wire.MessageFramer().feed(STREAM)]
    with pytest.raises(FramingError) as raised:
        messages.feed(struct.pack(">I", size))
    assert raised.value.offset == len(STREAM)
