"""The SQL: one connection that writes, a few that read, all of them blocking. No event loop here.

Lists are paged by the key that they are ordered by, newest first, so that a page far down costs as much as the first
and games that come in between shift nothing.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slpstream.model.summary import GameSummary, IndexedGame, Standing
from slpstream.store.game_record import Entry, GameRecord, folded, knows_less, search_terms

_BUSY_MILLISECONDS = 5000
_IDLE_READERS = 4
_EXPIRED_AT_ONCE = 200
"""Games in one transaction: others want to write too."""
_EXPIRED = "left the index: too old, or the index too large"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY_CODE = 0xFF
"""The extended result codes of SQLite have the primary one in their lowest byte."""

_KEPT = (
    "format", "rate", "settings", "summary", "metadata", "game_end", "standings", "reason", "last_frame",
    "duration_seconds", "stats", "said_at_ms",
)  # fmt: skip
"""The columns of `games` that come from a `GameRecord` under the same name."""


class Wanted(NamedTuple):
    """Which games. Times are Unix times in milliseconds, `since` included, `until` not."""

    station: str | None = None
    player: str | None = None
    format: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None


class Place(NamedTuple):
    """Where a page begins: behind this game."""

    started_at_ms: int
    game_id: str


class GameRow(NamedTuple):
    """One game in a list."""

    game_id: str
    started_at_ms: int
    format: str
    station: str
    reason: str | None
    last_frame: int | None
    duration_seconds: float | None
    summary: str
    """A `GameSummary` as JSON."""


class GameDetails(NamedTuple):
    """What lists do not show of a game; all of it JSON."""

    rate: str
    game_end: str | None
    metadata: str | None
    stats: str | None
    settings: str


class FileRow(NamedTuple):
    """One file of a game."""

    path: bytes
    station: str
    mtime_ns: int
    size_bytes: int


class Game(NamedTuple):
    """One game with its files, the newest first."""

    row: GameRow
    details: GameDetails
    files: Sequence[FileRow]


class Page(NamedTuple):
    """Some games, and where the next page begins; `None` at the end."""

    games: Sequence[GameRow]
    next: Place | None


_ROW = ", ".join(f"g.{name}" for name in GameRow._fields)
_PLAYED = ", ".join("f.mtime_ns" if name == "mtime_ns" else f"g.{name}" for name in IndexedGame._fields)
_DETAILS = ", ".join(f"g.{name}" for name in GameDetails._fields)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that may be used by any thread, by one at a time; transactions are said explicitly."""
    connection = sqlite3.connect(path, timeout=_BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no sound database."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE in _DAMAGE


class Database:
    """An open database; all methods block and may be called by any thread. Raises `sqlite3.Error`."""

    def __init__(self, path: Path) -> None:
        """Use `open_database`, which sees to the tables."""
        self.path = path
        self._writer = connect(path)
        self._writing = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self.closed = False

    def close(self) -> None:
        """No calls after this."""
        self.closed = True
        with self._writing:
            self._writer.close()
        while self._idle:
            self._idle.pop().close()

    # -- writing -----------------------------------------------------------------------------------------------------

    def put(self, entries: Iterable[Entry]) -> None:
        """Files and what is known of their games, all or nothing."""
        with self._transaction() as writer:
            for entry in entries:
                _put(writer, entry)

    def remove(self, paths: Iterable[bytes]) -> None:
        """Files that are gone, and the games that nothing is left of."""
        with self._transaction() as writer:
            for path in paths:
                row = writer.execute("SELECT game_id FROM files WHERE path = ?", (path,)).fetchone()
                writer.execute("DELETE FROM files WHERE path = ?", (path,))
                if row is not None and row[0] is not None:
                    _refresh(writer, row[0])

    def keep_stats(self, game_id: str, stats: bytes) -> None:
        """The summary of a game's stats, which somebody has computed."""
        with self._transaction() as writer:
            writer.execute("UPDATE games SET stats = ? WHERE game_id = ?", (stats.decode(), game_id))

    def expire(self, *, before_ms: int | None, max_bytes: int | None, spared: Collection[str] = ()) -> int:
        """Forgets the games that began before a time (Unix, milliseconds), and the oldest ones while more than
        `max_bytes` are in use; how many. `None`: no such limit.

        What is known of their files stays, so that they are not read again: only that the game has left.
        """
        expired = 0
        if before_ms is not None:
            while count := self._forget_oldest(_EXPIRED_AT_ONCE, spared, before_ms):
                expired += count
        while max_bytes is not None and (excess := self.used_bytes() - max_bytes) > 0:
            games = max(1, self.count())
            wanted = math.ceil(excess / (self.used_bytes() / games))
            count = self._forget_oldest(min(_EXPIRED_AT_ONCE, wanted), spared)
            if not count:
                break
            expired += count
        return expired

    def _forget_oldest(self, limit: int, spared: Collection[str], before_ms: int | None = None) -> int:
        older = (1 << 63) - 1 if before_ms is None else before_ms
        with self._transaction() as writer:
            rows = writer.execute(
                f"SELECT game_id FROM games WHERE started_at_ms < ? AND game_id NOT IN ({', '.join('?' * len(spared))})"  # noqa: S608 -- question marks
                " ORDER BY started_at_ms, game_id LIMIT ?",
                (older, *spared, limit),
            ).fetchall()
            for row in rows:
                writer.execute("UPDATE files SET game_id = NULL, problem = ? WHERE game_id = ?", (_EXPIRED, *row))
                writer.execute("DELETE FROM tags WHERE game_id = ?", row)
                writer.execute("DELETE FROM games WHERE game_id = ?", row)
        return len(rows)

    def keep_corrections(self, station: str, corrections: bytes) -> None:
        """What an operator has said about the sets of a station, JSON; instead of what was said before."""
        with self._transaction() as writer:
            writer.execute(
                "INSERT OR REPLACE INTO corrections (station, document) VALUES (?, ?)", (station, corrections.decode())
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            writer = self._writer
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    # -- reading -----------------------------------------------------------------------------------------------------

    def page(self, wanted: Wanted, after: Place | None, limit: int) -> Page:
        """At most `limit` games behind `after`, newest first."""
        statement, values = _page_query(wanted, after, limit + 1)
        with self._reader() as reader:
            rows = [GameRow(*row) for row in reader.execute(statement, values)]
        more = len(rows) > limit
        rows = rows[:limit]
        return Page(rows, Place(rows[-1].started_at_ms, rows[-1].game_id) if more else None)

    def game(self, game_id: str) -> Game | None:
        """One game; `None` when it is not known."""
        with self._reader() as reader:
            found = reader.execute(f"SELECT {_ROW}, {_DETAILS} FROM games g WHERE game_id = ?", (game_id,)).fetchone()  # noqa: S608 -- names of columns, from above
            if found is None:
                return None
            files = reader.execute(
                "SELECT path, station, mtime_ns, size_bytes FROM files WHERE game_id = ? ORDER BY mtime_ns DESC",
                (game_id,),
            ).fetchall()
        width = len(GameRow._fields)
        return Game(GameRow(*found[:width]), GameDetails(*found[width:]), [FileRow(*file) for file in files])

    def known_files(self, station: str) -> dict[bytes, tuple[int, int]]:
        """The files of a station that were looked at: modification time in nanoseconds and size."""
        with self._reader() as reader:
            rows = reader.execute("SELECT path, mtime_ns, size_bytes FROM files WHERE station = ?", (station,))
            return {path: (mtime_ns, size_bytes) for path, mtime_ns, size_bytes in rows}

    def played(self, station: str, limit: int) -> list[IndexedGame]:
        """The newest games of a station, newest first."""
        with self._reader() as reader:
            rows = reader.execute(
                f"SELECT {_PLAYED} FROM tags t CROSS JOIN games g ON g.game_id = t.game_id"  # noqa: S608 -- names of columns
                " LEFT JOIN files f ON f.path = g.path WHERE t.kind = 'station' AND t.value = ?"
                " ORDER BY t.started_at_ms DESC, t.game_id DESC LIMIT ?",
                (station, limit),
            )
            return [
                IndexedGame(game_id, _summary(summary), _standings(standings or "{}"), *others)
                for game_id, summary, standings, *others in rows
            ]

    def corrections(self) -> dict[str, bytes]:
        """What operators have said, JSON, by station."""
        with self._reader() as reader:
            rows = reader.execute("SELECT station, document FROM corrections")
            return {station: document.encode() for station, document in rows}

    def count(self) -> int:
        """How many games there are."""
        with self._reader() as reader:
            count: int = reader.execute("SELECT count(*) FROM games").fetchone()[0]
            return count

    def used_bytes(self) -> int:
        """How large the database is, but for what is free in it."""
        with self._reader() as reader:
            pages, free, size = (
                reader.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = connect(self.path)
            reader.execute("PRAGMA query_only = ON")
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        if self.closed or len(self._idle) >= _IDLE_READERS:
            reader.close()
        else:
            self._idle.append(reader)


_encode_summary = msgspec.json.Encoder().encode
_summary = msgspec.json.Decoder(GameSummary).decode
_standings = msgspec.json.Decoder(dict[int, Standing]).decode


def _put(writer: sqlite3.Connection, entry: Entry) -> None:
    record = entry.record
    before = writer.execute("SELECT game_id FROM files WHERE path = ?", (entry.path,)).fetchone()
    game_id = None if record is None else record.game_id
    writer.execute(
        "INSERT OR REPLACE INTO files (path, station, game_id, mtime_ns, size_bytes, problem)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (entry.path, entry.station, game_id, entry.mtime_ns, entry.size_bytes, entry.problem),
    )
    if before is not None and before[0] not in (None, game_id):
        _refresh(writer, before[0])
    if record is not None:
        _put_game(writer, entry, record)


def _put_game(writer: sqlite3.Connection, entry: Entry, record: GameRecord) -> None:
    """Write a game, unless it is already known from a newer file. Values that are not known leave the old ones."""
    columns = ", ".join(f"g.{name}" for name in _KEPT)
    known = writer.execute(
        f"SELECT {columns}, f.path, f.mtime_ns FROM games g LEFT JOIN files f ON f.path = g.path WHERE g.game_id = ?",  # noqa: S608
        (record.game_id,),
    ).fetchone()
    values = dict.fromkeys(_KEPT) if known is None else dict(zip(_KEPT, known, strict=False))
    newest = known is None or known[-2] in (None, entry.path) or entry.mtime_ns >= known[-1]
    if newest:
        keep_summary = knows_less(record, values["reason"], values["metadata"])
        for name in _KEPT:
            value = _column(getattr(record, name))
            if value is not None and not (name == "summary" and keep_summary):
                values[name] = value
        _write_game(writer, record.game_id, values, entry)
    _refresh(writer, record.game_id)


def _column(value: Any) -> Any:
    """A value of a record as a column has it."""
    if isinstance(value, GameSummary):
        value = _encode_summary(value)
    return value.decode() if isinstance(value, bytes) else value


def _write_game(writer: sqlite3.Connection, game_id: str, values: dict[str, Any], entry: Entry) -> None:
    names = ("game_id", "started_at_ms", "station", "path", *_KEPT)
    # Files end with the game; the file of a running game is as old as the last write to it.
    ended_ms = entry.mtime_ns // 1_000_000
    started_ms = values["said_at_ms"] or ended_ms - round(1000 * (values["duration_seconds"] or 0))
    row = {**values, "game_id": game_id, "started_at_ms": started_ms, "station": entry.station, "path": entry.path}
    writer.execute(
        f"INSERT OR REPLACE INTO games ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",  # noqa: S608
        [row[name] for name in names],
    )


def _refresh(writer: sqlite3.Connection, game_id: str) -> None:
    """Update a game after its files have changed: its newest file and its search terms. A game without files is
    deleted."""
    writer.execute("DELETE FROM tags WHERE game_id = ?", (game_id,))
    files = writer.execute(
        "SELECT path, station FROM files WHERE game_id = ? ORDER BY mtime_ns DESC", (game_id,)
    ).fetchall()
    if not files:
        writer.execute("DELETE FROM games WHERE game_id = ?", (game_id,))
        return
    row = writer.execute(
        "SELECT started_at_ms, format, summary, path FROM games WHERE game_id = ?", (game_id,)
    ).fetchone()
    if row is None:
        return
    started_at_ms, format_, summary, path = row
    if path not in {file[0] for file in files}:
        writer.execute("UPDATE games SET path = ?, station = ? WHERE game_id = ?", (*files[0], game_id))
    tags = {("format", format_), *(("station", station) for _, station in files)}
    tags |= {("player", term) for term in search_terms(_summary(summary).players)}
    writer.executemany(
        "INSERT INTO tags (kind, value, started_at_ms, game_id) VALUES (?, ?, ?, ?)",
        [(kind, value, started_at_ms, game_id) for kind, value in tags],
    )


# -- queries -----------------------------------------------------------------------------------------------------------


def _page_query(wanted: Wanted, after: Place | None, limit: int) -> tuple[str, list[Any]]:
    """Reads along the most selective tag, or along the games when none is asked for."""
    asked = [
        (kind, value)
        for kind, value in (
            ("player", None if wanted.player is None else folded(wanted.player)),
            ("station", wanted.station),
            ("format", wanted.format),
        )
        if value is not None
    ]
    values: list[Any] = []
    conditions: list[str] = []
    if asked:
        source, by = "tags t CROSS JOIN games g ON g.game_id = t.game_id", "t"  # CROSS: in this order
        conditions.append("t.kind = ? AND t.value = ?")
        values += asked[0]
    else:
        source, by = "games g", "g"
    for kind_and_value in asked[1:]:
        conditions.append(
            "EXISTS (SELECT 1 FROM tags o WHERE o.kind = ? AND o.value = ?"  # noqa: S608 -- our own words
            f" AND o.started_at_ms = {by}.started_at_ms AND o.game_id = {by}.game_id)"
        )
        values += kind_and_value
    for condition, value in ((">=", wanted.since_ms), ("<", wanted.until_ms)):
        if value is not None:
            conditions.append(f"{by}.started_at_ms {condition} ?")
            values.append(value)
    if after is not None:
        conditions.append(f"({by}.started_at_ms, {by}.game_id) < (?, ?)")
        values += after
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    statement = f"SELECT {_ROW} FROM {source} {where}ORDER BY {by}.started_at_ms DESC, {by}.game_id DESC LIMIT ?"  # noqa: S608 -- our own words, all values apart
    return statement, [*values, limit]
