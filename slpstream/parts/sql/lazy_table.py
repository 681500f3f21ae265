"""A table that isn't read before DuckDB scans it. Then it only reads those columns that a query needs and, as far as
DuckDB tells us about the filter, only its rows.

To get the rows, DuckDB calls `scanner` of an Arrow dataset with the columns and filter of the query, in the same way as
for the datasets of Lance and other packages. After that, it takes one batch after another until it has enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from slpstream.parts.sql.scan import TABLES, Scan

Read = Callable[[Scan], Iterator[pa.Table]]
"""Reads the replays for a scan: tables with the columns of the scan."""


class Current:
    """The running query."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        """The error that ended a scan. DuckDB passes on only its text, so it is kept here."""
        self.files: frozenset[str] | None = None
        """The files that can contribute to the answer, or `None` for all."""


class LazyTable(dataset.Dataset):  # type: ignore[misc]
    """A table of `TABLES`."""

    def __init__(self, name: str, read: Read, current: Current) -> None:
        # The base class has no replays, and forbids its __init__.
        self._name = name
        self._read = read
        self._current = current

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return TABLES[self._name].schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> _Scanner:
        """Return those rows that pass the filter, with these columns. This is called by DuckDB."""
        names = self.schema.names if columns is None else columns
        scan = Scan(self._name, names, filter)
        scan.files = self._current.files
        return _Scanner(scan, self._read, self._current)


class _Scanner:
    """The object from which DuckDB takes its batches."""

    def __init__(self, scan: Scan, read: Read, current: Current) -> None:
        self._scan = scan
        self._read = read
        self._current = current

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the batches. Each replay is read when it's needed."""
        return pa.RecordBatchReader.from_batches(self._scan.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for table in self._read(self._scan):
                yield from table.to_batches()
        except (Exception, KeyboardInterrupt) as error:
            self._current.error = error
            raise
