"""A whole game as columns: each field of each event as one numpy array over all frames.

`frame_index` finds the events; this module turns them into arrays on demand. A row of an event is a structured array
with the dtype of its field table, taken straight from the file's bytes: a strided view where the events lie at one
stride, a gather elsewhere. A column is one such field in the machine's byte order, converted on first use and kept.

`FrameColumns` has one row for each frame number, ascending, with the values of its last sending, so rollbacks are
right by default; `FrameColumns.sendings` has a row for every sending, in file order. All columns are aligned: row i of
each belongs to frame `number[i]`. Where a character has no event in a frame (out of stocks, or a follower that is gone)
`present` is false, floats are NaN, and everything else is 0 or False.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
)
from slpstream.formats.slippi.offsets import ABSENT, FrameIndex, Offsets, Slot, stride_of
from slpstream.model.fields import BOOL, F32, I8, I16, I32, U8, U16, U32, Block, Layout, Table

_NATIVE = {kind.numpy: np.dtype(kind.numpy).newbyteorder("=") for kind in (U8, I8, U16, I16, U32, I32, F32)}
_NATIVE[BOOL.numpy] = np.dtype(np.uint8)

_BLOCKS_BEFORE_ALL = 3
_KEYS = frozenset({"frame", "player_index", "is_follower"})
_BLOCK_NAMES = [str(index) for index in range(256)]
_LARGE_BLOCK_BYTES = 31 << 20
"""Just below 32 MiB, the largest block to which glibc adapts its limit."""

_KEPT_TYPES = 512
_DENSE = 4
"""Numbers are dense if they fill at least a quarter of the range from the first to the last."""

_AS_BYTE = {BOOL.numpy: U8.numpy}
"""Flags are read as bytes, because they can have any value and a numpy bool only 0 or 1."""

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@cache
def keep_freed_memory() -> None:
    """Make the allocator keep freed memory, once per process, for programs that read one replay after another.

    glibc returns memory to the system as soon as more is free than twice the largest block freed so far. The next
    replay then faults the same pages in again, which takes longer than reading it. Freeing one large block, which is
    never written to, raises that limit for the process.
    """
    np.empty(_LARGE_BLOCK_BYTES, np.uint8)


class EventColumns:
    """One event over many rows: `columns["percent"]`, `columns.percent`, or all fields as the structured `rows`.

    A field that the replay does not have raises `KeyError`, or `AttributeError` when read as an attribute; `fields` has
    the names of the others. Nested fields have dotted names: `columns["self_induced_speeds.air_x"]`.
    """

    def __init__(self, data: bytes, layout: Layout | None, offsets: Offsets) -> None:
        """`layout` is `None` when the replay does not declare the event."""
        self._data = data
        self._layout = layout
        self.offsets = offsets
        """The file offset of each row's event, or `ABSENT`; int64 of shape (rows,)."""
        self._columns: dict[str, Array] = {}
        self._converted: set[int] = set()

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that the replay has."""
        return () if self._layout is None else tuple(self._layout.kinds)

    @cached_property
    def present(self) -> Mask:
        """Whether the event is present in each row, bool of shape (rows,)."""
        present: Mask = self.offsets != ABSENT
        return present

    @cached_property
    def rows(self) -> Array:
        """The events as a read-only structured array of shape (rows,), big-endian as in the file.

        Rows without the event have NaN and zeros.
        """
        if self._layout is None or not len(self.offsets):
            return np.zeros(len(self.offsets), _dtype(self._layout))
        dtype, offsets = _dtype(self._layout), self.offsets
        stride = stride_of(offsets)
        if stride is None:
            return _gathered(self._data, offsets, dtype, np.flatnonzero(offsets == ABSENT))
        return np.ndarray(offsets.shape, dtype, self._data, int(offsets[0]), (stride,))

    def __getitem__(self, name: str) -> Array:
        """The column of a field, in the machine's byte order, of shape (rows,)."""
        column = self._columns.get(name)
        if column is None:
            if self._layout is None:
                raise KeyError(name)
            self._convert(self._layout, self._layout.block_of[name])
            column = self._columns[name]
        return column

    def alone(self, name: str) -> Array:
        """One column in the machine's byte order, read without the others: faster than `[name]` for a few columns."""
        if self._layout is None:
            raise KeyError(name)
        if self._offsets_have_stride or "rows" in self.__dict__:
            values = self.rows[name]
        else:
            fields: Any = _dtype(self._layout).fields
            field, offset = fields[name][:2]
            opaque = np.dtype(f"V{field.itemsize}")
            shape = (len(self._data) - self._layout.payload_size_bytes,)
            values = np.ndarray(shape, opaque, self._data, offset, (1,))[self.offsets].view(field)
            absent = ~self.present
            if absent.any():
                values[absent] = np.nan if field.kind == "f" else 0
        if values.dtype.kind == "b":  # a flag can have any value
            flags: Array = values.view(np.uint8) != 0
            return flags
        return values.astype(values.dtype.newbyteorder("="))

    @cached_property
    def _offsets_have_stride(self) -> bool:
        return not len(self.offsets) or stride_of(self.offsets) is not None

    def __getattr__(self, name: str) -> Any:
        """The column of a field, or the columns of a nested object."""
        if not name.startswith("_"):
            if name in self.fields:
                return self[name]
            if any(field.startswith(f"{name}.") for field in self.fields):
                return _Nested(self, name)
        raise AttributeError(f"the replay has no field {name!r} here")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]

    @cached_property
    def _blocks(self) -> Array:
        """The rows with adjacent fields of one type merged into blocks, which are named by their index."""
        rows = self.rows
        return rows.view(_block_dtype(self._layout)) if self._layout is not None else rows

    def _convert(self, layout: Layout, index: int) -> None:
        """Convert all fields of one block, which takes little longer than converting one of them.

        With the third block all others are converted as well, and a copy of the rows, if there is one, is freed:
        callers that read three blocks usually read most of them.
        """
        converted = self._converted
        self._convert_block(layout, index)
        converted.add(index)
        if len(converted) != _BLOCKS_BEFORE_ALL or not len(self.offsets) or isinstance(self.rows.base, bytes):
            return
        for other, block in enumerate(layout.blocks):
            # Not the keys: they would take another copy, and the `Character` has them.
            missing = other not in converted and not _KEYS.issuperset(block.names)
            if missing or (other in converted and block.kind.width_bytes == 1):
                self._convert_block(layout, other, copied=True)
        del self.__dict__["rows"], self.__dict__["_blocks"]

    def _convert_block(self, layout: Layout, index: int, *, copied: bool = False) -> None:
        """With `copied`, no column is a view of the rows."""
        _, kind, names = layout.blocks[index]
        values = self._blocks[_BLOCK_NAMES[index]]
        if kind.width_bytes > 1 or copied:  # single bytes have no byte order, so a view of the rows will do
            values = values.astype(_NATIVE[kind.numpy], order="F")
        if kind is BOOL:
            values = values != 0
        columns = self._columns
        if len(names) == 1:
            columns[names[0]] = values
        else:
            for i, name in enumerate(names):
                columns[name] = values[:, i]


