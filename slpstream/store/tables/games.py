"""The tables of games, of the files that contain them, and of the times when they ended.

If there are several files with the same game, we use the one that has most of it to make the row of the game.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from slpstream.model.summary import GameSummary, IndexedGame
from slpstream.store.database_file import DatabaseFile
from slpstream.store.documents import check_json, decode_standings, decode_summary
from slpstream.store.game_record import Entry, GameRecord, knows_less
from slpstream.store.game_rows import MOST_FIRST, FileRow, GameDetails, GameRow, Page, StoredGame
from slpstream.store.games_query import GameKey, GamesQuery
from slpstream.store.known_facts import KnownFacts, MakeFilter
from slpstream.store.tables.games_page import ROW, narrowed, page_statement
from slpstream.store.tables.search import add_facts, delete_facts
from slpstream.system.member_paths import members_prefix

_MAX_EXPIRED_IN_TRANSACTION = 200
"""Games. Transactions are short so that other writers do not wait long."""
_EXPIRED = "left the index: too old, or the index too large"
_PLAYED = ", ".join("f.mtime_ns" if name == "mtime_ns" else f"g.{name}" for name in IndexedGame._fields)
_DETAILS = ", ".join(f"g.{name}" for name in GameDetails._fields)
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


class GameTables(Protocol):
    """A family of tables that also has rows about games."""

    def add_game(self, writer: sqlite3.Connection, entry: Entry, record: GameRecord, *, counts: bool) -> None:
        """Store the rows of a game that was added or updated.

        If `counts` is true, then the row of the game was made from this file.
        """

    def delete_game(self, writer: sqlite3.Connection, game_id: str) -> None:
        """Delete the rows of a game."""


class Games:
    """The tables of games, files and endings, and the facts that you can search for."""

    def __init__(self, file: DatabaseFile, others: Sequence[GameTables]) -> None:
        """`others` are all other families of tables that have rows about games."""
        self._file = file
        self._others = others

    def add(self, entries: Iterable[Entry]) -> None:
        """Store files and their games in one transaction."""
        with self._file.transaction() as writer:
            rows = _Rows(writer, self._others)
            for entry in entries:
                rows.add(entry)

    def correct_arrivals(self, arrivals: Mapping[str, int]) -> None:
        """Store new arrival times of games, which must be in order of arrival.

        In lists, the games move to these times.
        """
        with self._file.transaction() as writer:
            statement = "SELECT arrived_at_ms FROM games WHERE game_id = ?"
            before = {
                game_id: found[0] for game_id in arrivals if (found := writer.execute(statement, (game_id,)).fetchone())
            }
            known = list(before)
            rows = _Rows(writer, self._others)
            writer.executemany("UPDATE games SET arrived_at_ms = NULL WHERE game_id = ?", [(each,) for each in known])
            for game_id in known:
                rows.correct_ending(game_id, before[game_id], arrivals[game_id])
                rows.place(game_id, arrivals[game_id])
                rows.refresh(game_id)

    def remove_files(self, paths: Iterable[bytes]) -> None:
        """Remove files that were deleted. If this removes the last file of a game, then the game is removed too."""
        with self._file.transaction() as writer:
            for path in paths:
                row = writer.execute("SELECT game_id FROM files WHERE path = ?", (path,)).fetchone()
                writer.execute("DELETE FROM files WHERE path = ?", (path,))
                if row is not None and row[0] is not None:
                    _Rows(writer, self._others).refresh(row[0])

    def keep_stats(self, game_id: str, stats: bytes) -> None:
        """Store the summary of a game's stats."""
        with self._file.transaction() as writer:
            writer.execute("UPDATE games SET stats = ? WHERE game_id = ?", (stats.decode(), game_id))

    def page(self, query: GamesQuery, folders: Sequence[bytes] = (), only: MakeFilter | None = None) -> Page:
        """Return a page of the games that match a query. `folders` are the paths of the folders that are watched now.

        `only` is used to turn `query.query` into a condition.
        """
        with self._file.reader() as reader:
            reader.execute("BEGIN")  # the facts and the games are read in the same state
            try:
                condition = None if only is None else narrowed(only(KnownFacts(reader)), KnownFacts(reader))
                statement, values = page_statement(query, folders, condition)
                rows = [GameRow(*row) for row in reader.execute(statement, values)]
                for row in rows:
                    decode_summary(row.summary)
                    check_json(row.standings)
            finally:
                reader.execute("COMMIT")
        more = len(rows) > query.limit
        rows = rows[: query.limit]
        if not more:
            return Page(rows, None)
        last = rows[-1]
        moment_ms = last.listed_at_ms if query.order == "began" else last.ended_at_ms or 0
        return Page(rows, GameKey((moment_ms, last.game_id)))

    def get(self, game_id: str) -> StoredGame | None:
        """Return one game, or `None` if it isn't in the index."""
        with self._file.reader() as reader:
            found = reader.execute(
                f"SELECT {ROW}, {_DETAILS}, s.codes FROM games g LEFT JOIN endings e ON e.game_id = g.game_id"  # noqa: S608 -- the names of our columns
                " LEFT JOIN setups s ON s.game_id = g.game_id WHERE g.game_id = ?",
                (game_id,),
            ).fetchone()
            if found is None:
                return None
            width, end = len(GameRow._fields), len(GameRow._fields) + len(GameDetails._fields)
            row, details = GameRow(*found[:width]), GameDetails(*found[width:end])
            decode_summary(row.summary)
            check_json(row.standings, *details)
            files = reader.execute(
                f"SELECT {', '.join(FileRow._fields)} FROM files WHERE game_id = ? {MOST_FIRST}",  # noqa: S608 -- the names of our columns
                (game_id,),
            ).fetchall()
        return StoredGame(row, details, [FileRow(*file) for file in files], *found[end:])

    def known_files(self, station: str) -> dict[bytes, tuple[int, int]]:
        """Return the files of a station that were already read, with their modification time in nanoseconds and size in
        bytes, by path.

        If a file has to be read again, its size is -1.
        """
        with self._file.reader() as reader:
            rows = reader.execute(
                "SELECT path, mtime_ns, iif(completeness IS NULL, -1, size_bytes) FROM files WHERE station = ?",
                (station,),
            )
            return {path: (mtime_ns, size_bytes) for path, mtime_ns, size_bytes in rows}

    def stale_members(self, archive: bytes, mtime_ns: int) -> list[bytes]:
        """Return the members of an archive that were read when its modification time was different from `mtime_ns`."""
        prefix = members_prefix(archive)
        with self._file.reader() as reader:
            rows = reader.execute(
                "SELECT path FROM files WHERE path > ? AND path < ? AND mtime_ns <> ?",
                (prefix, prefix + b"\xff", mtime_ns),
            )
            return [path for (path,) in rows]

    def game_ids(self, station: str) -> dict[bytes, tuple[int, int, str]]:
        """Return the modification time in nanoseconds, the size in bytes and the game id of each file of the given
        station, by path.
        """
        with self._file.reader() as reader:
            rows = reader.execute(
                "SELECT path, mtime_ns, size_bytes, game_id FROM files WHERE station = ? AND game_id IS NOT NULL",
                (station,),
            )
            return {path: (mtime_ns, size_bytes, game_id) for path, mtime_ns, size_bytes, game_id in rows}

    def played(self, station: str, limit: int) -> list[IndexedGame]:
        """Return the newest games of the given station, beginning with the newest."""
        with self._file.reader() as reader:
            rows = reader.execute(
                f"SELECT {_PLAYED} FROM tags t CROSS JOIN games g ON g.game_id = t.game_id"  # noqa: S608 -- the names of our columns
                " LEFT JOIN files f ON f.path = g.path WHERE t.kind = 'station' AND t.value = ?"
                " ORDER BY t.listed_at_ms DESC, t.game_id DESC LIMIT ?",
                (station, limit),
            )
            return [
                IndexedGame(game_id, decode_summary(summary), decode_standings(standings or "{}"), *others)
                for game_id, summary, standings, *others in rows
            ]

    def expire(self, *, before_ms: int | None, max_bytes: int | None, spared: Collection[str] = ()) -> int:
        """Remove old games from the index, and return how many were removed.

        First, this removes the games whose place in lists is before the Unix time `before_ms`. Then, as long as more
        than `max_bytes` are used, it removes the oldest games. To disable one of these limits, pass `None`. Games in
        `spared` are never removed. The files of the games stay in the index, because otherwise they would be read
        again.
        """
        expired = 0
        if before_ms is not None:
            while count := self._delete_oldest(_MAX_EXPIRED_IN_TRANSACTION, spared, before_ms):
                expired += count
        while max_bytes is not None and (excess := self._file.used_bytes() - max_bytes) > 0:
            games = max(1, self.count())
            excess_games = math.ceil(excess / (self._file.used_bytes() / games))
            count = self._delete_oldest(min(_MAX_EXPIRED_IN_TRANSACTION, excess_games), spared)
            if not count:
                break
            expired += count
        return expired

    def _delete_oldest(self, limit: int, spared: Collection[str], before_ms: int | None = None) -> int:
        older = (1 << 63) - 1 if before_ms is None else before_ms
        with self._file.transaction() as writer:
            rows = writer.execute(
                f"SELECT game_id FROM games WHERE listed_at_ms < ? AND game_id NOT IN ({', '.join('?' * len(spared))})"  # noqa: S608 -- only question marks are put in
                " ORDER BY listed_at_ms, game_id LIMIT ?",
                (older, *spared, limit),
            ).fetchall()
            games = _Rows(writer, self._others)
            for row in rows:
                writer.execute("UPDATE files SET game_id = NULL, problem = ? WHERE game_id = ?", (_EXPIRED, *row))
                games.delete(*row)
        return len(rows)

    def count(self) -> int:
        """Return the number of games."""
        with self._file.reader() as reader:
            count: int = reader.execute("SELECT count(*) FROM games").fetchone()[0]
            return count


