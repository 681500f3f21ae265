"""Open databases. If necessary, this creates the file, migrates it to the newest version, or replaces it because it is
damaged.

The version is stored in `PRAGMA user_version`. We refuse to open a database with a newer version, because it belongs to
a newer slpstream. If a database is damaged, we rename it and create a new one. This is fine, because nearly all of the
index can be restored from the replay files.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from slpstream.model.errors import ConfigError
from slpstream.model.foreign_data import json_or_none
from slpstream.store.database_file import connect, primary_code
from slpstream.system.private_files import create_private_file, private_file

_MAX_VERSION = 100
"""A higher version is damage, not a newer slpstream."""
_NO_ACCESS = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_ENVIRONMENT = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_NOLFS,
)
"""Errors that another file in the same place would cause too."""


SqlFunction = tuple[str, int, Callable[..., Any]]
"""The name of a function in SQL, its number of parameters, and the function."""


class NewerVersion(ConfigError):
    """Raised if the database belongs to a newer slpstream."""


def prepare(
    path: Path,
    migrations: tuple[tuple[str, ...], ...],
    *,
    on_damage: Callable[[Path, str], None],
    functions: Sequence[SqlFunction] = (),
) -> None:
    """Create the database at the given path, or migrate it to the newest version.

    If the file is damaged, or isn't a database at all, it is renamed, and `on_damage` is called with its new path and
    the problem. The migrations can call the `functions`. Since the names of players are in the file, we make sure that
    only its owner can read it.

    Raises `NewerVersion` if the database belongs to a newer version, and `OSError` or `sqlite3.OperationalError` if it
    isn't possible to write to the folder.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in _parts(path):
        private_file(part)
    try:
        if not all(part.is_file() or not os.path.lexists(part) for part in _parts(path)):
            raise _Damaged("it is not a file")
        _create(path)
        _prepare(path, migrations, functions)
    except (sqlite3.Error, ValueError, OverflowError) as error:
        if not _is_unusable(path, error):
            raise
        # Raises for a bug in a migration, so that a good database is not renamed.
        _prepare(Path(":memory:"), migrations, functions)
        on_damage(rename_damaged(path), str(error))
        _create(path)
        _prepare(path, migrations, functions)


def _create(path: Path) -> None:
    """Create an empty file if there isn't one. If we let SQLite create it, others would be able to read it."""
    with contextlib.suppress(FileExistsError):
        os.close(create_private_file(path))


def _is_unusable(path: Path, error: Exception) -> bool:
    """Whether there is something wrong with the file itself, and not with the disk, the folder or another process.

    Damage can show itself in many ways, for example as a wrong statement in the schema, or as text that isn't UTF-8.
    """
    code = primary_code(error)
    if code in _NO_ACCESS:
        return any(os.path.lexists(part) and not os.access(part, os.R_OK | os.W_OK) for part in _parts(path))
    return code not in _ENVIRONMENT


def readable_rows(path: Path, statement: str) -> dict[str, bytes]:
    """Run a statement that selects keys and JSON documents in a damaged database.

    Returns all of them up to the first error.
    """
    found: dict[str, bytes] = {}
    file = f"file:{quote(os.fsencode(path.absolute()))}?immutable=1"
    with suppress(sqlite3.Error, ValueError), closing(sqlite3.connect(file, uri=True)) as connection:
        for key, document in connection.execute(statement):
            # In a damaged database, columns that cannot be NULL can be NULL.
            if key is not None and document is not None and json_or_none(document, object) is not None:
                with suppress(UnicodeDecodeError):
                    found[key.decode()] = document
    return found


def _parts(path: Path) -> list[Path]:
    """Return the paths of all files that a database consists of."""
    return [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal", "")]


def rename_damaged(path: Path) -> Path:
    """Rename a damaged database together with all of its files. Returns the new path."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    renamed = path.with_name(f"{path.name}.damaged-{stamp}")
    for part, target in zip(_parts(path), _parts(renamed), strict=True):
        with contextlib.suppress(FileNotFoundError):  # SQLite removes -wal and -shm when the database is closed
            part.rename(target)
    return renamed


def _prepare(path: Path, migrations: tuple[tuple[str, ...], ...], functions: Sequence[SqlFunction]) -> None:
    connection = connect(path)
    try:
        for function in functions:
            connection.create_function(*function)
        connection.execute("PRAGMA journal_mode = WAL")
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if not 0 <= version <= _MAX_VERSION:
            raise _Damaged(f"it has version {version}")
        if version > len(migrations):
            raise NewerVersion(
                str(path),
                "",
                f"has version {version}, but this slpstream knows versions up to {len(migrations)}: "
                "use a newer slpstream, or move the file away",
            )
        if version:
            damage: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if damage != "ok":
                raise _Damaged(damage)
        for number in range(version, len(migrations)):
            _migrate(connection, number, migrations)
        # A database on a full or read-only disk can be opened. Only a write shows that it is useless.
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    finally:
        connection.close()


def _migrate(connection: sqlite3.Connection, number: int, migrations: tuple[tuple[str, ...], ...]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated it in the meantime.
        if connection.execute("PRAGMA user_version").fetchone()[0] == number:
            for statement in migrations[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class _Damaged(sqlite3.DatabaseError):
    """Raised if we notice damage when we open the database."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
