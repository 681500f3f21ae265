"""A table that is read when DuckDB asks for it: only the columns and, as far as DuckDB tells them, the rows of a query.

DuckDB calls `scanner` of an Arrow dataset with the columns and the filter of the query, as it does for the datasets of
Lance and other packages, and then takes one batch after another until it has enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import dataset

from slpstream.sql.scan import TABLES, Scan

Read = Callable[[Scan], Iterator[pa.Table]]
"""Reads the replays for a scan: tables with the columns of the scan."""


class Failure:
    """The error that ended a scan. DuckDB passes on only its text, so it is kept here."""

    def __init__(self) -> None:
        self.error: Exception | None = None


class LazyTable(dataset.Dataset):  # type: ignore[misc]
    """A table of `TABLES`."""

    def __init__(self, name: str, read: Read, failure: Failure) -> None:
        # The base class has no replays of its own, and forbids its __init__.
        self._name = name
        self._read = read
        self._failure = failure

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return TABLES[self._name].schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> _Scanner:
        """The rows that pass the filter, with these columns; called by DuckDB."""
        names = self.schema.names if columns is None else columns
        return _Scanner(Scan(self._name, names, filter), self._read, self._failure)


class _Scanner:
    """The object from which DuckDB takes the batches."""

    def __init__(self, scan: Scan, read: Read, failure: Failure) -> None:
        self._scan = scan
        self._read = read
        self._failure = failure

    def to_reader(self) -> pa.RecordBatchReader:
        """The batches. Replays are read when they are asked for."""
        return pa.RecordBatchReader.from_batches(self._scan.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for table in self._read(self._scan):
                yield from table.to_batches()
        except Exception as error:
            self._failure.error = error
            raise
