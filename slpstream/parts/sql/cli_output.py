"""The results of `slpstream sql`. They can be printed as an aligned table, CSV or JSON lines, or written to a file."""

from __future__ import annotations

import csv
import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.json import Encoder
from pyarrow import parquet

from slpstream.cli.atomic_file import write_atomically
from slpstream.model.csv_cells import csv_cell
from slpstream.parts.sql.database import Database
from slpstream.parts.sql.scan import TABLES
from slpstream.system.text import printable

_MEASURED_ROWS = 1000
"""Rows whose cells decide the widths of the columns. A result can have millions."""
_MAX_WIDTH = 80
_SMALL = 0.001
_DIGITS = 3
_MAX_TYPE_WIDTH = 12
_PLAN = ("explain_key", "explain_value")
"""The columns of EXPLAIN, whose value is a drawing."""

Rows = Iterable[Sequence[Any]]


def print_table(names: Sequence[str], rows: Rows) -> None:
    """Print rows one after the other, with numbers on the right. A number has at most three digits after the point."""
    rest = iter(rows)
    if tuple(names) == _PLAN:
        for _, plan in rest:
            print(plan.rstrip())
        return
    first = list(islice(rest, _MEASURED_ROWS))
    lines = [[printable(name) for name in names], *([_cell(value) for value in row] for row in first)]
    widths = [min(_MAX_WIDTH, max(map(len, column))) for column in zip(*lines, strict=True)]
    numeric = [_is_numeric(row[index] for row in first) for index in range(len(names))]
    for cells in chain(lines, ([_cell(value) for value in row] for row in rest)):
        print(_line(cells, widths, numeric))


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _is_numeric(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(v, (int, float, Decimal)) and not isinstance(v, bool) for v in known)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and math.isfinite(value):
        if value and abs(value) < _SMALL:
            return f"{value:.{_DIGITS}g}"
        return f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".")
    return printable(_text(value))


def print_csv(names: Sequence[str], rows: Rows) -> None:
    """Print CSV with a header. If a value is absent, it is empty, and lists are written as JSON."""
    for piece in _csv(names, rows):
        sys.stdout.buffer.write(piece)


def print_json(names: Sequence[str], rows: Rows) -> None:
    """Print a JSON object for each row."""
    for piece in _json(names, rows):
        sys.stdout.buffer.write(piece)


printers: Mapping[str, Callable[[Sequence[str], Rows], None]] = {
    "table": print_table,
    "csv": print_csv,
    "json": print_json,
}
"""By the kind of the output."""


def _csv(names: Sequence[str], rows: Rows) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in chain([names], rows):
        writer.writerow([csv_cell(value) if isinstance(value, str) else _text(value) for value in row])
        yield buffer.getvalue().encode("utf-8", "replace")
        buffer.seek(0)
        buffer.truncate()


def _json(names: Sequence[str], rows: Rows) -> Iterator[bytes]:
    encode = _encoder.encode
    keys = _distinct(names)
    for row in rows:
        yield encode(dict(zip(keys, row, strict=True))) + b"\n"


def _distinct(names: Sequence[str]) -> list[str]:
    """Return keys for columns that are all different, even if some columns have the same name: `x`, `x_1`, `x_2`."""
    keys: list[str] = []
    for name in names:
        key = name
        for number in count(1):
            if key not in keys:
                break
            key = f"{name}_{number}"
        keys.append(key)
    return keys


_encoder = Encoder(decimal_format="number", enc_hook=str)


def _text(value: Any) -> str:
    """A value in full."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (str, int, float, Decimal, date, time, timedelta)):
        return str(value)
    return _encoder.encode(value).decode()


_TEXT: Mapping[str, Callable[[Sequence[str], Rows], Iterator[bytes]]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json,
}
_ARROW: Mapping[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": lambda file, schema: parquet.ParquetWriter(file, schema, compression="zstd"),
    ".arrow": pa.ipc.new_file,
}


def write_file(database: Database, query: str, target: Path) -> int:
    """Write the rows of a query to a file, and return how many there are.

    The format depends on the ending of the file's name.
    """
    ending = target.suffix.lower()
    return _write_text(database, query, target) if ending in _TEXT else _write_arrow(database, query, target)


def _write_text(database: Database, query: str, target: Path) -> int:
    written = 0

    def counted() -> Iterator[Sequence[Any]]:
        nonlocal written
        for row in rows:
            written += 1
            yield row

    names, rows = database.rows(query)
    write_atomically(target, _TEXT[target.suffix.lower()](names, counted()), overwrite=True)
    return written


def _write_arrow(database: Database, query: str, target: Path) -> int:
    written = 0
    schema, batches = database.batches(query)
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with _ARROW[target.suffix.lower()](str(temporary), schema) as writer:
            for batch in batches:
                written += len(batch)
                writer.write_batch(batch)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return written


def print_schema(*, as_json: bool) -> None:
    """Print the tables and their columns, with the name, type and meaning of each."""
    if as_json:
        for table, each in TABLES.items():
            for field in each.schema:
                row = {"table": table, "column": field.name, "type": sql_type(field.type), **_notes(field)}
                sys.stdout.buffer.write(_encoder.encode(row) + b"\n")
        return
    for number, (table, each) in enumerate(TABLES.items()):
        print(f"{'' if number == 0 else chr(10)}{table}: {each.doc}")
        kinds = [sql_type(field.type) for field in each.schema]
        widths = max(map(len, each.schema.names)), min(_MAX_TYPE_WIDTH, max(map(len, kinds)))
        for field, kind in zip(each.schema, kinds, strict=True):
            notes = _notes(field)
            unit = f" [{notes['unit']}]" if notes.get("unit") else ""
            print(f"  {field.name:{widths[0]}}  {kind:{widths[1]}}  {notes.get('doc', '')}{unit}".rstrip())


def _notes(field: Any) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}


def sql_type(type: Any) -> str:
    """Return the type that DuckDB has for a column with this Arrow type."""
    if pa.types.is_list(type):
        return f"{sql_type(type.value_type)}[]"
    if pa.types.is_struct(type):
        return f"STRUCT({', '.join(f'{field.name} {sql_type(field.type)}' for field in type)})"
    return _SQL_TYPES[type]


_SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.uint8(): "UTINYINT",
    pa.int8(): "TINYINT",
    pa.uint16(): "USMALLINT",
    pa.int16(): "SMALLINT",
    pa.uint32(): "UINTEGER",
    pa.int32(): "INTEGER",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.timestamp("ms"): "TIMESTAMP_MS",
}
