"""The corrections that operators have made to the sets of a station. These can't be restored from any replay file."""

from __future__ import annotations

from collections.abc import Mapping

from slpstream.store.database_file import DatabaseFile
from slpstream.store.documents import check_json

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    2: (
        # No replay file contains the corrections, so `reindex` leaves them alone.
        """CREATE TABLE corrections (
            station TEXT PRIMARY KEY NOT NULL,
            document TEXT NOT NULL             -- JSON
        ) STRICT, WITHOUT ROWID""",
    ),
}
RAW_ROWS = "SELECT CAST(station AS BLOB), CAST(document AS BLOB) FROM corrections"
"""The statement that saves the corrections of a damaged database."""


class Corrections:
    """The table of corrections."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def keep(self, station: str, corrections: bytes) -> None:
        """Store the corrections to the sets of the given station, as JSON.

        They replace those that were stored before.
        """
        with self._file.transaction() as writer:
            writer.execute(
                "INSERT OR REPLACE INTO corrections (station, document) VALUES (?, ?)", (station, corrections.decode())
            )

    def all(self) -> dict[str, bytes]:
        """Return all corrections by station, as JSON."""
        with self._file.reader() as reader:
            rows = reader.execute("SELECT station, document FROM corrections")
            found = dict(rows)
            check_json(*found.values())
            return {station: document.encode() for station, document in found.items()}
