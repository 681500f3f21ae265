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
from slpstream.formats.slippi.assembler import Completion
from slpstream.formats.slippi.frame_index import Walk, frame_index
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
    return kernel.Walk(data, *arguments.values())


def found(data: bytes, *, keep_open: bool = True, **changed: Any) -> Any:
    """The sendings as numbers, slots and repeated events; `None` for too many."""
    _, _, _, arrays = walk(data, **changed).finish(keep_open)
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
    assert walk(data, max_offsets=31 * 41 - 1).finish(True) == (0, 41, 31, None)
    assert found(data, max_offsets=31 * 40, keep_open=False) is not None


def test_walk_can_be_finished_once() -> None:
    once = walk(an_event(FIRST, 1))
    once.finish(True)
    with pytest.raises(ValueError, match="finished"):
        once.finish(True)


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
    with pytest.raises(ValueError, match=r"no walk|256 widths|no rule or width"):
        walk(an_event(FIRST, 1), **changed)


COMMANDS = {0x37: 7, 0x38: 7, 0x3A: 5, 0x3B: 6, 0x3C: 5, 0x40: 6, 0x55: 2}
"""Slippi's commands, just large enough for the rules."""


def assert_walks_agree(data: bytes, players: bytes | None) -> None:
    """Assert that the kernel finds the same events as Python."""
    widths = [COMMANDS.get(command, 0) for command in range(256)]
    completion = None if players is None else Completion((player, False) for player in players)
    python = Walk(data, 0, len(data), widths, completion)
    rules = bytearray(b"." * 256)
    for command, rule in zip((0x37, 0x38, 0x3A, 0x3B, 0x3C, 0x40), b"kls0e1", strict=True):
        rules[command] = rule
    arguments: dict[str, Any] = {"widths": widths, "rules": bytes(rules), "max_counted": 1024, "players": players}
    assert walk(data, **arguments).stop == python.stop
    numbers, slots, repeated = found(data, **arguments)
    assert numbers == [sending.number for sending in python.sendings]
    for slot, offsets in slots.items():
        assert offsets == [sending.slots.get(slot, -1) for sending in python.sendings]
    assert set(slots) == {slot for sending in python.sendings for slot in sending.slots}
    for command, (offsets, firsts) in repeated.items():
        of_sendings = [[at for one, at in sending.repeated if one == command] for sending in python.sendings]
        assert offsets == [at for of_sending in of_sendings for at in of_sending]
        assert firsts == [sum(map(len, of_sendings[:row])) for row in range(len(of_sendings) + 1)]
    assert set(repeated) == {command for sending in python.sendings for command, _ in sending.repeated}


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


COLUMNS = ((2, b"i", 0), (3, b"?", 0), (0, b"f", 1), (0, b"?", 5), (0, b"H", 6), (1, b"b", 1), (-1, b"f", 0))
FIELDS = [pa.int32(), pa.bool_(), pa.float32(), pa.bool_(), pa.uint16(), pa.int8(), pa.float32()]
SCHEMA = pa.schema([pa.field(str(index), kind) for index, kind in enumerate(FIELDS)])
EVENT_BYTES = 8


def filled(
    data: bytes, *groups: tuple[Any, ...], wanted: tuple[int, ...] = (), selection: tuple[int, Any] | None = None
) -> pa.Table:
    assert kernel is not None
    address, owner = kernel.Table(COLUMNS, 2, 2, wanted).fill(data, groups, selection)
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
        groups.append((len(rows), tuple(arrays), (np.array([row[2] for row in rows], np.int32), bytes([flag]))))
        for one, other, number in rows:
            if one >= 0:
                real_bits, _, short = struct.unpack_from(">I?H", data, one + 1)
                values = [real_bits, data[one + 5] != 0, short]
                small = [None if other < 0 else struct.unpack_from(">b", data, other + 1)[0]]
                expected.append([number, flag, *values, *small, None])
    table = filled(data, *groups, wanted=(0,))
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
    address, owner = kernel.Table(tuple(columns), 1, 0, ()).fill(data, ((rows, (offsets,), ()),), None)
    schema = pa.schema([pa.field(str(index), kinds[code.decode()]) for index, (_, code, _) in enumerate(columns)])
    batch = pa.RecordBatch._import_from_c(address, schema)
    del owner
    for (_, kind, offset), column in zip(columns, batch.columns, strict=True):
        code = "I" if kind == b"f" else kind.decode()
        expected = [struct.unpack_from(f">{code}", data, at + offset)[0] for at in offsets.tolist()]
        assert bits_of(column).to_pylist() == expected


