"""Write games into shards. These are Arrow IPC files without compression, and each record batch is one game."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import FileIO
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from slpstream.parts.training.columns import COLUMNS
from slpstream.parts.training.parts import ARROW_TYPES, WrittenPart
from slpstream.parts.training.rows import Rows

_WRITTEN_BYTES = 256 * 1024
"""Bytes per write."""
_BLOCK_BYTES = 16 * 1024
"""Bytes per block. A block of zeros is left out."""
_ORDER = tuple(ARROW_TYPES)


def _notes(**texts: str) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


_IN_ORDER = sorted(COLUMNS, key=lambda column: _ORDER.index(column.dtype))
"""Columns of one type follow each other, so that a reader can take them as one matrix without copying."""

SCHEMA = pa.schema(
    [
        pa.field(
            column.name,
            pa.type_for_alias(ARROW_TYPES[column.dtype]),
            nullable=False,
            metadata=_notes(doc=column.doc, unit=column.unit, since=column.since),
        )
        for column in _IN_ORDER
    ]
)
"""The columns of a shard."""
_COLUMN_TYPES = [(field.name, field.type, field.type.id) for field in SCHEMA]
_ROW = pa.struct(list(SCHEMA))
_ROW_BYTES = sum(field.type.bit_width // 8 for field in SCHEMA)


def record_batch(rows: Rows) -> pa.RecordBatch:
    """Return the rows of a game as a record batch that has the columns of `SCHEMA`."""
    made: dict[tuple[int, int], pa.Array] = {}  # columns of zeros are one array
    count = len(rows["frame"])
    arrays = []
    for name, kind, type_id in _COLUMN_TYPES:
        values = rows[name]
        key = id(values), type_id  # hashing the type itself is slow
        array = made.get(key)
        if array is None:
            buffer = pa.py_buffer(np.ascontiguousarray(values))
            array = made[key] = pa.Array.from_buffers(kind, count, [None, buffer])
        arrays.append(array)
    struct = pa.Array.from_buffers(_ROW, count, [None], children=arrays)
    return pa.RecordBatch.from_struct_array(struct)  # `from_arrays` looks at each of the hundreds of columns


class _FileWithHoles(FileIO):
    """A file in which blocks of zeros become holes. They aren't written, and on most file systems, they don't take up
    any space.

    In most frames, most slots for items are empty, so this saves more than half of a shard.
    """

    def write(self, data: Any) -> int:
        """Write blocks. If a block only contains zeros, we seek past it instead. Raises `OSError` if it fails."""
        values = np.frombuffer(data, np.uint64, count=len(data) // _BLOCK_BYTES * (_BLOCK_BYTES // 8))
        blocks = np.bitwise_or.reduce(values.reshape(-1, _BLOCK_BYTES // 8), axis=1) != 0
        view = memoryview(data)
        for is_used, run in groupby([*blocks.tolist(), True]):  # the rest is not a whole block
            size = len(list(run)) * _BLOCK_BYTES
            if is_used:
                self._write_all(view[:size])
            else:
                self.seek(size, os.SEEK_CUR)
            view = view[size:]
        return len(data)

    def _write_all(self, view: memoryview) -> None:
        while view:
            view = view[super().write(view) or 0 :]

    def close(self) -> None:
        """Close the file. If there's a hole at the end, it is a part of the file too."""
        if not self.closed:
            self.truncate()
        super().close()


class PartWriter:
    """Writes the shards of one part.

    If you leave the context because of an exception, a shard that isn't finished is removed.
    """

    def __init__(self, folder: Path, number: int, *, max_bytes: int) -> None:
        """No shard gets larger than `max_bytes`, unless it contains just a single game."""
        self._folder = folder
        self._number = number
        self._max_bytes = max_bytes
        self._games: list[dict[str, Any]] = []
        self._files: list[str] = []
        self._in_shard = 0
        self._bytes = 0
        self._file: Any = None
        self._sink: Any = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._close()
            return
        if self._file is not None:
            self._file.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def add(self, rows: Rows, facts: Mapping[str, Any]) -> None:
        """Write a game. The `facts` are written to the index. Raises `OSError` if it fails."""
        batch = record_batch(rows)
        size_bytes = batch.num_rows * _ROW_BYTES  # `nbytes` adds up hundreds of columns
        if self._writer is not None and self._bytes + size_bytes > self._max_bytes:
            self._close()
        if self._writer is None:
            self._file = _FileWithHoles(self._temporary, "wb")
            # Arrow writes each of the hundreds of columns on its own; smaller pieces stay in the processor's cache.
            self._sink = pa.BufferedOutputStream(pa.PythonFile(self._file, "w"), _WRITTEN_BYTES)
            self._writer = pa.ipc.new_file(self._sink, SCHEMA)
        self._writer.write_batch(batch)
        place = {"shard": self._name, "batch": self._in_shard, "frames": batch.num_rows}
        self._games.append({**facts, **place})
        self._in_shard += 1
        self._bytes += size_bytes

    def finish(self, problems: Iterable[tuple[int, str]]) -> WrittenPart:
        """Close the last shard. Raises `OSError`."""
        self._close()
        return WrittenPart(self._number, tuple(self._files), self._games, list(problems))

    @property
    def _name(self) -> str:
        return f"shard-{self._number:05}-{len(self._files):03}.arrow"

    @property
    def _temporary(self) -> Path:
        return self._folder / f".{self._name}.tmp"

    def _close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._sink.close()
        self._file.close()
        self._temporary.replace(self._folder / self._name)
        self._writer = self._sink = self._file = None
        self._files.append(self._name)
        self._in_shard = self._bytes = 0
