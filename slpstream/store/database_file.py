"""Connections to a SQLite file: one that writes, a few that read, transactions, and the errors that mean damage."""

from __future__ import annotations

import sqlite3
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

BUSY_MILLISECONDS = 5000
_IDLE_READERS = 4
_CACHE_KIBIBYTES = 32 * 1024
"""Cache limit of each reading connection. The search facts of 100,000 games fit, which queries read repeatedly."""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_WRONG_CONTENT = ("Could not decode to UTF-8", "malformed JSON")
"""The beginnings of errors that Python's module and SQLite's JSON functions raise without an error code."""
_PRIMARY_CODE = 0xFF
"""The lowest byte of an extended result code of SQLite is the primary result code."""


class DamagedContent(sqlite3.DatabaseError):
    """Damage that SQLite does not detect: a value that no version of slpstream can have written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def connect(path: Path, *pragmas: str) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time. Transactions are explicit."""
    connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("synchronous = NORMAL", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()  # now, since Windows does not rename a damaged file while it is open
        raise
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the error means that the file is not a database or is damaged."""
    return primary_code(error) in _DAMAGE or is_wrong_content(error)


def is_wrong_content(error: sqlite3.Error) -> bool:
    """Whether the error means that slpstream cannot have written a stored value."""
    return isinstance(error, DamagedContent) or str(error).startswith(_WRONG_CONTENT)


def primary_code(error: Exception) -> int | None:
    """The primary result code of an error of SQLite; `None` for other errors."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


def release_cursors(error: BaseException) -> None:
    """Drop the cursors that the frames of an error hold. Windows cannot rename a file while a cursor is open.

    Frames that are still running keep theirs, so callers that rename the file hold no cursor beyond a statement.
    """
    for each in (error, error.__cause__):
        if each is not None:
            traceback.clear_frames(each.__traceback__)


@contextmanager
def finding_damage() -> Iterator[None]:
    """Raise `DamagedContent` if the block reads text that is not UTF-8, or a document that is not the expected JSON."""
    try:
        yield
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise DamagedContent(str(error)) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the writes of the block, or none of them if it fails. Raises `DamagedContent` as `finding_damage` does."""
    with finding_damage():
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


class DatabaseFile:
    """An open SQLite file. All methods block, can be called from any thread and raise `sqlite3.Error`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.closed = False
        self._writer = connect(path)
        self._writing = threading.Lock()
        self._reading = threading.Condition()
        self._readers = 0
        self._idle: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the file after the calls that other threads are making. Later calls fail.

        A damaged file is replaced after it was closed; a late reader would open the new file and disturb it.
        """
        self.closed = True
        with self._writing:
            self._writer.close()
        with self._reading:
            self._reading.wait_for(lambda: not self._readers)
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The writing connection, in a transaction."""
        with self._writing, transaction(self._writer):
            yield self._writer

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A reading connection. Raises `DamagedContent` as `finding_damage` does."""
        with self._reading:
            if self.closed:
                raise sqlite3.ProgrammingError("the database is closed")
            self._readers += 1
        try:
            with finding_damage(), self._reading_connection() as reader:
                yield reader
        finally:
            with self._reading:
                self._readers -= 1
                self._reading.notify_all()

    @contextmanager
    def _reading_connection(self) -> Iterator[sqlite3.Connection]:
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = connect(self.path, "query_only = ON", f"cache_size = -{_CACHE_KIBIBYTES}")
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        if self.closed or len(self._idle) >= _IDLE_READERS:
            reader.close()
        else:
            self._idle.append(reader)

    def check_writable(self) -> None:
        """Write a value that changes nothing."""
        with self._writing:
            version: int = self._writer.execute("PRAGMA user_version").fetchone()[0]
            self._writer.execute(f"PRAGMA user_version = {version}")

    def used_bytes(self) -> int:
        """The size of the file without its free pages, in bytes."""
        with self.reader() as reader:
            pages, free, size = (
                reader.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)
