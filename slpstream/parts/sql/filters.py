"""The filters that DuckDB passes to a table. You can ask which columns a filter needs, and whether a game might have
rows that pass it.

We don't have to parse filters, because Arrow can answer both questions for us: if known values of a file contradict a
filter, a dataset leaves out this file, and if a column is missing that the filter needs, it can't be bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
from pyarrow import dataset, fs

_FORMAT = dataset.IpcFileFormat()
_FILES = fs.LocalFileSystem()


def columns_of(filter: Any, schema: pa.Schema) -> frozenset[str]:
    """Return the names of those columns that a filter needs."""
    return frozenset(name for name in schema.names if not _binds(filter, schema.remove(schema.get_field_index(name))))


def _binds(filter: Any, schema: pa.Schema) -> bool:
    try:
        schema.empty_table().filter(filter)
    except pa.ArrowInvalid:
        return False
    return True


def can_hold(filter: Any, values: Mapping[str, Any], schema: pa.Schema) -> bool:
    """Whether a filter might let rows pass that have these values, no matter what's in the other columns.

    This doesn't open any file.
    """
    known = [_is(name, value) for name, value in values.items() if name in schema.names]
    if not known:
        return True
    rows = dataset.FileSystemDataset.from_paths(
        ["rows"], schema=schema, format=_FORMAT, filesystem=_FILES, partitions=[reduce(and_, known)]
    )
    return any(True for _ in rows.get_fragments(filter))


def _is(name: str, value: Any) -> Any:
    field = dataset.field(name)
    return field.is_null() if value is None else field == value
