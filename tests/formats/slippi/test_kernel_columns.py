"""The compiled kernel finds events and fills tables as Python does, and never reads outside of the data."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS
from slpstream.formats.slippi.frame_index import Slot, find_events, frame_index
from tests.formats.slippi.agreement import assert_agree
from tests.formats.slippi.built import OFFLINE, ONLINE, Built, bookend, item, post, pre, start
from tests.project import IN_CI

pytestmark = pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here")

NOTHING, PLAIN, FIRST, BEFORE, AFTER, COUNTED, LAST = range(7)
RULES = bytes([*b" .skl0e", *b"." * 249])
WIDTHS = [2, 3, 9, 8, 8, 6, 5, *[0] * 249]
PLACES = (1, 5, 6)
MAX_OFFSETS = 1000


def walk(data: bytes, **changed: Any) -> Any:
    assert kernel is not None
    arguments = {
        "start": 0,
        "limit": len(data),
        "widths": WIDTHS,
        "rules": RULES,
        "places": PLACES,
        "max_counted": 2,
        "max_offsets": MAX_OFFSETS,
        "players": None,
    } | changed
    described = tuple(arguments.pop(name) for name in ("widths", "rules", "places"))
    start, limit, *others = arguments.values()
    return kernel.walk(data, start, limit, described, *others)


def found(data: bytes, **changed: Any) -> Any:
    """The sendings as numbers, slots and repeated events; `None` for too many."""
    *_, arrays = walk(data, **changed)
    if arrays is None:
        return None
    numbers, slots, repeated = arrays
    return (
        np.frombuffer(numbers, np.int32).tolist(),
        {tuple(slot): np.frombuffer(offsets, np.int64).tolist() for *slot, offsets in slots},
        {c: (np.frombuffer(o, np.int64).tolist(), np.frombuffer(f, np.int64).tolist()) for c, o, f in repeated},
    )


def an_event(command: int, number: int = 0, player: int = 0, follower: int = 0) -> bytes:
    head = struct.pack(">BiBB", command, number, player, follower)
    return head[: WIDTHS[command]].ljust(WIDTHS[command], b"\0")


@settings(max_examples=60)
@given(st.data())
def test_games_of_any_events(draw: st.DataObject) -> None:
    """Events of few characters and numbers in any order, with and without bookends, some before an unreadable byte."""
    version = draw.draw(st.sampled_from([(0, 1, 0), (2, 2, 0), (3, 3, 0), (3, 18, 0)]))
    game = Built(version, major_scene=ONLINE if version >= (3, 0, 0) else OFFLINE)
    of_character = st.builds(
        lambda make, number, player, follower: make(number, player, follower=follower),
        st.sampled_from([pre, post]),
        st.integers(-123, -121),
        st.integers(0, 1),
        st.booleans(),
    )
    of_frame = st.builds(lambda make, number: make(number), st.sampled_from([start, bookend, item]), st.just(-123))
    for event in draw.draw(st.lists(of_character | of_frame, max_size=40)):
        game.add(event)
    assert_agree(game.so_far() + b"\xee" if draw.draw(st.booleans()) else game.end().closed())


def test_repeated_events_have_a_limit() -> None:
    data = an_event(COUNTED, 1) * 5 + an_event(COUNTED, 2)
    assert found(data) == ([1, 2], {}, {COUNTED: ([0, 6, 30], [0, 2, 3])})


def test_no_more_offsets_than_the_limit() -> None:
    data = b"".join(an_event(BEFORE, 1, player) for player in range(30)) + an_event(FIRST, 2) * 40
    assert found(data, max_offsets=31 * 41) is not None
    assert walk(data, max_offsets=31 * 41 - 1) == (len(data), True, 0, 41, 31, None)


def test_last_sending_is_cut_off_without_its_end() -> None:
    def is_cut(data: bytes, **changed: Any) -> bool:
        _, is_cut, *_ = walk(data, **changed)
        return bool(is_cut)

    assert not is_cut(b"")
    assert is_cut(an_event(FIRST, 1))
    assert not is_cut(an_event(FIRST, 1) + an_event(LAST, 1))
    assert is_cut(an_event(BEFORE, 1, 2), players=b"\2")
    assert not is_cut(an_event(BEFORE, 1, 2) + an_event(AFTER, 1, 2), players=b"\2")
    assert is_cut(an_event(BEFORE, 1, 2) + an_event(AFTER, 1, 2), players=b"\2\3")


@pytest.mark.parametrize(
    "changed",
    [
        {"start": -1},
        {"limit": 10},
        {"widths": WIDTHS[:-1]},
        {"widths": [*WIDTHS[:2], 4, *WIDTHS[3:]]},
        {"widths": [*WIDTHS[:3], 6, *WIDTHS[4:]]},
        {"widths": [-1, *WIDTHS[1:]]},
        {"widths": [1 << 40, *WIDTHS[1:]]},
        {"rules": RULES[:-1]},
        {"rules": RULES[:-1] + b"?"},
        {"places": (-1, 5, 6)},
        {"places": (1, 5, 1 << 40)},
        {"max_counted": -1},
        {"max_offsets": -1},
    ],
    ids=str,
)
def test_impossible_walks_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"invalid walk|256 widths|no rule or width"):
        walk(an_event(FIRST, 1), **changed)


COMMANDS = {0x37: 7, 0x38: 7, 0x3A: 5, 0x3B: 6, 0x3C: 5, 0x40: 6, 0x55: 2}
"""Slippi's commands, just large enough for the rules."""