class _Nested:
    """The columns of a nested object: `post.self_induced_speeds.air_x`."""

    def __init__(self, columns: EventColumns, name: str) -> None:
        self._columns = columns
        self._name = name

    def __getattr__(self, name: str) -> Array:
        try:
            return self._columns[f"{self._name}.{name}"]
        except KeyError as error:
            raise AttributeError(f"the replay has no field {self._name}.{name}") from error

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        return [*super().__dir__(), *(f[len(start) :] for f in self._columns.fields if f.startswith(start))]


class Character:
    """The Pre-Frame and Post-Frame Updates of one character: of a player, or of a follower."""

    def __init__(self, player_index: int, is_follower: bool, pre: EventColumns, post: EventColumns) -> None:
        self.player_index = player_index
        self.is_follower = is_follower
        self.pre = pre
        self.post = post

    def __repr__(self) -> str:
        return f"<{'follower' if self.is_follower else 'player'} {self.player_index}, {len(self.post)} frames>"


class RepeatedEventColumns(EventColumns):
    """Events that a frame can have any number of: those of frame i are rows `firsts[i]` to `firsts[i + 1]`."""

    def __init__(self, data: bytes, layout: Layout | None, offsets: Offsets, firsts: Offsets) -> None:
        super().__init__(data, layout, offsets)
        self.firsts = firsts
        """int64 of shape (frames + 1,)."""

    @property
    def counts(self) -> Offsets:
        """The number of events in each frame, of shape (frames,)."""
        return np.diff(self.firsts)

    def of_row(self, row: int) -> Array:
        """The events of one frame as a structured array. `row` is the index of the frame, not its number."""
        return self.rows[self.firsts[row] : self.firsts[row + 1]]


