"""Facts about the setup of a game that aren't in its settings: the codes, and how evenly its frames arrived."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from slpstream.model.setup import CodeList
from slpstream.store.database_file import DatabaseFile
from slpstream.store.documents import decode_codes
from slpstream.store.game_record import Entry, GameRecord

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    10: (
        """CREATE TABLE setups (
            game_id TEXT PRIMARY KEY NOT NULL,
            codes TEXT,                        -- fingerprint; empty for a replay without a list, NULL until it is read
            pacing TEXT                        -- JSON; NULL when the game was not seen to arrive
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX setups_by_codes ON setups (codes) WHERE codes > ''",
        # Each list of codes once: all games of one build have the same list.
        """CREATE TABLE code_lists (
            fingerprint TEXT PRIMARY KEY NOT NULL,
            document TEXT NOT NULL             -- JSON
        ) STRICT""",
    ),
}


class Setups:
    """The tables of setups and of lists of codes."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def keep_codes(self, game_id: str, codes: CodeList | None) -> None:
        """Store the codes of a game. If the replay doesn't have a list of codes, pass `None`."""
        fingerprint = "" if codes is None else codes.fingerprint
        with self._file.transaction() as writer:
            if writer.execute("SELECT 1 FROM games WHERE game_id = ?", (game_id,)).fetchone() is None:
                return
            if codes is not None:
                document = msgspec.json.encode(codes).decode()
                writer.execute("INSERT OR REPLACE INTO code_lists VALUES (?, ?)", (fingerprint, document))
            writer.execute(
                "INSERT INTO setups (game_id, codes) VALUES (?, ?)"
                " ON CONFLICT (game_id) DO UPDATE SET codes = excluded.codes",
                (game_id, fingerprint),
            )

    def codes(self, fingerprint: str) -> CodeList | None:
        """Return the codes that have this fingerprint, or `None` if there is no game with them."""
        with self._file.reader() as reader:
            found = reader.execute("SELECT document FROM code_lists WHERE fingerprint = ?", (fingerprint,)).fetchone()
            return None if found is None else decode_codes(found[0])

    def add_game(self, writer: sqlite3.Connection, entry: Entry, record: GameRecord, *, counts: bool) -> None:
        """Store how evenly the frames of a game arrived. If that wasn't measured, this does nothing."""
        if entry.pacing is not None:
            writer.execute(
                "INSERT INTO setups (game_id, pacing) VALUES (?, ?)"
                " ON CONFLICT (game_id) DO UPDATE SET pacing = excluded.pacing",
                (record.game_id, msgspec.json.encode(entry.pacing).decode()),
            )

    def delete_game(self, writer: sqlite3.Connection, game_id: str) -> None:
        """Delete the setup of a game. If no other game has the same list of codes, it is deleted too."""
        found = writer.execute("DELETE FROM setups WHERE game_id = ? RETURNING codes", (game_id,)).fetchall()
        for (fingerprint,) in found:
            writer.execute(
                "DELETE FROM code_lists WHERE fingerprint = ? AND NOT EXISTS (SELECT 1 FROM setups WHERE codes = ?)",
                (fingerprint, fingerprint),
            )