class _Rows:
    """Writes the rows of games in one transaction."""

    def __init__(self, writer: sqlite3.Connection, others: Sequence[GameTables]) -> None:
        """`others` are all other families of tables that have rows about games."""
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
        """Store a game, unless another file has more of it. If we don't know a value, the old one stays."""
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
        """Store when a game ended.

        If we didn't see it end, we use the time of the last write to its file, but we never store a time in the future.
        """
        if entry.ended_at_ms is not None:
            self._writer.execute("INSERT OR REPLACE INTO endings VALUES (?, ?)", (game_id, entry.ended_at_ms))
        else:
            written_ms = min(entry.mtime_ns // 1_000_000, round(1000 * time.time()))
            self._writer.execute("INSERT OR IGNORE INTO endings VALUES (?, ?)", (game_id, written_ms))

    def correct_ending(self, game_id: str, before_ms: int | None, arrived_ms: int) -> None:
        """If the end of a game was stored before the clock was set, move it by as much as its arrival."""
        row = self._writer.execute("SELECT ended_at_ms FROM endings WHERE game_id = ?", (game_id,)).fetchone()
        if row is not None and before_ms is not None and abs(row[0] - before_ms) < abs(row[0] - arrived_ms):
            ended_ms = row[0] + arrived_ms - before_ms
            self._writer.execute("UPDATE endings SET ended_at_ms = ? WHERE game_id = ?", (ended_ms, game_id))

    def _files(self, game_id: str) -> list[tuple[bytes, str]]:
        """Return the path and station of each file of a game. The file that counts comes first."""
        found = self._writer.execute(f"SELECT path, station FROM files WHERE game_id = ? {MOST_FIRST}", (game_id,))  # noqa: S608 -- a constant
        return found.fetchall()

    def _write_game(self, game_id: str, values: dict[str, Any], entry: Entry) -> int | None:
        """Write the row of a game. Returns its `listed_at_ms`, or `None` if you have to call `place` to find it out."""
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
        """Store when a game arrived, and return its new place in lists.

        Usually the place is the arrival time, but it always comes after the places of all games that arrived earlier.
        This means that games are listed in the order in which they arrived, even if the clock was set back in between.
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
        """Find out which file counts, and update the facts of a game. You have to call this when its files have
        changed.

        If there are no files left, the game is deleted.
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
        """Delete a game. You have to delete or update its files yourself."""
        delete_facts(self._writer, game_id)
        self._delete_rows(game_id)

    def _delete_rows(self, game_id: str) -> None:
        self._writer.execute("DELETE FROM endings WHERE game_id = ?", (game_id,))
        self._writer.execute("DELETE FROM situations WHERE game_id = ?", (game_id,))
        for tables in self._others:
            tables.delete_game(self._writer, game_id)
        self._writer.execute("DELETE FROM games WHERE game_id = ?", (game_id,))
