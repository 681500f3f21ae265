"""A whole game as columns, where each field of each event is one numpy array over all frames.

The events are found by `frame_index`. The rows of an event are a structured array, whose dtype is that of its field
table. A column is one of these fields in the byte order of the machine. It is read from the bytes of the file when you
first use it, and then kept.

`Frames` has one row for each frame number, in ascending order, with the values that were sent last. This means
that by default, rollbacks are already handled correctly. If you want a row for every sending, in the order of the file,
use `Frames.sendings`. All columns are aligned, so row i of each of them belongs to the frame `number[i]`. If a
character has no event in a frame (because it's out of stocks, or it's a follower that is gone), `present` is false,
floats are NaN, and everything else is 0 or False.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
)
from slpstream.formats.slippi.frame_index import ABSENT, FrameIndex, Offsets, RepeatedEvents, Slot
from slpstream.model.fields import BOOL, U8, Layout, Table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from slpstream.formats.slippi import column_types

_LARGE_BLOCK_BYTES = 31 << 20
"""Just below 32 MiB, the largest block to which glibc adapts its limit."""

_KEPT_TYPES = 512

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@cache
def keep_freed_memory() -> None:
    """Make the allocator keep memory that was freed. Call this in programs that read one replay after another; once per
    process is enough.

    As soon as more memory is free than twice the size of the largest block that was ever freed, glibc returns it to the
    system. The next replay then has to get the same pages again, and this takes longer than reading it. If we free one
    large block, which we never write to, this raises the limit for the whole process.
    """
    np.empty(_LARGE_BLOCK_BYTES, np.uint8)


class EventColumns:
    """One event over many rows. You can write `columns["percent"]` or `columns.percent`, or use `rows` to get all
    fields in a structured array.

    If the replay doesn't have a field, you get a `KeyError` or, if you read it as an attribute, an `AttributeError`.
    The names of all other fields are in `fields`. If a field is nested, its name has a dot, for example
    `columns["self_induced_speeds.air_x"]`.
    """

    def __init__(self, data: bytes, layout: Layout | None, offsets: Offsets) -> None:
        """If the replay doesn't declare the event, `layout` is `None`."""
        self._data = data
        self._layout = layout
        self.offsets = offsets
        """The file offset of each row's event, or `ABSENT`; int64 of shape (rows,)."""
        self._columns: dict[str, Array] = {}

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of those fields that the replay has."""
        return () if self._layout is None else tuple(self._layout.kinds)

    @cached_property
    def present(self) -> Mask:
        """Whether each row has the event. This is a bool array of shape (rows,)."""
        present: Mask = self.offsets != ABSENT
        return present

    @cached_property
    def rows(self) -> Array:
        """The events as a structured array of shape (rows,), which is read-only, and big-endian as in the file.

        If a row doesn't have the event, it contains NaN and zeros.
        """
        rows = self._read(_dtype(self._layout), 0)
        rows.setflags(write=False)
        return rows

    def __getitem__(self, name: str) -> Array:
        """Return the column of a field, in the byte order of the machine. Its shape is (rows,)."""
        if name not in self._columns:
            if self._layout is None or name not in self._layout.kinds:
                raise KeyError(name)
            if kernel is None:
                self._columns[name] = self._read_column(name)
            else:
                # The kernel reads all fields as fast as one, but if an event is usually absent, they might be far
                # larger than the file.
                is_dense = 2 * np.count_nonzero(self.present) >= len(self)
                self._read_with_kernel(self._layout, self.fields if is_dense else (name,))
        return self._columns[name]

    def _read_column(self, name: str) -> Array:
        fields: Any = _dtype(self._layout).fields
        dtype, offset = fields[name]
        stored = np.dtype(np.uint8) if dtype.kind == "b" else dtype  # a flag can have any value
        return self._read(stored, offset).astype(dtype.newbyteorder("="), copy=False)

    def _read(self, dtype: np.dtype[Any], offset: int) -> Array:
        """Return what each event has at this offset."""
        nothing = np.zeros((), dtype)
        for name in dtype.names or [...]:
            if nothing[name].dtype.kind == "f":
                nothing[name] = np.nan
        if self._layout is None or not self.present.any():
            return np.full(len(self), nothing)
        opaque = np.dtype(f"V{dtype.itemsize}")  # numpy copies structures field by field
        places = len(self._data) - self._layout.payload_size_bytes
        values = np.ndarray((places,), opaque, self._data, offset, (1,))[self.offsets]
        values[~self.present] = nothing.view(opaque)
        return values.view(dtype)

    def _read_with_kernel(self, layout: Layout, names: tuple[str, ...]) -> None:
        """Read these columns like `_read_column`."""
        table, dtypes = _table(layout, names)
        columns = [np.empty(len(self), dtype) for dtype in dtypes]
        table.read(self._data, self.offsets, tuple(columns))
        for name, column in zip(names, columns, strict=True):
            self._columns[name] = column != 0 if layout.kinds[name] is BOOL else column

    if not TYPE_CHECKING:  # type checkers know the columns of each event from `column_types.pyi`

        def __getattr__(self, name: str) -> Any:
            """Return the column of a field, or the columns of a nested object."""
            if not name.startswith("_"):
                if name in self.fields:
                    return self[name]
                nested = [field for field in self.fields if field.startswith(f"{name}.")]
                if nested:
                    return SimpleNamespace(**{field.removeprefix(f"{name}."): self[field] for field in nested})
            raise AttributeError(f"the replay has no field {name!r} here")

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.fields) or 'an event that the replay does not have'}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]


@dataclass(eq=False, repr=False)
class Character:
    """The Pre-Frame and Post-Frame Updates of one character, who is either a player or a follower."""

    player_index: int
    is_follower: bool
    pre: column_types.PreFrameColumns
    post: column_types.PostFrameColumns

    def __repr__(self) -> str:
        return f"<{'follower' if self.is_follower else 'player'} {self.player_index}, {len(self.post)} frames>"


class RepeatedEventColumns(EventColumns):
    """Events of which a frame can have any number. The events of frame i are rows `firsts[i]` to `firsts[i + 1]`."""

    def __init__(self, data: bytes, layout: Layout | None, offsets: Offsets, firsts: Offsets) -> None:
        super().__init__(data, layout, offsets)
        self.firsts = firsts
        """int64 of shape (frames + 1,)."""

    @property
    def counts(self) -> Offsets:
        """How many events each frame has. The shape is (frames,)."""
        return np.diff(self.firsts)

    def of_row(self, row: int) -> Array:
        """Return the events of one frame as a structured array. `row` is the index of the frame and not its number."""
        return self.rows[self.firsts[row] : self.firsts[row + 1]]


@dataclass(eq=False, repr=False)
class Frames:
    """Frames as columns: one row for each frame number, with its last sending, or for each sending (`sendings`)."""

    data: bytes
    """The bytes of the file."""
    index: FrameIndex
    """The offsets of the events of all sendings."""
    sizes: Mapping[int, int]
    """The declared payload sizes by command byte."""
    which: Offsets | None = None
    """The sending of each row, by its position in `index`, or `None` if the rows are all sendings in file order."""

    @classmethod
    def of(cls, data: bytes, index: FrameIndex, sizes: Mapping[int, int]) -> Self:
        """Return the last sending of each frame number, in ascending order."""
        keep_freed_memory()
        which, revision = None, np.zeros(len(index.numbers), np.int32)
        if not ascends(index.numbers):
            order, firsts, counts = _by_number(index.numbers)
            which, revision = order[firsts + counts - 1], (counts - 1).astype(np.int32)
        frames = cls(data, index, sizes, which)
        frames.revision = revision
        return frames

    @cached_property
    def sendings(self) -> Self:
        """Every sending of every frame in the order of the file. This is what a live reader would have seen."""
        return type(self)(self.data, self.index, self.sizes)

    def of_sendings(self, which: Offsets) -> Self:
        """Return the sendings with these positions in `index`."""
        return type(self)(self.data, self.index, self.sizes, which)

    def between(self, first: int, last: int) -> Self:
        """Return the frames with numbers from `first` to `last`. Both of them are included."""
        rows = np.flatnonzero((self.number >= first) & (self.number <= last))
        return self.of_sendings(rows if self.which is None else self.which[rows])

    def layout_of(self, table: Table) -> Layout | None:
        """Return those fields of an event that the replay has, or `None` if it doesn't declare the event."""
        size = self.sizes.get(table.command)
        return None if size is None else table.layout(size)

    def row_of(self, number: int) -> int:
        """Return the row of a frame number. If there are several sendings, you get the last one.

        Raises `KeyError` if there's no row with this number.
        """
        rows = np.flatnonzero(self.number == number)
        if not len(rows):
            raise KeyError(number)
        return int(rows[-1])

    def __len__(self) -> int:
        return len(self.number)

    def __repr__(self) -> str:
        span = f", {self.number.min()} to {self.number.max()}" if len(self) else ""
        kind = "frames" if self.is_last_revision.all() else "sendings"
        return f"<{len(self)} {kind}{span}, players {sorted(self.players)}>"

    @cached_property
    def number(self) -> npt.NDArray[np.int32]:
        """The frame numbers, as an int32 array of shape (frames,). A game begins with -123."""
        return self._chosen(self.index.numbers)

    @cached_property
    def revision(self) -> npt.NDArray[np.int32]:
        """How many times the number was sent before. For the first time, this is 0."""
        revisions = np.zeros(len(self.index.numbers), np.int32)
        if not ascends(self.index.numbers):
            order, firsts, counts = _by_number(self.index.numbers)
            revisions[order] = np.arange(len(order)) - np.repeat(firsts, counts)
        return self._chosen(revisions)

    @cached_property
    def is_last_revision(self) -> Mask:
        """Whether each sending is the last one of its number. As a mask, this removes rollbacks from `sendings`."""
        order, firsts, counts = _by_number(self.index.numbers)
        last = np.zeros(len(order), np.bool_)
        last[order[firsts + counts - 1]] = True
        return self._chosen(last)

    @cached_property
    def players(self) -> dict[int, Character]:
        """The characters of the players, by player index. To get the port, add 1 to the index."""
        return {character.player_index: character for character in self._characters if not character.is_follower}

    @cached_property
    def followers(self) -> dict[int, Character]:
        """The followers (Nana), by the index of the player that they belong to."""
        return {character.player_index: character for character in self._characters if character.is_follower}

    @property
    def characters(self) -> Iterator[Character]:
        """Iterate over all characters by player index. Each player is followed by its follower."""
        return iter(self._characters)

    def _chosen(self, values: Array) -> Array:
        return values if self.which is None else values[self.which]

    @cached_property
    def _characters(self) -> list[Character]:
        return [
            Character(
                player,
                is_follower,
                cast("column_types.PreFrameColumns", self.event(Slot(PRE_FRAME.command, player, is_follower))),
                cast("column_types.PostFrameColumns", self.event(Slot(POST_FRAME.command, player, is_follower))),
            )
            for player, is_follower in self.index.characters
        ]

    @cached_property
    def start(self) -> column_types.FrameStartColumns:
        """The Frame Start events, with `seed` and `scene_frame_counter`. These exist since 2.2.0."""
        return cast("column_types.FrameStartColumns", self.event(Slot(FRAME_START.command)))

    @cached_property
    def bookend(self) -> column_types.FrameBookendColumns:
        """The Frame Bookend events, with `latest_finalized_frame`. These exist since 3.0.0."""
        return cast("column_types.FrameBookendColumns", self.event(Slot(FRAME_BOOKEND.command)))

    @cached_property
    def items(self) -> column_types.ItemColumns:
        """Item Updates, since 3.0.0."""
        return cast("column_types.ItemColumns", self._repeated_events(ITEM_UPDATE))

    @cached_property
    def stage_events(self) -> dict[str, RepeatedEventColumns]:
        """The events of stages by their kind (`fod_platform`, `whispy`, `stadium`), which exist since 3.18.0.

        If there are no events of a kind, it isn't in the mapping.
        """
        commands = self.index.repeated
        return {kind: self._repeated_events(TABLES[c]) for c, kind in STAGE_EVENT_KINDS.items() if c in commands}

    def event(self, slot: Slot) -> EventColumns:
        """Return the events of the given slot, one for each row. If the game has none, they have no fields."""
        offsets = self.index.slots.get(slot)
        if offsets is None:
            return EventColumns(self.data, None, np.full(len(self), ABSENT, np.int64))
        return self.events_at(TABLES[slot.command], self._chosen(offsets))

    def events_at(self, table: Table, offsets: Offsets) -> EventColumns:
        """Return the events of a kind at these file offsets, which can be `ABSENT`."""
        return EventColumns(self.data, self.layout_of(table), offsets)

    def _repeated_events(self, table: Table) -> RepeatedEventColumns:
        none = RepeatedEvents(np.empty(0, np.int64), np.zeros(len(self.index.numbers) + 1, np.int64))
        found = self.index.repeated.get(table.command, none)
        chosen = found if self.which is None else found.of_frames(self.which)
        return RepeatedEventColumns(self.data, self.layout_of(table), *chosen)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with one row for each frame and character. This takes the extra `analysis`.

        The columns are `frame`, `revision`, `player_index`, `is_follower`, and then the fields as `pre_...` and
        `post_...`. If the character doesn't have an event, or the replay doesn't have a field, the value is null.
        """
        from slpstream.formats.slippi.arrow import frames_table  # noqa: PLC0415 -- pyarrow loads only on request

        return frames_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the same rows as `to_arrow`, but as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the same rows as `to_arrow`, but as a Polars data frame.

        Raises `ModuleNotFoundError` without Polars, which no extra contains.
        """
        try:
            import polars  # noqa: PLC0415 -- optional
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("to_polars needs Polars: python -m pip install polars") from error
        return polars.DataFrame(self.to_arrow())


