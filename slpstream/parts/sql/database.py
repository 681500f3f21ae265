"""A DuckDB database whose tables are replays. It doesn't read or write any other files, and doesn't load extensions.

If a query sorts or joins more data than fits into memory, it writes some of it into a temporary folder, which is
removed afterwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from slpstream.parts.sql.joins import deciding_files
from slpstream.parts.sql.lazy_table import Current, LazyTable, Read
from slpstream.parts.sql.scan import TABLES

_STREAMED = "1MB"
"""Maximum number of rows that wait for their reader. Further rows would be wasted if the reader leaves."""
_INTERRUPTED = "Query interrupted"
"""The text of the RuntimeError that DuckDB raises after Ctrl-C."""
_ROWS_AT_ONCE = 2048
_ROWS_IN_BATCH = 65_536
_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)


class InvalidQuery(Exception):
    """Raised if DuckDB refuses a query.

    If we know where the mistake is, `place` contains the line, with a mark below it.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class FailedQuery(Exception):
    """Raised if a query fails because of a value, or because there isn't enough memory."""


class Database:
    """The tables, and a way to run queries on them. You can only run one query at a time."""

    def __init__(self, connection: Any, read: Read) -> None:
        self._connection = connection
        self._current = Current()
        for name in TABLES:
            connection.register(name, LazyTable(name, read, self._current))
        connection.execute(f"SET streaming_buffer_size = '{_STREAMED}'")
        connection.execute("SET enable_progress_bar = false")  # it would be among the rows
        connection.execute("SET lock_configuration = true")

    def rows(self, query: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
        """Return the names of the columns, and an iterator over the rows.

        Raises `InvalidQuery`. When you iterate, this can also raise `FailedQuery`, or one of the errors that you get if
        a replay can't be read.
        """
        with self._errors():
            self._prepare(query)
            result = self._connection.execute(query)
            names = [column[0] for column in result.description]
        return names, self._rows(result)

    def _rows(self, result: Any) -> Iterator[Sequence[Any]]:
        while True:
            with self._errors():
                rows = result.fetchmany(_ROWS_AT_ONCE)
            if not rows:
                return
            yield from rows

    def batches(self, query: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Like `rows`, but you get the schema, and an iterator over Arrow batches."""
        with self._errors():
            self._prepare(query)
            reader = self._connection.sql(query).to_arrow_reader(_ROWS_IN_BATCH)
        return reader.schema, self._batches(reader)

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        while True:
            with self._errors():
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
            yield batch

    def _prepare(self, query: str) -> None:
        """Accept a single statement that reads.

        Others couldn't write to anything anyway, but this check explains it to the user.
        """
        statements = self._connection.extract_statements(query)
        if len(statements) != 1:
            raise InvalidQuery("expected one statement" if statements else "the query is empty")
        if statements[0].type not in _READING:
            raise InvalidQuery("only queries are possible here: nothing is written")
        self._current.files = None
        if statements[0].type != duckdb.StatementType.SELECT:
            return
        try:
            self._connection.sql(query)
        except duckdb.Error:
            return  # mistakes are found before replays are read; executing the query shows their place
        serialized = self._connection.execute("SELECT json_serialize_sql($1)", [query]).fetchall()[0][0]
        self._current.files = deciding_files(serialized, self._files)

    def _files(self, serialized: str) -> list[str]:
        result = self._connection.execute("SELECT json_deserialize_sql($1)", [serialized]).fetchall()[0][0]
        return [row[0] for row in self._connection.execute(result).fetchall()]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            if str(error) == _INTERRUPTED:
                raise KeyboardInterrupt from error
            raise
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            failure, self._current.error = self._current.error, None
            if failure is not None:
                raise failure from error
            if isinstance(error, duckdb.InterruptException):
                raise KeyboardInterrupt from error
            message, _, place = str(error).strip().partition("\n\n")
            if isinstance(error, (duckdb.ProgrammingError, duckdb.NotSupportedError, duckdb.PermissionException)):
                raise InvalidQuery(" ".join(message.split()), place) from error
            raise FailedQuery(" ".join(str(error).split())) from error


@contextmanager
def open_database(read: Read) -> Iterator[Database]:
    """A context manager that gives you a database. Its tables use `read` to read replays."""
    with tempfile.TemporaryDirectory(prefix="slpstream-sql-", ignore_cleanup_errors=True) as folder:
        connection = duckdb.connect(
            ":memory:",
            config={
                "enable_external_access": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "python_enable_replacements": "false",
                "temp_directory": folder,
            },
        )
        try:
            yield Database(connection, read)
        finally:
            connection.close()