def test_all_rows_count_if_no_event_is_wanted() -> None:
    absent = np.full(300, -1)
    table = filled(bytes(8), (300, (absent, absent), (np.arange(300, dtype=np.int32), b"\1")))
    assert table["0"].to_pylist() == list(range(300))
    assert table["1"].to_pylist() == [True] * 300
    assert all(table[str(index)].null_count == 300 for index in range(2, 7))


def test_rows_are_selected_from_the_offsets() -> None:
    data = bytes(range(40))
    which = np.array([4, 0, 0, 2])
    offsets = np.array([0, 8, 16, 24, -1])
    keys = (np.array([7, 8, 9, 10], np.int32), b"\1")
    table = filled(data, (4, (offsets, offsets), keys), wanted=(0,), selection=(5, which))
    assert table["0"].to_pylist() == [8, 9, 10]
    assert table["5"].to_pylist() == [1, 1, 17]
    absent = filled(data, (4, (offsets, None), keys), selection=(5, which))
    assert absent["5"].to_pylist() == [None] * 4
    assert absent["4"].to_pylist() == [None, 0x0607, 0x0607, 0x1617]
    assert filled(data, (4, (None, offsets), keys), wanted=(0,), selection=(5, which)).num_rows == 0


@pytest.mark.parametrize(
    "selection", [(2, [0, 2]), (2, [0, -1]), (-1, []), (2**62, [0, 0]), (2, [0, 0, 0]), (1, [0, 0])]
)
def test_impossible_selections_are_refused(selection: tuple[int, list[int]]) -> None:
    offsets = np.zeros(2, np.int64)
    group = (2, (offsets, offsets), (np.zeros(2, np.int32), b"\0"))
    with pytest.raises(ValueError, match=r"other sizes|offsets that there are not"):
        filled(bytes(8), group, selection=(selection[0], np.array(selection[1], np.int64)))


def test_columns_outlive_the_table() -> None:
    zeros = np.zeros(2, np.int64)
    column = filled(bytes(range(1, 9)), (2, (zeros, zeros), (np.zeros(2, np.int32), b"\0")))["4"]
    assert column.to_pylist() == [0x0708, 0x0708]


def test_unclaimed_table_is_freed() -> None:
    assert kernel is not None
    zeros = np.zeros(100_000, np.int64)
    plan = kernel.Table(COLUMNS, 2, 2, ())
    for _ in range(50):
        plan.fill(bytes(8), ((100_000, (zeros, zeros), (np.zeros(1, np.int32), b"\0")),), None)


@pytest.mark.parametrize("offset", [1, 2, 1 << 40, 2**63 - 1])
def test_events_outside_of_the_data_are_refused(offset: int) -> None:
    offsets = np.array([0, offset])
    with pytest.raises(ValueError, match="outside of the data"):
        filled(bytes(EVENT_BYTES), (2, (offsets, np.zeros(2, np.int64)), (np.zeros(2, np.int32), b"\0")))


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
    with pytest.raises(ValueError, match="other sizes"):
        filled(bytes(EVENT_BYTES), group)


@pytest.mark.parametrize(
    ("columns", "events", "given", "wanted"),
    [
        (((0, b"q", 0),), 1, 0, ()),
        (((0, b"n", 0),), 1, 0, ()),
        (((0, b"I", -1),), 1, 0, ()),
        (((0, b"I", 1 << 40),), 1, 0, ()),
        (((2, b"I", 0),), 1, 1, ()),
        (((-2, b"I", 0),), 1, 1, ()),
        (((0, b"I", 0), (0, b"H", 0)), 0, 1, ()),
        ((), 1, 0, (1,)),
        ((), -1, 0, ()),
        ((), 1 << 40, 0, ()),
    ],
)
def test_impossible_tables_are_refused(columns: Any, events: int, given: int, wanted: Any) -> None:
    assert kernel is not None
    with pytest.raises(ValueError, match=r"no column|too many|no event|one width"):
        kernel.Table(columns, events, given, wanted)


@pytest.mark.parametrize("width", range(100))
def test_events_that_are_too_small_for_the_kernel_are_not_given_to_it(width: int) -> None:
    assert len(frame_index(bytes(8), 0, 0, (width,) * 256, ()).numbers) == 0