class FrameColumns:
    """Frames as columns: one row for each frame number with its last sending, or one for each sending (`sendings`)."""

    def __init__(
        self, data: bytes, index: FrameIndex, sizes: Mapping[int, int], which: Offsets | None = None, *, last: bool
    ) -> None:
        """`sizes` has the declared payload sizes by command byte. `which` selects sendings by index, `None` for all;
        `last` marks a selection that has only the last sending of each number."""
        self.data = data
        """The bytes of the file."""
        self.index = index
        """The offsets of the events of all sendings."""
        self.sizes = sizes
        """The declared payload sizes by command byte."""
        self.which = which
        """The sending of each row, by its position in `index`; `None` if the rows are all sendings in file order."""
        self.last_sendings_only = last

    @classmethod
    def of(cls, data: bytes, index: FrameIndex, sizes: Mapping[int, int]) -> Self:
        """The last sending of each frame number, ascending."""
        keep_freed_memory()
        numbers = index.numbers
        if len(numbers) < 2 or bool((numbers[1:] > numbers[:-1]).all()):
            return cls(data, index, sizes, None, last=True)
        return cls(data, index, sizes, _last_sendings(numbers), last=True)

    @cached_property
    def sendings(self) -> Self:
        """Every sending of every frame in file order, as a live reader saw them."""
        return type(self)(self.data, self.index, self.sizes, None, last=False)

    def between(self, first: int, last: int) -> Self:
        """The frames with numbers from `first` to `last`, both included."""
        which = np.flatnonzero((self.number >= first) & (self.number <= last))
        chosen = which if self.which is None else self.which[which]
        return type(self)(self.data, self.index, self.sizes, chosen, last=self.last_sendings_only)

    def layout_of(self, table: Table) -> Layout | None:
        """The fields that the replay has of an event; `None` if it does not declare the event."""
        size = self.sizes.get(table.command)
        return None if size is None else table.layout(size)

    def row_of(self, number: int) -> int:
        """The row of a frame number, or of its last sending. Raises `KeyError` for a number without a row."""
        rows = np.flatnonzero(self.number == number)
        if not len(rows):
            raise KeyError(number)
        return int(rows[-1])

    def __len__(self) -> int:
        return len(self.number)

    def __repr__(self) -> str:
        span = f", {self.number.min()} to {self.number.max()}" if len(self) else ""
        kind = "frames" if self.last_sendings_only else "sendings"
        return f"<{len(self)} {kind}{span}, players {sorted(self.players)}>"

    @cached_property
    def number(self) -> npt.NDArray[np.int32]:
        """Frame numbers, int32 of shape (frames,); the first of a game is -123."""
        return self._chosen(self.index.numbers)

    @cached_property
    def revision(self) -> npt.NDArray[np.int32]:
        """How often the number had been sent before: 0 the first time."""
        numbers = self.index.numbers
        if self.last_sendings_only:
            if self.which is None:
                return np.zeros(len(numbers), np.int32)
            if _are_dense(numbers):  # the last of n sendings has revision n - 1
                first = int(numbers.min())
                return (np.bincount(numbers - first)[self.number - first] - 1).astype(np.int32)
        return self._chosen(_revisions(numbers))

    @cached_property
    def is_last_revision(self) -> Mask:
        """Whether each sending is the last one of its number: the mask that removes rollbacks from `sendings`."""
        numbers = self.index.numbers
        last = np.zeros(len(numbers), np.bool_)
        last[len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]] = True
        return self._chosen(last)

    @cached_property
    def players(self) -> dict[int, Character]:
        """The players' characters by player index. The port is the index + 1."""
        return self._characters(is_follower=False)

    @cached_property
    def followers(self) -> dict[int, Character]:
        """The followers (Nana) by the index of their player."""
        return self._characters(is_follower=True)

    @property
    def characters(self) -> Iterator[Character]:
        """All characters by player index, each player followed by its follower."""
        for index in sorted({*self.players, *self.followers}):
            for side in (self.players, self.followers):
                if index in side:
                    yield side[index]

    @cached_property
    def start(self) -> EventColumns:
        """Frame Start, since 2.2.0: `seed`, `scene_frame_counter`."""
        return self.event(Slot(FRAME_START.command))

    @cached_property
    def bookend(self) -> EventColumns:
        """Frame Bookend, since 3.0.0: `latest_finalized_frame`."""
        return self.event(Slot(FRAME_BOOKEND.command))

    @cached_property
    def items(self) -> RepeatedEventColumns:
        """Item Updates, since 3.0.0."""
        return self._repeated_events(ITEM_UPDATE)

    @cached_property
    def stage_events(self) -> dict[str, RepeatedEventColumns]:
        """Stage events by kind (`fod_platform`, `whispy`, `stadium`), since 3.18.0. Kinds without events are absent."""
        commands = self.index.repeated
        return {kind: self._repeated_events(TABLES[c]) for c, kind in STAGE_EVENT_KINDS.items() if c in commands}

    def event(self, slot: Slot) -> EventColumns:
        """The events of a slot, one for each row; without fields if the game has none."""
        offsets = self.index.slots.get(slot)
        if offsets is None:
            return EventColumns(self.data, None, np.full(len(self), ABSENT, np.int64))
        return EventColumns(self.data, self.layout_of(TABLES[slot.command]), self._chosen(offsets))

    def _chosen(self, values: Array) -> Array:
        return values if self.which is None else values[self.which]

    def _characters(self, *, is_follower: bool) -> dict[int, Character]:
        wanted = sorted(
            {
                slot.player
                for slot in self.index.slots
                if slot.follower is is_follower and slot.command in (PRE_FRAME.command, POST_FRAME.command)
            }
        )
        return {
            index: Character(
                index,
                is_follower,
                self.event(Slot(PRE_FRAME.command, index, is_follower)),
                self.event(Slot(POST_FRAME.command, index, is_follower)),
            )
            for index in wanted
        }

    def _repeated_events(self, table: Table) -> RepeatedEventColumns:
        found = self.index.repeated.get(table.command)
        if found is None:
            none = np.empty(0, np.int64)
            return RepeatedEventColumns(self.data, self.layout_of(table), none, np.zeros(len(self) + 1, np.int64))
        chosen = found if self.which is None else found.of_frames(self.which)
        return RepeatedEventColumns(self.data, self.layout_of(table), *chosen)