@lru_cache(maxsize=_KEPT_TYPES)
def _dtype(layout: Layout | None) -> np.dtype[Any]:
    rows: Any = [] if layout is None else layout.dtype()
    dtype: np.dtype[Any] = np.dtype(rows)
    return dtype


@lru_cache(maxsize=_KEPT_TYPES)
def _table(layout: Layout, names: tuple[str, ...]) -> tuple[Any, list[np.dtype[Any]]]:
    """Return the kernel's `Table` for these fields of an event, and the types of its columns. Flags are bytes."""
    fields = [field for field in layout.fields if field.name in names]
    kinds = [U8 if field.kind is BOOL else field.kind for field in fields]
    columns = tuple((0, kind.code.encode(), field.offset) for field, kind in zip(fields, kinds, strict=True))
    return kernel.Table(columns, 1), [np.dtype(kind.code) for kind in kinds]  # type: ignore[union-attr]


def ascends(numbers: npt.NDArray[np.int32]) -> bool:
    """Whether each frame number is higher than the one before, so that no frame was sent twice."""
    return bool((numbers[1:] > numbers[:-1]).all())


def _by_number(numbers: npt.NDArray[np.int32]) -> tuple[Offsets, Offsets, Offsets]:
    """Return the sendings in the order of their numbers, and for each number its first index in them and its count."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(order)])
    return order, firsts, np.diff(firsts, append=len(numbers))
