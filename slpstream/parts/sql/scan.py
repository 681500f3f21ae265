"""The request that a query makes to one table, and the rows of one replay for it.

You can send a scan to another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from slpstream.parts.sql import conversions, filters, frames, games, players
from slpstream.parts.sql.queried import Holds, Queried, Row

Rows = list[dict[str, Any]] | Any
"""Rows by names of columns, or an Arrow table."""


class Table(NamedTuple):
    """A table.

    To read a replay, it has either `rows`, which does it by rows, or `columns`, which does it column by column.
    """

    doc: str
    schema: pa.Schema
    rows: Callable[[Queried, frozenset[str], Holds], list[Row]] | None = None
    columns: Callable[[Queried, frozenset[str], Holds], pa.Table | None] | None = None
    computed: frozenset[str] = frozenset()
    """Columns for which `rows` reads a replay to its end. `columns` always does."""
    always_computed: bool = False


TABLES: Mapping[str, Table] = {
    "games": Table("A row for each game.", games.SCHEMA, games.rows),
    "players": Table("A row for each player of each game.", players.SCHEMA, players.rows, computed=players.COMPUTED),
    "frames": Table(
        "A row for each frame and character, with the last sending of each frame.",
        frames.SCHEMA,
        columns=frames.table,
        always_computed=True,
    ),
    "conversions": Table(
        "A row for each conversion: hits on a player until the player is in control again.",
        conversions.SCHEMA,
        conversions.rows,
        always_computed=True,
    ),
}


class Scan:
    """The columns that a query wants from a table, together with its filter."""

    def __init__(
        self, table: str, columns: Iterable[str], filter: Any = None, filtered: frozenset[str] | None = None
    ) -> None:
        """If you know which columns the filter needs, you can pass them as `filtered`."""
        self.table = table
        self.columns = tuple(columns)
        """The columns of the result, in this order."""
        self.filter = filter
        """An Arrow expression, or `None`."""
        self.files: frozenset[str] | None = None
        """The files that can have rows, if known. They are not sent to other processes."""
        self._schema = TABLES[table].schema
        if filtered is None:
            filtered = frozenset() if filter is None else filters.columns_of(filter, self._schema)
        self._filtered = filtered

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.table, self.columns, self.filter, self._filtered)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return pa.schema([self._schema.field(name) for name in self.columns])

    @property
    def needed(self) -> frozenset[str]:
        """The columns that we have to read. This includes those that the filter needs."""
        return self._filtered.union(self.columns)

    @property
    def is_costly(self) -> bool:
        """Whether we have to read replays to their end."""
        table = TABLES[self.table]
        return table.always_computed or not self.needed.isdisjoint(table.computed)

    @property
    def names_files(self) -> bool:
        """Whether some files are excluded because of their names."""
        return self.files is not None or "file" in self._filtered

    def wants_file(self, file: str) -> bool:
        """Whether a file might have rows that pass the filter."""
        return (self.files is None or file in self.files) and self._holds({"file": file})

    def read(self, queried: Queried) -> Rows | None:
        """Return the rows of a replay. If the table has `columns`, these are only the rows that pass the filter, and
        otherwise all of them.

        Raises `SourceError` and `FormatError`.
        """
        table = TABLES[self.table]
        needed = self.needed
        if table.columns is not None:
            found = table.columns(queried, needed, self._holds)
            return None if found is None else self._passing(found)
        if table.rows is None:
            return None
        return [{name: row.get(name) for name in needed} for row in table.rows(queried, needed, self._holds)]

    def table_of(self, rows: Rows) -> pa.Table:
        """Turn rows that you got from `read`, from one or several replays, into a table with the columns of the
        result.
        """
        if isinstance(rows, list):
            return self._passing(pa.Table.from_pylist(rows, schema=self._needed_schema))
        return rows

    def _passing(self, table: pa.Table) -> pa.Table:
        return (table if self.filter is None else table.filter(self.filter)).select(self.columns)

    def _holds(self, values: Row) -> bool:
        if self._filtered.isdisjoint(values):
            return True
        return filters.can_hold(self.filter, values, self._filter_schema)

    @cached_property
    def _needed_schema(self) -> pa.Schema:
        needed = self.needed
        return pa.schema([field for field in self._schema if field.name in needed])

    @cached_property
    def _filter_schema(self) -> pa.Schema:
        return pa.schema([field for field in self._schema if field.name in self._filtered])