def assert_walks_agree(data: bytes, players: bytes | None) -> None:
    """Assert that the kernel finds the same events as Python."""
    assert kernel is not None
    rules = bytearray(b"." * 256)
    for command, rule in zip((0x37, 0x38, 0x3A, 0x3B, 0x3C, 0x40), b"kls0e1", strict=True):
        rules[command] = rule
    events = [COMMANDS.get(command, 0) for command in range(256)], bytes(rules), PLACES
    python, is_cut = find_events(data, 0, len(data), events, players)
    stop, is_cut_too, *_, (numbers, slots, repeated) = kernel.walk(
        data, 0, len(data), events, MAX_REPEATED_EVENTS, MAX_OFFSETS, players
    )
    assert (stop, is_cut_too) == (python.stop, is_cut)
    assert np.array_equal(np.frombuffer(numbers, np.int32), python.numbers)
    assert [Slot(*slot) for *slot, _ in slots] == [*python.slots]
    for *slot, offsets in slots:
        assert np.array_equal(np.frombuffer(offsets, np.int64), python.slots[Slot(*slot)])
    assert [command for command, _, _ in repeated] == [*python.repeated]
    for command, *arrays in repeated:
        assert all(map(np.array_equal, [np.frombuffer(array, np.int64) for array in arrays], python.repeated[command]))


@given(st.binary(max_size=200), st.none() | st.binary(max_size=2))
def test_walk_over_any_bytes_agrees_with_python(data: bytes, players: bytes | None) -> None:
    assert_walks_agree(bytes(sorted(COMMANDS)[byte % 7] if byte > 15 else byte % 3 for byte in data), players)


EVENT = st.tuples(st.sampled_from(sorted(COMMANDS)), st.integers(0, 1), st.integers(0, 1))
FRAME = st.sampled_from(
    [[0x37, 0x37, 0x38, 0x38], [0x3A, 0x37, 0x3B, 0x38, 0x3C], [0x55, 0x3A, 0x37, 0x38, 0x40, 0x3C]]
)


@given(
    st.lists(EVENT, min_size=1, max_size=6) | FRAME.map(lambda frame: [(c, i % 2, 0) for i, c in enumerate(frame)]),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 300), st.integers(-1, 1)), max_size=2),
    st.none() | st.just(b"\0\1"),
    st.data(),
)
def test_walk_over_repeated_frames_agrees_with_python(
    frame: list[tuple[int, int, int]],
    count: int,
    changes: list[tuple[int, int]],
    players: bytes | None,
    draw: st.DataObject,
) -> None:
    """The kernel compares each frame with the one before."""
    data = bytearray()
    for number in range(count):
        for command, player, follower in frame:
            data += struct.pack(">BiBB", command, number, player, follower)[: COMMANDS[command]]
    for at, change in changes:
        data[at % len(data)] = (data[at % len(data)] + change) % 256
    assert_walks_agree(bytes(data[: draw.draw(st.integers(0, len(data)))]), players)


COLUMNS = ((2, b"i", 0), (2, b"?", 0), (0, b"f", 1), (0, b"?", 5), (0, b"H", 6), (1, b"b", 1), (-1, b"f", 0))
FIELDS = [pa.int32(), pa.bool_(), pa.float32(), pa.bool_(), pa.uint16(), pa.int8(), pa.float32()]
SCHEMA = pa.schema([pa.field(str(index), kind) for index, kind in enumerate(FIELDS)])
EVENT_BYTES = 8


def filled(data: bytes, *groups: tuple[Any, ...]) -> pa.Table:
    assert kernel is not None
    address, owner = kernel.Table(COLUMNS, 2).fill(data, groups)
    table = pa.Table.from_batches([pa.RecordBatch._import_from_c(address, SCHEMA)])
    del owner
    table.validate(full=True)
    return table


