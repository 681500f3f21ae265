"""Writes games into shards: Arrow IPC files without compression, one game a record batch.

An export is divided into parts. One process writes the shards of a part. Then another one, which has time to wait for
the disk, completes the part by its list of games. What a killed run has left of parts without a list is written again.
The content of a part depends on its replays and the options alone, so a run that was killed any number of times gives
the same files as an undisturbed one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import FileIO
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from slpstream.formats.slippi.game_start import Settings
from slpstream.training.columns import COLUMNS
from slpstream.training.rows import Rows
from slpstream.training.windows import INDEX

PARTS = "parts"
"""Folder of the lists of games while the export runs."""
GAMES, META = "games", "meta.json"
"""Folder of the files of games, and the list of them, in the layout `slippi-ai`."""

_WRITTEN_BYTES = 256 * 1024
"""Written at once."""
_BLOCK_BYTES = 16 * 1024
"""Left out if all of it is zero."""
_TYPES = {"f4": pa.float32(), "u1": pa.uint8(), "i1": pa.int8(), "u2": pa.uint16(), "u4": pa.uint32(), "i4": pa.int32()}
_ORDER = tuple(_TYPES)


def _notes(**texts: str) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


_IN_ORDER = sorted(COLUMNS, key=lambda column: _ORDER.index(column.dtype))
"""Columns of one type follow each other, so that a reader can take them as one matrix without copying."""

SCHEMA = pa.schema(
    [
        pa.field(
            column.name,
            _TYPES[column.dtype],
            nullable=False,
            metadata=_notes(doc=column.doc, unit=column.unit, since=column.since),
        )
        for column in _IN_ORDER
    ]
)
"""The columns of a shard."""
_COLUMN_TYPES = [(field.name, field.type) for field in SCHEMA]
_ROW = pa.struct(list(SCHEMA))
_ROW_BYTES = sum(field.type.bit_width // 8 for field in SCHEMA)


def record_batch(rows: Rows) -> pa.RecordBatch:
    """The rows of a game as a record batch with the columns of `SCHEMA`."""
    made: dict[tuple[int, pa.DataType], pa.Array] = {}  # columns of zeros are one array
    arrays = []
    for name, kind in _COLUMN_TYPES:
        values = rows[name]
        array = made.get((id(values), kind))
        if array is None:
            buffer = pa.py_buffer(np.ascontiguousarray(values))
            array = made[id(values), kind] = pa.Array.from_buffers(kind, len(values), [None, buffer])
        arrays.append(array)
    struct = pa.Array.from_buffers(_ROW, len(rows["frame"]), [None], children=arrays)
    return pa.RecordBatch.from_struct_array(struct)  # `from_arrays` looks at each of the hundreds of columns


class _FileWithHoles(FileIO):
    """A file in which blocks of zeros are holes: they are not written, and take no space on most file systems.

    Most slots of items are empty in most frames, so this is more than half of a shard.
    """

    def write(self, data: Any) -> int:
        """Write some blocks, or go past them. Raises `OSError`."""
        values = np.frombuffer(data, np.uint64, count=len(data) // _BLOCK_BYTES * (_BLOCK_BYTES // 8))
        blocks = np.bitwise_or.reduce(values.reshape(-1, _BLOCK_BYTES // 8), axis=1) != 0
        view = memoryview(data)
        for is_used, run in groupby([*blocks.tolist(), True]):  # the rest is no whole block
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
        """Close the file; a hole at its end is part of it."""
        if not self.closed:
            self.truncate()
        super().close()


def game_name(game_id: str, settings: Settings) -> str:
    """The key that all copies of a game share: its number in an online session, or else its id.

    The id depends on the names of the players too, which anonymised copies do not have.
    """
    match = settings.match_info
    if not match.session_id:
        return game_id
    return f"{match.session_id}:{match.game_number or 0}:{match.tiebreaker_number or 0}"  # UNSET is false


def split_of(game: str, *, seed: int, validation: float) -> str:
    """`validation` for this share of all games, `train` for the others. It depends on the seed and the name alone."""
    digest = hashlib.sha256(f"{seed}:{game}".encode()).digest()
    return "validation" if int.from_bytes(digest[:6]) < validation * (1 << 48) else "train"


class WrittenPart(NamedTuple):
    """A part whose files are written, but may not be on the disk yet."""

    number: int
    files: tuple[str, ...]
    """Below the folder of the set."""
    games: list[dict[str, Any]]
    """Their entries in the index."""
    problems: list[tuple[int, str]]
    """Exit codes and messages."""


class PartWriter:
    """Writes the shards of one part. Leaving it after an exception removes what was not finished."""

    def __init__(self, folder: Path, number: int, *, max_bytes: int) -> None:
        """A shard of more than `max_bytes` has one game."""
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
        """Write a game. `facts` go into the index. Raises `OSError`."""
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


def complete_part(folder: Path, part: WrittenPart) -> None:
    """Complete a part: write its list of games once all its files are on the disk. Raises `OSError`."""
    paths = [folder / file for file in part.files]
    for path in (*paths, *dict.fromkeys(path.parent for path in paths)):
        sync(path)
    write_whole(list_of(folder, part.number), json.dumps({"games": part.games, "problems": part.problems}, indent=1))


def list_of(folder: Path, number: int) -> Path:
    """The file with the games of a part."""
    return folder / PARTS / f"part-{number:05}.json"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is never there in part, not even after a power cut. Raises `OSError`."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    sync(temporary)
    temporary.replace(path)


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, from the memory of the system to the disk. Raises `OSError`."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":
        return  # which cannot open folders
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def listed(folder: Path, parts: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The games of all parts, and the problems with replays: exit code and message. Raises `OSError`."""
    lists = [json.loads(list_of(folder, number).read_text(encoding="utf-8")) for number in range(parts)]
    games = [game for part in lists for game in part["games"]]
    return games, [{"code": code, "message": message} for part in lists for code, message in part["problems"]]


def finish_set(folder: Path, parts: int, description: Mapping[str, Any]) -> dict[str, Any]:
    """Write the index of a set whose parts are all complete. Returns the index. Raises `OSError`."""
    games, problems = listed(folder, parts)
    index = {
        **description,
        "columns": [
            {"name": c.name, "type": str(_TYPES[c.dtype]), "doc": c.doc, "unit": c.unit, "since": c.since}
            for c in COLUMNS
        ],
        "frames": sum(game["frames"] for game in games),
        "games": games,
        "problems": problems,
    }
    write_whole(folder / INDEX, json.dumps(index, indent=1))
    sync(folder)
    return index
