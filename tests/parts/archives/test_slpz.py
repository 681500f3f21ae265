"""`.slpz`: every replay that the format can hold comes back byte by byte, and damaged files are refused in one line."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.api import messages
from slpstream.model.errors import FormatError, Unsupported
from slpstream.parts.archives import slpz
from slpstream.parts.archives.compressed import read_replay
from tests.formats.slippi.built import Built, varied_replay
from tests.parts.archives.slpz_writer import Refused, assemble, block, pack, zstd
from tests.replays import NOT_REPLAYS, replays

_LIMIT = 1 << 20
REFUSED = {
    "crashed_2.1",
    "crashed_3.18",
    "in_progress_2.2",
    "in_progress_3.18",
    "corrupt",
    "incomplete",
    *NOT_REPLAYS,
    "Slippipedia__replays__fox-pika-crashing",
    "slippc__corrupt__corrupt-commandbytes",
}
"""Files without a raw length, which the format cannot hold, and those in which no game begins."""


def unpack(data: bytes, max_bytes: int = _LIMIT) -> bytes:
    def decompress(frame: bytes, size: int) -> bytes:
        found: bytes = zstd().ZstdDecompressor().decompress(frame, size + 1)
        return found

    return slpz.unpack(data, decompress, max_bytes)


def small() -> bytes:
    return Built((3, 18, 0)).frames(-123, -110).end().closed()


@pytest.mark.slow
def test_replays_round_trip() -> None:
    """The original tool refuses the same of the real ones."""
    refused = set()
    for path in replays():
        replay = path.read_bytes()
        try:
            packed = pack(replay)
        except Refused:
            refused.add(path.stem)
            continue
        assert unpack(packed, 64 << 20) == replay, path.name
    assert refused == REFUSED & {path.stem for path in replays()}


@pytest.mark.parametrize("replay", [small(), varied_replay(), Built((0, 1, 0)).frames(-123, -120).end().closed(None)])
def test_built_replays_round_trip(replay: bytes) -> None:
    assert unpack(pack(replay)) == replay


def test_messages_equal_those_of_the_replay(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.slp", tmp_path / "a.slpz"
    plain.write_bytes(varied_replay())
    packed.write_bytes(pack(varied_replay()))
    assert [m.json() for m in messages(packed)] == [m.json() for m in messages(plain)]


@pytest.mark.parametrize("size", [0, 3, 1 << 20, 0xFFFFFFFF])
def test_declared_size_is_checked_before_unpacking(size: int) -> None:
    def decompress(frame: bytes, size: int) -> bytes:
        raise AssertionError("unpacked")

    data = bytearray(pack(small()))
    struct.pack_into(">I", data, 20, size)
    with pytest.raises(FormatError, match="claims"):
        slpz.unpack(bytes(data), decompress, (1 << 20) - 1)


def test_later_version_is_refused() -> None:
    with pytest.raises(Unsupported, match="version 1"):
        unpack(b"\0\0\0\1" + pack(small())[4:])


_PAYLOADS = bytes([0x35, 7, 0x36, 0, 2, 0x37, 0, 3])
_START = b"\x36ab"


@pytest.mark.parametrize(
    ("payloads", "start", "metadata", "plain", "what"),
    [
        (_PAYLOADS, _START, b"}", block([b"\x37abc"])[:-1], "do not fill"),
        (_PAYLOADS, _START, b"}", block([b"\x37abc"]) + b"x", "do not fill"),
        (_PAYLOADS, _START, b"}", struct.pack(">I", 9) + b"\x37abc", "do not fit"),
        (_PAYLOADS, _START, b"}", block([b"\x39abc"]), "0x39 is not declared"),
        (_PAYLOADS, b"\x37ab", b"}", block([]), "Game Start"),
        (_PAYLOADS, b"\x36a", b"}", block([]), "Game Start"),
        (_PAYLOADS, _START, b"nonsense", block([]), "metadata"),
        (_PAYLOADS, _START, b"U\x08metadata{", block([]), "metadata"),
        (b"\x35\x06" + _PAYLOADS[2:], _START, b"}", block([]), "Event Payloads"),
        (b"\x34" + _PAYLOADS[1:], _START, b"}", block([]), "Event Payloads"),
    ],
)
def test_damaged_sections_are_refused(payloads: bytes, start: bytes, metadata: bytes, plain: bytes, what: str) -> None:
    with pytest.raises(FormatError, match=what):
        unpack(assemble(payloads, start, metadata, plain))


def test_more_events_than_any_game_has_are_refused() -> None:
    """Each of them would take more memory than its bytes."""
    payloads = bytes([0x35, 7, 0x36, 0, 2, 0x37, 0, 0])
    for count, refused in ((4 << 20, False), ((4 << 20) + 1, True)):
        packed = assemble(payloads, _START, b"}", struct.pack(">I", count) + b"\x37" * count)
        if refused:
            with pytest.raises(FormatError, match="4,194,305 events are more than any game has"):
                unpack(packed, 8 << 20)
        else:
            assert unpack(packed, 8 << 20).count(b"\x37") == count + 1


def test_replay_without_metadata_round_trips() -> None:
    assert unpack(assemble(_PAYLOADS, _START, b"", block([b"\x37abc"]))).endswith(b"\x37abc")


def test_block_of_another_size_is_refused() -> None:
    plain = block([b"\x37abc"])
    for size in (len(plain) - 1, len(plain) + 1):
        with pytest.raises(FormatError, match="another size"):
            unpack(assemble(_PAYLOADS, _START, b"}", plain, size=size))


@pytest.mark.parts("archives")
@given(st.data())
def test_mutated_files_are_refused_or_read_within_the_limit(data: st.DataObject) -> None:

    packed = bytearray(pack(small()))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(packed), 900) - 1))
        packed[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packed)))
    for mutated in (bytes(packed), bytes(packed[:cut])):
        try:
            found = read_replay("a.slpz", io.BytesIO(mutated))
        except (FormatError, OSError) as error:
            found = str(error).encode()
        assert len(found) < len(small()) + 64