def bits_of(column: pa.Array) -> pa.Array:
    """A column of floats as the integers with the same bits: Python versions treat NaNs differently."""
    return column.view(pa.uint32()) if column.type == pa.float32() else column


@given(st.binary(min_size=EVENT_BYTES, max_size=64), st.data())
def test_tables_have_the_values_of_the_events(data: bytes, draw: st.DataObject) -> None:
    offsets = st.sampled_from([-1, *range(len(data) - EVENT_BYTES + 1)])
    groups, expected = [], []
    for _ in range(draw.draw(st.integers(0, 3))):
        rows = draw.draw(st.lists(st.tuples(offsets, offsets, st.integers(0, 9)), max_size=300))
        flag = draw.draw(st.booleans())
        arrays = [np.array([row[i] for row in rows], np.int64) for i in range(2)]
        groups.append((len(rows), None, tuple(arrays), (np.array([row[2] for row in rows], np.int32), bytes([flag]))))
        for one, other, number in rows:
            real_bits, _, short = struct.unpack_from(">I?H", data, max(one, 0) + 1)
            values = [None] * 3 if one < 0 else [real_bits, data[one + 5] != 0, short]
            small = [None if other < 0 else struct.unpack_from(">b", data, other + 1)[0]]
            expected.append([number, flag, *values, *small, None])
    table = filled(data, *groups)
    columns = [bits_of(column.combine_chunks()).to_pylist() for column in table.columns]
    assert [list(row) for row in zip(*columns, strict=True)] == expected


