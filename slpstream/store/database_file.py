"""Connections to a SQLite file (one that writes, and a few that read), transactions, and the errors that mean
damage.
"""

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
    """Raised if we find damage that SQLite can't detect: no version of slpstream can have written such a value."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def connect(path: Path, *pragmas: str) -> sqlite3.Connection:
    """Open a connection. You can use it in any thread, but only in one at a time. Transactions have to be explicit."""
    connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("synchronous = NORMAL", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()  # now, since Windows does not rename a damaged file while it is open
        raise
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error means that the file is damaged, or that it isn't a database at all."""
    return primary_code(error) in _DAMAGE or is_wrong_content(error)


def is_wrong_content(error: sqlite3.Error) -> bool:
    """Whether an error means that there's a value in the database that slpstream can't have written."""
    return isinstance(error, DamagedContent) or str(error).startswith(_WRONG_CONTENT)


def primary_code(error: Exception) -> int | None:
    """Return the primary result code of the given error. If the error isn't from SQLite, this returns `None`."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


def release_cursors(error: BaseException) -> None:
    """Drop all cursors that are kept alive by the frames of the given error. On Windows, you can't rename a file while
    a cursor is open.

    This doesn't work for frames that are still running. So if you want to rename the file, make sure that you don't
    keep any cursor for longer than one statement.
    """
    for each in (error, error.__cause__):
        if each is not None:
            traceback.clear_frames(each.__traceback__)


@contextmanager
def finding_damage() -> Iterator[None]:
    """A context manager that raises `DamagedContent` if you read text that isn't UTF-8, or JSON that isn't what we
    expect.
    """
    try:
        yield
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise DamagedContent(str(error)) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A context manager that commits everything that you write in the block. If the block fails, nothing is written.

    Raises `DamagedContent` in the same cases as `finding_damage`.
    """
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
    """An open SQLite file.

    You can call its methods from any thread, but they all block and can raise `sqlite3.Error`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.closed = False
        self._writer = connect(path)
        self._writing = threading.Lock()
        self._reading = threading.Condition()
        self._readers = 0
        self._idle: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close the file, but first wait until other threads have finished their calls. After this, all calls fail.

        We have to wait because if the file is damaged, it is replaced after it was closed, and a reader that comes too
        late would open the new file and cause trouble.
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
        """A context manager that gives you the writing connection, in a transaction."""
        with self._writing, transaction(self._writer):
            yield self._writer

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A context manager that gives you a connection for reading.

        Raises `DamagedContent` in the same cases as `finding_damage`.
        """
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
        """Check whether it is possible to write, by writing a value that doesn't change anything."""
        with self._writing:
            version: int = self._writer.execute("PRAGMA user_version").fetchone()[0]
            self._writer.execute(f"PRAGMA user_version = {version}")

    def used_bytes(self) -> int:
        """Return the size of the file in bytes, not counting its free pages."""
        with self.reader() as reader:
            pages, free, size = (
                reader.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)
