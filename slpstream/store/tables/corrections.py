"""The corrections that operators made to the sets of a station. No replay file can restore them."""

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
        """Store the corrections to the sets of a station, as JSON, instead of earlier ones."""
        with self._file.transaction() as writer:
            writer.execute(
                "INSERT OR REPLACE INTO corrections (station, document) VALUES (?, ?)", (station, corrections.decode())
            )

    def all(self) -> dict[str, bytes]:
        """The corrections, as JSON, by station."""
        with self._file.reader() as reader:
            rows = reader.execute("SELECT station, document FROM corrections")
            found = dict(rows)
            check_json(*found.values())
            return {station: document.encode() for station, document in found.items()}
