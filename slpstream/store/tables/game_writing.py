"""Writes files and their games into the tables of games, files, endings and search facts.

If several files hold the same game, the file with most of it counts, and the row of the game is made from that file.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from slpstream.model.summary import GameSummary
from slpstream.store.documents import decode_summary
from slpstream.store.game_record import Entry, GameRecord, knows_less
from slpstream.store.tables.game_tables import GameTables
from slpstream.store.tables.games_page import MOST_FIRST
from slpstream.store.tables.search import add_facts, delete_facts

_RECORD_COLUMNS = (
    "format", "rate", "settings", "summary", "metadata", "game_end", "standings", "reason", "last_frame",
    "duration_seconds", "stats", "said_at_ms", "highlights",
)  # fmt: skip
"""The columns of `games` that come from a `GameRecord` under the same name."""
_TO_COLUMN: Mapping[type, Callable[[Any], str]] = {
    bytes: bytes.decode,
    GameSummary: lambda summary: msgspec.json.encode(summary).decode(),
    list: lambda highlights: msgspec.json.encode(highlights).decode(),
}
"""Conversions of the values of a record that are not text or numbers to the values of columns, by type."""


class GameRows:
    """Writes the rows of games in one transaction."""

    def __init__(self, writer: sqlite3.Connection, others: Sequence[GameTables]) -> None:
        """`others` are the table families that have further rows about games."""
        self._writer = writer
        self._others = others

    def add(self, entry: Entry) -> None:
        """Store a file and the game in it."""
        record = entry.record
        before = self._writer.execute(
            "SELECT game_id, size_bytes, completeness FROM files WHERE path = ?", (entry.path,)
        ).fetchone()
        game_id = None if record is None else record.game_id
        completeness = entry.completeness
        if before is not None and before[0] == game_id and before[1] <= entry.size_bytes:
            completeness = max(completeness, before[2] or 0)  # the file is being read again from its beginning
        self._writer.execute(
            "INSERT OR REPLACE INTO files (path, station, game_id, mtime_ns, size_bytes, problem, completeness)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.path, entry.station, game_id, entry.mtime_ns, entry.size_bytes, entry.problem, completeness),
        )
        if before is not None and before[0] not in (None, game_id):
            self.refresh(before[0])
        if record is not None:
            self._add_game(entry, record)

    def _add_game(self, entry: Entry, record: GameRecord) -> None:
        """Store a game, unless another file has more of it. Unknown values do not replace known ones."""
        columns = ("arrived_at_ms", "listed_at_ms", *_RECORD_COLUMNS)
        known = self._writer.execute(
            f"SELECT {', '.join(columns)} FROM games WHERE game_id = ?",  # noqa: S608 -- the names of our columns
            (record.game_id,),
        ).fetchone()
        values: dict[str, Any] = dict.fromkeys(columns) if known is None else dict(zip(columns, known, strict=True))
        files = self._files(record.game_id)
        listed_at_ms: int | None = values["listed_at_ms"]
        counts = known is None or files[0][0] == entry.path
        if counts:
            keep_summary = knows_less(record, values["reason"], values["metadata"])
            for name in _RECORD_COLUMNS:
                value = getattr(record, name)
                if value is None or (keep_summary and name == "summary"):
                    continue
                convert = _TO_COLUMN.get(type(value))
                values[name] = value if convert is None else convert(value)
            listed_at_ms = self._write_game(record.game_id, values, entry)
        if record.reason is not None:
            self._add_ending(record.game_id, entry)
        for tables in self._others:
            tables.add_game(self._writer, entry, record, counts=counts)
        if entry.arrived_at_ms is not None and values["arrived_at_ms"] is None:
            listed_at_ms = self.place(record.game_id, entry.arrived_at_ms)
        if known is None and len(files) == 1:  # the usual case: no earlier facts to replace
            add_facts(self._writer, record.game_id, listed_at_ms, record.format, files, record.summary)
        else:
            self.refresh(record.game_id)

    def _add_ending(self, game_id: str, entry: Entry) -> None:
        """Store when a game was seen to end, or else the last write to its file, but never a time in the future."""
        if entry.ended_at_ms is not None:
            self._writer.execute("INSERT OR REPLACE INTO endings VALUES (?, ?)", (game_id, entry.ended_at_ms))
        else:
            written_ms = min(entry.mtime_ns // 1_000_000, round(1000 * time.time()))
            self._writer.execute("INSERT OR IGNORE INTO endings VALUES (?, ?)", (game_id, written_ms))

    def correct_ending(self, game_id: str, before_ms: int | None, arrived_ms: int) -> None:
        """Move the end of a game by as much as its arrival, if the end was stored before the clock was set."""
        row = self._writer.execute("SELECT ended_at_ms FROM endings WHERE game_id = ?", (game_id,)).fetchone()
        if row is not None and before_ms is not None and abs(row[0] - before_ms) < abs(row[0] - arrived_ms):
            ended_ms = row[0] + arrived_ms - before_ms
            self._writer.execute("UPDATE endings SET ended_at_ms = ? WHERE game_id = ?", (ended_ms, game_id))

    def _files(self, game_id: str) -> list[tuple[bytes, str]]:
        """Path and station of the files of a game. The file that counts comes first."""
        found = self._writer.execute(f"SELECT path, station FROM files WHERE game_id = ? {MOST_FIRST}", (game_id,))  # noqa: S608 -- a constant
        return found.fetchall()

    def _write_game(self, game_id: str, values: dict[str, Any], entry: Entry) -> int | None:
        """Write the row of a game. Returns its `listed_at_ms`; `None` if `place` has to decide it."""
        names = ("game_id", "started_at_ms", "listed_at_ms", "arrived_at_ms", "station", "path", *_RECORD_COLUMNS)
        # A game ends with the last write to its file.
        ended_ms = entry.mtime_ns // 1_000_000
        started_ms = values["said_at_ms"] or ended_ms - round(1000 * (values["duration_seconds"] or 0))
        row = {**values, "game_id": game_id, "started_at_ms": started_ms, "station": entry.station, "path": entry.path}
        if values["arrived_at_ms"] is None:
            row["listed_at_ms"] = started_ms
        self._writer.execute(
            f"INSERT OR REPLACE INTO games ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",  # noqa: S608
            [row[name] for name in names],
        )
        listed_at_ms: int | None = row["listed_at_ms"]
        return listed_at_ms

    def place(self, game_id: str, arrived_at_ms: int) -> int:
        """Store when a game arrived and return its new place in lists.

        The place is the arrival, but after each game that arrived earlier: games are listed in the order in which they
        arrived, even if the clock is set back between them.
        """
        last_ms: int | None = self._writer.execute(
            "SELECT max(listed_at_ms) FROM games WHERE arrived_at_ms IS NOT NULL AND game_id != ?", (game_id,)
        ).fetchone()[0]
        listed_at_ms = arrived_at_ms if last_ms is None else max(arrived_at_ms, last_ms + 1)
        self._writer.execute(
            "UPDATE games SET arrived_at_ms = ?, listed_at_ms = ? WHERE game_id = ?",
            (arrived_at_ms, listed_at_ms, game_id),
        )
        return listed_at_ms

    def refresh(self, game_id: str) -> None:
        """Update the file that counts and the search facts of a game after its files have changed.

        A game without files is deleted.
        """
        delete_facts(self._writer, game_id)
        files = self._files(game_id)
        if not files:
            self._delete_rows(game_id)
            return
        row = self._writer.execute(
            "SELECT listed_at_ms, format, summary, path FROM games WHERE game_id = ?", (game_id,)
        ).fetchone()
        if row is None:
            return
        listed_at_ms, format_, summary, path = row
        if path != files[0][0]:
            self._writer.execute("UPDATE games SET path = ?, station = ? WHERE game_id = ?", (*files[0], game_id))
        add_facts(self._writer, game_id, listed_at_ms, format_, files, decode_summary(summary))

    def delete(self, game_id: str) -> None:
        """Delete a game. Its files must be deleted or updated by the caller."""
        delete_facts(self._writer, game_id)
        self._delete_rows(game_id)

    def _delete_rows(self, game_id: str) -> None:
        self._writer.execute("DELETE FROM endings WHERE game_id = ?", (game_id,))
        for tables in self._others:
            tables.delete_game(self._writer, game_id)
        self._writer.execute("DELETE FROM games WHERE game_id = ?", (game_id,))