@given(
    st.integers(0, 300),
    st.lists(st.tuples(st.sampled_from("fIiHhBb?"), st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=5),
    st.data(),
)
def test_columns_that_are_neighbours(rows: int, runs: list[tuple[str, int, int]], draw: st.DataObject) -> None:
    """They are written several at a time. The first event is at the start of the data, the last one at its end."""
    assert kernel is not None
    kinds = {"f": pa.float32(), "I": pa.uint32(), "i": pa.int32(), "H": pa.uint16(), "h": pa.int16()}
    kinds |= {"B": pa.uint8(), "b": pa.int8(), "?": pa.bool_()}
    columns, width = [], 0
    for code, count, gap in runs:
        width += gap
        for _ in range(count):
            columns.append((0, code.encode(), width))
            width += struct.calcsize(f"={code}")
    data = draw.draw(st.binary(min_size=width, max_size=width + 40))
    offsets = np.arange(rows) % (len(data) - width + 1)
    address, owner = kernel.Table(tuple(columns), 1).fill(data, ((rows, None, (offsets,), ()),))
    schema = pa.schema([pa.field(str(index), kinds[code.decode()]) for index, (_, code, _) in enumerate(columns)])
    batch = pa.RecordBatch._import_from_c(address, schema)
    del owner
    for (_, kind, offset), column in zip(columns, batch.columns, strict=True):
        code = "I" if kind == b"f" else kind.decode()
        expected = [struct.unpack_from(f">{code}", data, at + offset)[0] for at in offsets.tolist()]
        assert bits_of(column).to_pylist() == expected


def test_absent_events_are_null() -> None:
    absent = np.full(300, -1)
    table = filled(bytes(8), (300, None, (absent, absent), (np.arange(300, dtype=np.int32), b"\1")))
    assert table["0"].to_pylist() == list(range(300))
    assert table["1"].to_pylist() == [True] * 300
    assert all(table[str(index)].null_count == 300 for index in range(2, 7))


def test_rows_are_selected_from_the_offsets() -> None:
    data = bytes(range(40))
    which = np.array([4, 0, 0, 2])
    offsets = np.array([0, 8, 16, 24, -1])
    keys = (np.array([7, 8, 9, 10], np.int32), b"\1")
    table = filled(data, (4, which, (offsets, offsets), keys))
    assert table["0"].to_pylist() == [7, 8, 9, 10]
    assert table["5"].to_pylist() == [None, 1, 1, 17]
    absent = filled(data, (4, which, (offsets, None), keys))
    assert absent["5"].to_pylist() == [None] * 4
    assert absent["4"].to_pylist() == [None, 0x0607, 0x0607, 0x1617]


@pytest.mark.parametrize("which", [[0, 2], [0, -1], [0, 2**62], [0, 0, 0]])
def test_impossible_selections_are_refused(which: list[int]) -> None:
    offsets = np.zeros(2, np.int64)
    group = (2, np.array(which), (offsets, offsets), (np.zeros(2, np.int32), b"\0"))
    with pytest.raises(ValueError, match=r"other sizes|outside of the data"):
        filled(bytes(8), group)


@pytest.mark.parametrize("rows", [0, 3, 300])
def test_columns_are_read_into_arrays(rows: int) -> None:
    assert kernel is not None
    data = bytes(range(1, 40))
    offsets = np.arange(rows) % 34 - 1
    table = kernel.Table(((0, b"f", 1), (0, b"B", 5)), 1)
    reals, small = np.full(rows, 7, np.uint32), np.full(rows, 7, np.uint8)
    table.read(data, offsets, (reals, small))
    at = offsets.tolist()
    assert reals.tolist() == [0x7FC00000 if i < 0 else int.from_bytes(data[i + 1 : i + 5], "big") for i in at]
    assert small.tolist() == [0 if i < 0 else data[i + 5] for i in at]


READ = (((0, b"H", 1),), 1)


@pytest.mark.parametrize(
    ("table", "offsets", "columns", "message"),
    [
        (READ, [0, 1], (bytearray(2),), "another size"),
        (READ, [0, 1], (bytearray(4), bytearray(4)), "an array for each column"),
        (READ, [0, 6], (bytearray(4),), "outside of the data"),
        (READ, [0, 1], (bytes(4),), "writable"),
        ((((0, b"?", 1),), 1), [0, 1], (bytearray(2),), "another size"),
        ((((0, b"H", 1),), 2), [0, 1], (bytearray(4),), "one event"),
        ((((1, b"H", 1),), 1), [0, 1], (bytearray(4),), "one event"),
    ],
)
def test_impossible_reads_are_refused(table: Any, offsets: list[int], columns: Any, message: str) -> None:
    assert kernel is not None
    with pytest.raises((ValueError, BufferError), match=message):
        kernel.Table(*table).read(bytes(8), np.array(offsets), columns)


def test_columns_outlive_the_table() -> None:
    zeros = np.zeros(2, np.int64)
    column = filled(bytes(range(1, 9)), (2, None, (zeros, zeros), (np.zeros(2, np.int32), b"\0")))["4"]
    assert column.to_pylist() == [0x0708, 0x0708]


def test_unclaimed_table_is_freed() -> None:
    assert kernel is not None
    zeros = np.zeros(100_000, np.int64)
    plan = kernel.Table(COLUMNS, 2)
    for _ in range(50):
        plan.fill(bytes(8), ((100_000, None, (zeros, zeros), (np.zeros(1, np.int32), b"\0")),))


@pytest.mark.parametrize("offset", [1, 2, 1 << 40, 2**63 - 1])
def test_events_outside_of_the_data_are_refused(offset: int) -> None:
    offsets = np.array([0, offset])
    with pytest.raises(ValueError, match="outside of the data"):
        filled(bytes(EVENT_BYTES), (2, None, (offsets, np.zeros(2, np.int64)), (np.zeros(2, np.int32), b"\0")))


@pytest.mark.parametrize(
    "group",
    [
        (3, (np.zeros(2, np.int64), np.zeros(3, np.int64)), (np.zeros(3, np.int32), b"\0")),
        (3, (np.zeros(3, np.int64), np.zeros(3, np.int64)), (np.zeros(2, np.int32), b"\0")),
        (3, (np.zeros(3, np.int64), np.zeros(3, np.int64)), (np.zeros(3, np.int32), b"\0\0")),
        (3, (np.zeros(3, np.int64),), (np.zeros(3, np.int32), b"\0")),
        (-1, (b"", b""), (b"", b"\0")),
        (2**62, (b"", b""), (b"", b"\0")),
    ],
    ids=["short offsets", "short values", "short flags", "no offsets", "negative", "huge"],
)
def test_groups_of_other_sizes_are_refused(group: tuple[Any, ...]) -> None:
    rows, *sources = group
    with pytest.raises(ValueError, match="other sizes"):
        filled(bytes(EVENT_BYTES), (rows, None, *sources))


@pytest.mark.parametrize(
    ("columns", "events"),
    [
        (((0, b"q", 0),), 1),
        (((0, b"n", 0),), 1),
        (((0, b"I", -1),), 1),
        (((0, b"I", 1 << 40),), 1),
        (((2, b"I", 0),), 1),
        (((-2, b"I", 0),), 1),
        ((), -1),
        ((), 1 << 40),
    ],
)
def test_impossible_tables_are_refused(columns: Any, events: int) -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match=r"no column|too many"):
        kernel.Table(columns, events)


@pytest.mark.parametrize("width", range(100))
def test_events_that_are_too_small_for_the_kernel_are_not_given_to_it(width: int) -> None:
    assert len(frame_index(bytes(8), 0, 0, (width,) * 256, ()).numbers) == 0
