"""The fields of several characters side by side. There is one row for each frame, and each field is a numpy array.

Use this if you need most fields of most characters. If the compiled kernel was built, it reads all of them in one pass
over the events. Otherwise, they are the columns of `Frames`, which have the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.columns import Array, EventColumns, Frames
from slpstream.formats.slippi.commands import TABLES
from slpstream.formats.slippi.frame_index import Slot
from slpstream.model.fields import BOOL, F32, I8, I16, I32, U8, U16, U32, Kind

Wanted = tuple[tuple[int, str], ...]
"""The wanted fields: which of the slots, and the name of the field."""

_KEPT_PLANS = 64
_TYPES: dict[Kind, tuple[np.dtype[Any], pa.DataType]] = {
    U8: (np.dtype("u1"), pa.uint8()),
    I8: (np.dtype("i1"), pa.int8()),
    U16: (np.dtype("u2"), pa.uint16()),
    I16: (np.dtype("i2"), pa.int16()),
    U32: (np.dtype("u4"), pa.uint32()),
    I32: (np.dtype("i4"), pa.int32()),
    F32: (np.dtype("f4"), pa.float32()),
    BOOL: (np.dtype("u1"), pa.uint8()),
}
"""Flags are bytes, 0 or 1."""


def side_by_side(frames: Frames, slots: Sequence[Slot], wanted: Wanted) -> list[Array | None]:
    """Return the values of each wanted field in the rows of `frames`. They are contiguous, and in the byte order of the
    machine.

    If the replay doesn't have a field, or a slot has no events, you get `None` instead. If there's no event in a frame,
    floats are NaN, and everything else is 0. Flags are bytes, either 0 or 1. You must not write to the arrays, because
    they might share their memory with others.
    """
    layouts = [frames.layout_of(TABLES[slot.command]) if slot in frames.index.slots else None for slot in slots]
    if kernel is None or not len(frames):
        events = [None if layout is None else frames.event(slot) for slot, layout in zip(slots, layouts, strict=True)]
        return [_column(events[number], name) for number, name in wanted]
    commands = tuple(slot.command for slot in slots)
    sizes = tuple(None if layout is None else layout.payload_size_bytes for layout in layouts)
    plan, schema, found = _plan(kernel, commands, sizes, wanted)
    group = (len(frames), frames.which, tuple(frames.index.slots.get(slot) for slot in slots), ())
    address, owner = plan.fill(frames.data, (group,))
    batch = pa.RecordBatch._import_from_c(address, schema)
    del owner  # It frees the memory that was not imported.
    columns: list[Array | None] = [None] * len(wanted)
    for index, (place, dtype, is_flag) in enumerate(found):
        values = np.frombuffer(batch.column(index).buffers()[1], dtype, len(frames))
        columns[place] = (values != 0).view(np.uint8) if is_flag else values
    return columns


@lru_cache(maxsize=_KEPT_PLANS)
def _plan(
    kernel: ModuleType, commands: tuple[int, ...], sizes: tuple[int | None, ...], wanted: Wanted
) -> tuple[Any, pa.Schema, list[tuple[int, np.dtype[Any], bool]]]:
    """Return a `Table` of the kernel for those wanted fields that the replay has, its schema, and a description of its
    columns.

    For each column, this tells you which of the wanted fields it is, its type, and whether it is a flag. `sizes` are
    the declared payload sizes of the events. For a slot without events, it is `None`.
    """
    columns, fields = [], []
    found: list[tuple[int, np.dtype[Any], bool]] = []
    for place, (number, name) in enumerate(wanted):
        size = sizes[number]
        layout = None if size is None else TABLES[commands[number]].layout(size)
        field = None if layout is None else next((field for field in layout.fields if field.name == name), None)
        if field is None:
            continue
        kind = U8 if field.kind is BOOL else field.kind
        dtype, arrow_type = _TYPES[kind]
        columns.append((number, kind.code.encode(), field.offset))
        fields.append(pa.field(f"{number}.{name}", arrow_type))
        found.append((place, dtype, field.kind is BOOL))
    return kernel.Table(tuple(columns), len(commands)), pa.schema(fields), found


def _column(events: EventColumns | None, name: str) -> Array | None:
    if events is None or name not in events.fields:
        return None
    values = events[name]
    return np.ascontiguousarray(values.view(np.uint8) if values.dtype == np.bool_ else values)
