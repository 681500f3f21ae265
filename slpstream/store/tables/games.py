"""The tables of games, of the files that contain them, and of the times when they ended."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from slpstream.model.summary import IndexedGame
from slpstream.store.database_file import DatabaseFile
from slpstream.store.documents import check_json, decode_standings, decode_summary
from slpstream.store.game_record import Entry
from slpstream.store.game_rows import FileRow, GameDetails, GameRow, Page, StoredGame
from slpstream.store.games_query import GameKey, GamesQuery
from slpstream.store.known_facts import KnownFacts, MakeFilter
from slpstream.store.tables.game_tables import GameTables
from slpstream.store.tables.game_writing import GameRows
from slpstream.store.tables.games_page import MOST_FIRST, ROW, narrowed, page_statement
from slpstream.system.member_paths import members_prefix

_MAX_EXPIRED_IN_TRANSACTION = 200
"""Games. Transactions are short so that other writers do not wait long."""
_EXPIRED = "left the index: too old, or the index too large"
_PLAYED = ", ".join("f.mtime_ns" if name == "mtime_ns" else f"g.{name}" for name in IndexedGame._fields)
_DETAILS = ", ".join(f"g.{name}" for name in GameDetails._fields)


class Games:
    """The tables of games, files and endings, and the search facts."""

    def __init__(self, file: DatabaseFile, others: Sequence[GameTables]) -> None:
        """`others` are the table families that have further rows about games."""
        self._file = file
        self._others = others

    def add(self, entries: Iterable[Entry]) -> None:
        """Store files and their games in one transaction."""
        with self._file.transaction() as writer:
            rows = GameRows(writer, self._others)
            for entry in entries:
                rows.add(entry)

    def correct_arrivals(self, arrivals: Mapping[str, int]) -> None:
        """Store new arrivals of games, in order of arrival, and list the games at these times."""
        with self._file.transaction() as writer:
            statement = "SELECT arrived_at_ms FROM games WHERE game_id = ?"
            before = {
                game_id: found[0] for game_id in arrivals if (found := writer.execute(statement, (game_id,)).fetchone())
            }
            known = list(before)
            rows = GameRows(writer, self._others)
            writer.executemany("UPDATE games SET arrived_at_ms = NULL WHERE game_id = ?", [(each,) for each in known])
            for game_id in known:
                rows.correct_ending(game_id, before[game_id], arrivals[game_id])
                rows.place(game_id, arrivals[game_id])
                rows.refresh(game_id)

    def remove_files(self, paths: Iterable[bytes]) -> None:
        """Remove deleted files, and the games whose last file was removed."""
        with self._file.transaction() as writer:
            for path in paths:
                row = writer.execute("SELECT game_id FROM files WHERE path = ?", (path,)).fetchone()
                writer.execute("DELETE FROM files WHERE path = ?", (path,))
                if row is not None and row[0] is not None:
                    GameRows(writer, self._others).refresh(row[0])

    def keep_stats(self, game_id: str, stats: bytes) -> None:
        """Store the summary of a game's stats."""
        with self._file.transaction() as writer:
            writer.execute("UPDATE games SET stats = ? WHERE game_id = ?", (stats.decode(), game_id))

    def page(self, query: GamesQuery, folders: Sequence[bytes] = (), only: MakeFilter | None = None) -> Page:
        """A page of the games that match a query; `folders` are the paths of the folders that are watched now.

        `only` makes the condition in `query.query`.
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
        """One game; `None` if it is not in the index."""
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
        """The files of a station that were read: modification time in nanoseconds and size in bytes, by path.

        Files that must be read again have the size -1.
        """
        with self._file.reader() as reader:
            rows = reader.execute(
                "SELECT path, mtime_ns, iif(completeness IS NULL, -1, size_bytes) FROM files WHERE station = ?",
                (station,),
            )
            return {path: (mtime_ns, size_bytes) for path, mtime_ns, size_bytes in rows}

    def stale_members(self, archive: bytes, mtime_ns: int) -> list[bytes]:
        """The members of an archive that were read when it had another modification time than `mtime_ns`."""
        prefix = members_prefix(archive)
        with self._file.reader() as reader:
            rows = reader.execute(
                "SELECT path FROM files WHERE path > ? AND path < ? AND mtime_ns <> ?",
                (prefix, prefix + b"\xff", mtime_ns),
            )
            return [path for (path,) in rows]

    def game_ids(self, station: str) -> dict[bytes, tuple[int, int, str]]:
        """The games in the files of a station: modification time in nanoseconds, size in bytes and game id, by path."""
        with self._file.reader() as reader:
            rows = reader.execute(
                "SELECT path, mtime_ns, size_bytes, game_id FROM files WHERE station = ? AND game_id IS NOT NULL",
                (station,),
            )
            return {path: (mtime_ns, size_bytes, game_id) for path, mtime_ns, size_bytes, game_id in rows}

    def played(self, station: str, limit: int) -> list[IndexedGame]:
        """The newest games of a station, newest first."""
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
        """Remove old games from the index and return their number.

        Removes the games whose place in lists is before `before_ms` (Unix time), then the oldest games while more than
        `max_bytes` are in use. `None` disables a limit. Games in `spared` stay. The files of removed games stay in
        the index, so that they are not read again.
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
            games = GameRows(writer, self._others)
            for row in rows:
                writer.execute("UPDATE files SET game_id = NULL, problem = ? WHERE game_id = ?", (_EXPIRED, *row))
                games.delete(*row)
        return len(rows)

    def count(self) -> int:
        """Number of games."""
        with self._file.reader() as reader:
            count: int = reader.execute("SELECT count(*) FROM games").fetchone()[0]
            return count