@lru_cache(maxsize=_KEPT_TYPES)
def _dtype(layout: Layout | None) -> np.dtype[Any]:
    rows: Any = [] if layout is None else layout.dtype()
    dtype: np.dtype[Any] = np.dtype(rows)
    return dtype


@lru_cache(maxsize=_KEPT_TYPES)
def _block_dtype(layout: Layout) -> np.dtype[Any]:
    """The rows with adjacent fields of one type merged into blocks, which are named by their index."""
    dtype: np.dtype[Any] = np.dtype(
        {
            "names": _BLOCK_NAMES[: len(layout.blocks)],
            "formats": [_block_format(block) for block in layout.blocks],
            "offsets": [block.offset for block in layout.blocks],
            "itemsize": layout.payload_size_bytes + 1,
        }
    )
    return dtype


def _block_format(block: Block) -> Any:
    code = _AS_BYTE.get(block.kind.numpy, block.kind.numpy)
    return code if len(block.names) == 1 else (code, (len(block.names),))


def _gathered(data: bytes, offsets: Offsets, dtype: np.dtype[Any], absent: Offsets) -> Array:
    """A copy of the rows at these offsets. `absent` has the indices of the rows without an event."""
    opaque = np.dtype(f"V{dtype.itemsize}")
    windows = np.ndarray((len(data) - dtype.itemsize + 1,), opaque, data, strides=(1,))
    rows = windows[offsets]
    rows[absent] = _absent_row(dtype).view(opaque)
    return rows.view(dtype)


def _absent_row(dtype: np.dtype[Any]) -> Array:
    """The row of an absent event: NaN for floats, zeros for everything else."""
    row = np.zeros((), dtype)
    for name in dtype.names or ():
        if dtype[name].kind == "f":
            row[name] = np.nan
    return row


def _are_dense(numbers: npt.NDArray[np.int32]) -> bool:
    """Whether an array with a place for each number from the first to the last has about the size of `numbers`."""
    return len(numbers) > 0 and int(numbers.max()) - int(numbers.min()) < _DENSE * len(numbers)


def _last_sendings(numbers: npt.NDArray[np.int32]) -> Offsets:
    """The index of the last sending of each number, in ascending order of the numbers."""
    found: Offsets
    if _are_dense(numbers):
        first = int(numbers.min())
        last = np.full(int(numbers.max()) - first + 1, -1)
        last[numbers - first] = np.arange(len(numbers))  # for numbers that come again, the last assignment counts
        found = last[last >= 0]
        return found
    order = np.argsort(numbers, kind="stable")
    found = order[np.append(np.flatnonzero(np.diff(numbers[order])), len(order) - 1)]
    return found


def _revisions(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    index = np.arange(len(numbers), dtype=np.int32)
    is_first = np.ones(len(numbers), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    revisions = np.empty(len(numbers), np.int32)
    revisions[order] = index - np.maximum.accumulate(np.where(is_first, index, 0))
    return revisions
