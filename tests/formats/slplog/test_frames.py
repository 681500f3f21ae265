"""Blocks of frames: round trips of any events, rejection of damaged blocks, and the predictions."""

from __future__ import annotations

import random
import struct
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.commands import TABLES
from slpstream.formats.slplog import plan, predict
from slpstream.formats.slplog.frames import FrameBlock, compress, decode_block, decompress
from slpstream.formats.slplog.stripes import decode_stripes, encode_stripes
from slpstream.model.errors import FieldError
from tests.formats.slippi.built import varied_replay
from tests.formats.slippi.writer import size_of_table_at

WORDS = st.one_of(
    st.integers(0, predict.WORD),
    st.floats(width=32).map(lambda value: int.from_bytes(struct.pack(">f", value), "big")),
    st.sampled_from([0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x7F7FFFFF, 0x80000000, 1]),
)


def block_of(data: bytes, widths: list[int]) -> FrameBlock:
    block, at = FrameBlock(widths), 0
    while at < len(data):
        block.add(data, at)
        at += widths[data[at]]
    return block


def widths_of(sizes: dict[int, int]) -> list[int]:
    widths = [0] * 256
    for command, width in sizes.items():
        widths[command] = width
    return widths


@st.composite
def some_events(draw: st.DrawFn) -> tuple[list[int], bytes]:
    """Events of random commands, widths and bytes, most of them in a few frames around 100."""
    commands = draw(st.lists(st.sampled_from([*TABLES, 0x10, 0x3D, 0x55, 0x99]), min_size=1, max_size=6, unique=True))
    widths = {
        command: draw(st.one_of(st.integers(1, 0x58), st.just(size_of_table_at(TABLES[command], (3, 18, 0)) + 1)))
        if command in TABLES
        else draw(st.integers(1, 20))
        for command in commands
    }
    dice = random.Random(draw(st.integers(0, 1 << 32)))
    data = bytearray()
    for _ in range(draw(st.integers(1, 60))):
        command = dice.choice(commands)
        body = bytearray(dice.choice((0, 0, 1, 0x3F, 0x80, dice.randrange(256))) for _ in range(widths[command] - 1))
        if command in TABLES and len(body) >= 6:
            body[:6] = struct.pack(">iBB", dice.choice((100, 101, 102, -123)), dice.choice((0, 1, 9)), 0)
        data += bytes([command]) + body
    return widths_of(widths), bytes(data)


@given(some_events())
@settings(max_examples=100)
def test_any_events_round_trip(events: tuple[list[int], bytes]) -> None:
    widths, data = events
    block = block_of(data, widths)
    assert decode_block(block.encode(), len(data)) == data


@pytest.mark.parametrize("command", TABLES)
def test_events_of_any_width_round_trip(command: int) -> None:
    """Other versions of the game, and mods, cut events off after any field."""
    dice = random.Random(command)
    for width in range(1, size_of_table_at(TABLES[command], (3, 18, 0)) + 2):
        data = b"".join(
            (bytes([command]) + struct.pack(">iBB", 100 + number, 0, 0) + dice.randbytes(width))[:width]
            for number in range(3)
        )
        block = block_of(data, widths_of({command: width}))
        assert decode_block(block.encode(), len(data)) == data


def events_of_a_replay() -> tuple[list[int], bytes]:
    data = varied_replay()
    sizes = {data[at]: int.from_bytes(data[at + 1 : at + 3], "big") for at in range(17, 16 + data[16], 3)}
    widths = widths_of({command: size + 1 for command, size in sizes.items()})
    first = 16 + data[16]
    while data[first] not in plan.FRAMED:
        first += widths[data[first]]
    end = first
    while widths[data[end]]:
        end += widths[data[end]]
    return widths, data[first:end]


def test_replay_with_all_kinds_of_events_round_trips() -> None:
    widths, data = events_of_a_replay()
    block = block_of(data, widths)
    assert (block.range.first, block.range.last) == (-123, -93)
    payload = block.encode()
    assert decode_block(payload, len(data)) == data
    assert len(payload) < len(compress(data))


@cache
def decompressed_block() -> tuple[bytes, int]:
    """A block's payload before LZMA compression, and the number of bytes of the replay in it."""
    widths, data = events_of_a_replay()
    return decompress(block_of(data, widths).encode(), 1 << 20, planes=True), len(data)


@given(st.data())
@settings(max_examples=150)
def test_damaged_block_is_rejected_or_gives_other_bytes(data: st.DataObject) -> None:
    good, true_size = decompressed_block()
    inner = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        inner[data.draw(st.integers(0, min(len(inner), 400) - 1))] = data.draw(st.integers(0, 255))
    size = data.draw(st.sampled_from([true_size, true_size, true_size - 1, 0, 1 << 20, 1 << 30]))
    try:
        found = decode_block(compress(bytes(inner), planes=True), size)
    except FieldError:
        return
    assert len(found) == size


def test_decompression_bomb_is_rejected() -> None:
    bomb = compress(bytes(8 << 20))
    assert len(bomb) < 20_000
    with pytest.raises(FieldError, match="more than"):
        decompress(bomb, 1 << 20)
    with pytest.raises(FieldError, match="end where they should"):
        decompress(compress(b"abc") + b"d", 100)


@given(st.lists(WORDS, min_size=1, max_size=30), st.randoms(use_true_random=False), st.booleans())
def test_step_predictions_round_trip(values: list[int], dice: object, straight: bool) -> None:
    parents = None if straight else [dice.randint(0, row) for row in range(len(values))]  # type: ignore[attr-defined]
    speeds = values[::-1]
    steps = [
        predict.linear,
        predict.straight,
        predict.countdown,
        predict.moved((speeds, values), speeds),
        predict.counted([value & 1 for value in values], [value & 2 for value in values]),
    ]
    for step in steps:
        guessed = predict.stepped(values, parents, step)
        assert all(predict.finite(guess) or guess in (0, *values) for guess in guessed)
        differences = predict.float_differences(values, guessed)
        assert predict.undo_steps(differences, parents, step) == values
        assert predict.from_float_differences(differences, guessed) == values


def test_stripes_round_trip() -> None:
    data = bytes(range(256)) * 21
    assert len(data) == 24 * 224
    payload = encode_stripes(data, 24, 1, 17)
    assert decode_stripes(payload, len(data)) == data
    for size in (len(data) - 24, len(data) + 24, 25):
        with pytest.raises(FieldError):
            decode_stripes(payload, size)
