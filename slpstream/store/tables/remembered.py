"""Values that parts of the daemon need again after a restart. These can't be restored from any replay file."""

from __future__ import annotations

from collections.abc import Mapping

from slpstream.store.database_file import DatabaseFile
from slpstream.store.documents import check_json

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    8: (
        # One of the values is the station on air.
        """CREATE TABLE remembered (
            key TEXT PRIMARY KEY NOT NULL,
            value TEXT NOT NULL                -- JSON
        ) STRICT, WITHOUT ROWID""",
    ),
}
RAW_ROWS = "SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM remembered"
"""The statement that saves the remembered values of a damaged database."""


class RememberedValues:
    """The table of remembered values."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def keep(self, values: Mapping[str, bytes | None]) -> None:
        """Store values by key, as JSON. They replace those that were stored before, and `None` removes a value."""
        with self._file.transaction() as writer:
            for key, value in values.items():
                if value is None:
                    writer.execute("DELETE FROM remembered WHERE key = ?", (key,))
                else:
                    writer.execute(
                        "INSERT OR REPLACE INTO remembered (key, value) VALUES (?, ?)", (key, value.decode())
                    )

    def get(self, key: str) -> bytes | None:
        """Return the value that is stored under a key, as JSON, or `None` if the key isn't in the table."""
        with self._file.reader() as reader:
            found = reader.execute("SELECT value FROM remembered WHERE key = ?", (key,)).fetchone()
            if found is None:
                return None
            check_json(found[0])
            return bytes(found[0].encode())
