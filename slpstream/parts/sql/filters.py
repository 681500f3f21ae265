"""Filters that DuckDB passes to a table: the columns that they need, and whether a game can have rows that pass.

Arrow answers both, so filters are not parsed here: a dataset omits the files whose known values contradict a filter,
and binding a filter fails without a column that it needs.
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
    """Names of the columns that a filter needs."""
    return frozenset(name for name in schema.names if not _binds(filter, schema.remove(schema.get_field_index(name))))


def _binds(filter: Any, schema: pa.Schema) -> bool:
    try:
        schema.empty_table().filter(filter)
    except pa.ArrowInvalid:
        return False
    return True


def can_hold(filter: Any, values: Mapping[str, Any], schema: pa.Schema) -> bool:
    """Whether a filter can pass rows that have these values, and any others in further columns.

    Opens no file.
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
