"""The SQL of the index: one connection that writes and a few that read, all blocking. No event loop here.

Lists are ordered newest first and paged by the key of that order. Any page therefore costs as much as the first one,
and games that are added meanwhile do not shift later pages.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from slpstream.model.foreign_data import json_or_none
from slpstream.model.game_facts import facts_of, flags_of, shape, split_terms, split_words, terms_of, words_of
from slpstream.model.highlight import Highlight
from slpstream.model.setup import CodeList, Pacing
from slpstream.model.summary import GameSummary, IndexedGame, Standing
from slpstream.store.game_record import Entry, GameRecord, folded, knows_less, search_terms
from slpstream.store.games_query import GameKey, GamesQuery
from slpstream.store.highlights_query import (
    SITUATIONS,
    HighlightKey,
    HighlightPage,
    HighlightsQuery,
    highlight_row,
    highlights_statement,
    tenths,
)
from slpstream.store.known_facts import FILE, PLAYER, Filter, KnownFacts, MakeFilter, games_with, tag_of_line
from slpstream.store.situations_query import (
    FoundSituation,
    SituationKey,
    SituationPage,
    SituationRow,
    SituationsQuery,
    situations_statement,
)
from slpstream.system.member_paths import members_prefix

BUSY_MILLISECONDS = 5000
_IDLE_READERS = 4
_CACHE_KIBIBYTES = 32 * 1024
"""At most, for each connection that reads. The facts about 100,000 games fit, which queries read again and again."""
_EXPIRED_AT_ONCE = 200
"""Games per transaction, which is kept short so that other writers do not wait long."""
_EXPIRED = "left the index: too old, or the index too large"
_SEPARATOR = os.sep.encode()
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_WRONG_CONTENT = ("Could not decode to UTF-8", "malformed JSON")
"""How errors begin that Python's module and SQLite's functions for JSON raise. They have no code of their own."""
_PRIMARY_CODE = 0xFF
"""The lowest byte of an extended result code of SQLite is the primary result code."""

_RECORD_COLUMNS = (
    "format", "rate", "settings", "summary", "metadata", "game_end", "standings", "reason", "last_frame",
    "duration_seconds", "stats", "said_at_ms", "highlights",
)  # fmt: skip
"""The columns of `games` that come from a `GameRecord` under the same name."""


class GameRow(NamedTuple):
    """One game in a list."""

    game_id: str
    started_at_ms: int
    """When it began by its own time: that of its file, or else of the last write to it."""
    listed_at_ms: int
    """Its place in lists."""
    arrived_at_ms: int | None
    """When the daemon saw its first bytes arrive; `None` for games that were not seen to arrive."""
    format: str
    station: str
    reason: str | None
    last_frame: int | None
    duration_seconds: float | None
    summary: str
    """A `GameSummary` as JSON."""
    standings: str | None
    """Stocks and percent at the end by player index, as JSON; `None` until then."""
    ended_at_ms: int | None
    """When the daemon saw it end, or else the last write to its file; `None` until it has ended."""
    stations: str
    """The stations of its files as a JSON list, that of the file that counts first; the same station may repeat."""


class GameDetails(NamedTuple):
    """The parts of a game that lists do not show, as JSON."""

    rate: str
    game_end: str | None
    metadata: str | None
    stats: str | None
    highlights: str | None
    """`None` while they are not computed."""
    settings: str


class SetupRow(NamedTuple):
    """The parts of a game that show its setup. Settings, metadata, summary and pacing are JSON."""

    game_id: str
    format: str
    path: bytes
    listed_at_ms: int
    arrived_at_ms: int | None
    reason: str | None
    duration_seconds: float | None
    settings: str
    metadata: str | None
    summary: str
    codes: str | None
    """Fingerprint of the codes; empty for a replay without a list, `None` until it was read."""
    pacing: str | None


class FileRow(NamedTuple):
    """One file of a game."""

    path: bytes
    station: str
    mtime_ns: int
    size_bytes: int
    completeness: int | None
    """See `Entry.completeness`; `None` if the file must be read again."""


class StoredGame(NamedTuple):
    """One game with its files; the one that has most of the game comes first."""

    row: GameRow
    details: GameDetails
    files: Sequence[FileRow]
    codes: str | None = None
    """As in `SetupRow`."""


class Page(NamedTuple):
    """A page of games, newest first."""

    games: Sequence[GameRow]
    next: GameKey | None
    """The `cursor` of the next page; `None` on the last one."""


_MOST_FIRST = "ORDER BY completeness DESC, size_bytes DESC, mtime_ns DESC"
"""If several files hold the same game, the first one in this order counts: a copy that was cut off or is damaged does
not hide the whole file, however new it is."""

_ELSEWHERE = {
    "ended_at_ms": "e.ended_at_ms",
    "stations": "(SELECT json_group_array(station) FROM"  # noqa: S608 -- a constant
    f" (SELECT station FROM files WHERE game_id = g.game_id {_MOST_FIRST}))",
}
"""The columns of `GameRow` that are not columns of the table of games."""
_ROW = ", ".join(_ELSEWHERE.get(name, f"g.{name}") for name in GameRow._fields)
_PLAYED = ", ".join("f.mtime_ns" if name == "mtime_ns" else f"g.{name}" for name in IndexedGame._fields)
_SETUPS = ", ".join(f"s.{name}" if name in ("codes", "pacing") else f"g.{name}" for name in SetupRow._fields)
_DETAILS = ", ".join(f"g.{name}" for name in GameDetails._fields)


def connect(path: Path, *pragmas: str) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time. Transactions are explicit."""
    connection = sqlite3.connect(path, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("synchronous = NORMAL", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()  # at once, since Windows does not rename a damaged file while it is open
        raise
    return connection


class DamagedContent(sqlite3.DatabaseError):
    """Damage that SQLite does not find: a value that no version of slpstream can have written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the error means that the file is not a database or is damaged."""
    return primary_code(error) in _DAMAGE or is_wrong_content(error)


def is_wrong_content(error: sqlite3.Error) -> bool:
    """Whether the error means that a stored value is not what slpstream writes."""
    return isinstance(error, DamagedContent) or str(error).startswith(_WRONG_CONTENT)


def release_cursors(error: BaseException) -> None:
    """Drop the cursors that the frames of an error keep. On Windows, a file cannot be set aside while one is open.

    Frames that still run keep theirs, so callers that set the file aside use no cursor beyond a statement.
    """
    for each in (error, error.__cause__):
        if each is not None:
            traceback.clear_frames(each.__traceback__)


def still_readable(path: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The corrections and the remembered values of a damaged database, as far as they can be read. No file can restore
    them. Changes nothing."""
    corrections = _readable(path, "SELECT CAST(station AS BLOB), CAST(document AS BLOB) FROM corrections")
    remembered = _readable(path, "SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM remembered")
    return corrections, remembered


def _readable(path: Path, statement: str) -> dict[str, bytes]:
    """The keys and JSON documents that a statement selects in a damaged database, up to the first error."""
    found: dict[str, bytes] = {}
    file = f"file:{quote(os.fsencode(path.absolute()))}?immutable=1"
    with suppress(sqlite3.Error, ValueError), closing(sqlite3.connect(file, uri=True)) as connection:
        for key, document in connection.execute(statement):
            # In a damaged database, columns that cannot be NULL can be NULL.
            if key is not None and document is not None and json_or_none(document, object) is not None:
                with suppress(UnicodeDecodeError):
                    found[key.decode()] = document
    return found


def primary_code(error: Exception) -> int | None:
    """The primary result code of SQLite's error; `None` for an error that is not SQLite's own."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & _PRIMARY_CODE


@contextmanager
def finding_damage() -> Iterator[None]:
    """Raises `DamagedContent` for a stored text that is not UTF-8 or not the JSON that it must be."""
    try:
        yield
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise DamagedContent(str(error)) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block writes, or nothing if it fails. Raises `DamagedContent` as `finding_damage` does."""
    with finding_damage():
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


class Database:
    """An open database. All methods block, may be called from any thread and raise `sqlite3.Error`."""

    def __init__(self, path: Path) -> None:
        """Call `open_database` instead, which creates the tables."""
        self.path = path
        self._writer = connect(path)
        self._writing = threading.Lock()
        self._reading = threading.Condition()
        self._readers = 0
        self._idle: list[sqlite3.Connection] = []
        self.closed = False

    def close(self) -> None:
        """Close the database, after all that other threads still do with it. Later calls fail.

        The file can be damaged, and another one takes its place then: a late reader would open that one and disturb it.
        """
        self.closed = True
        with self._writing:
            self._writer.close()
        with self._reading:
            self._reading.wait_for(lambda: not self._readers)
        while self._idle:
            self._idle.pop().close()

    def check_writable(self) -> None:
        """Write something that changes nothing."""
        with self._writing:
            version: int = self._writer.execute("PRAGMA user_version").fetchone()[0]
            self._writer.execute(f"PRAGMA user_version = {version}")

    def put(self, entries: Iterable[Entry]) -> None:
        """Store files and their games in one transaction."""
        with self._transaction() as writer:
            for entry in entries:
                _put(writer, entry)

    def correct_arrivals(self, arrivals: Mapping[str, int]) -> None:
        """Store other arrivals of games, by game id in order of arrival, and list the games there."""
        with self._transaction() as writer:
            statement = "SELECT arrived_at_ms FROM games WHERE game_id = ?"
            before = {
                game_id: found[0] for game_id in arrivals if (found := writer.execute(statement, (game_id,)).fetchone())
            }
            known = list(before)
            writer.executemany("UPDATE games SET arrived_at_ms = NULL WHERE game_id = ?", [(each,) for each in known])
            for game_id in known:
                _correct_ending(writer, game_id, before[game_id], arrivals[game_id])
                _place(writer, game_id, arrivals[game_id])
                _refresh(writer, game_id)

    def remove(self, paths: Iterable[bytes]) -> None:
        """Remove deleted files, and games that have no file left."""
        with self._transaction() as writer:
            for path in paths:
                row = writer.execute("SELECT game_id FROM files WHERE path = ?", (path,)).fetchone()
                writer.execute("DELETE FROM files WHERE path = ?", (path,))
                if row is not None and row[0] is not None:
                    _refresh(writer, row[0])

    def keep_stats(self, game_id: str, stats: bytes) -> None:
        """Store the summary of a game's stats."""
        with self._transaction() as writer:
            writer.execute("UPDATE games SET stats = ? WHERE game_id = ?", (stats.decode(), game_id))

    def keep_highlights(self, game_id: str, highlights: Sequence[Highlight]) -> None:
        """Store the highlights of a game, in the order in which they ended."""
        with self._transaction() as writer:
            text = msgspec.json.encode(highlights).decode()
            updated = writer.execute("UPDATE games SET highlights = ? WHERE game_id = ?", (text, game_id))
            if updated.rowcount:
                _put_highlights(writer, game_id, highlights)

    def keep_codes(self, game_id: str, codes: CodeList | None) -> None:
        """Store the codes of a game; `None` for a replay without a list of codes."""
        fingerprint = "" if codes is None else codes.fingerprint
        with self._transaction() as writer:
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
        """The codes with a fingerprint; `None` if no game has them."""
        with self._reader() as reader:
            found = reader.execute("SELECT document FROM code_lists WHERE fingerprint = ?", (fingerprint,)).fetchone()
            return None if found is None else _codes(found[0])

    def setups(self, station: str, limit: int) -> list[SetupRow]:
        """The setups of a station's newest games, newest first."""
        with self._reader() as reader:
            rows = reader.execute(
                f"SELECT {_SETUPS} FROM tags t CROSS JOIN games g ON g.game_id = t.game_id"  # noqa: S608 -- the names of our columns
                " LEFT JOIN setups s ON s.game_id = g.game_id"
                " WHERE t.kind = 'station' AND t.value = ? ORDER BY t.listed_at_ms DESC, t.game_id DESC LIMIT ?",
                (station, limit),
            )
            setups = [SetupRow(*row) for row in rows]
            for setup in setups:
                _summary(setup.summary)
                _check_json(setup.settings, setup.metadata, setup.pacing)
            return setups

    def highlights(self, query: HighlightsQuery, game_ids: list[str] | None = None) -> HighlightPage:
        """A page of highlights; `game_ids` are the only games to search, and `None` searches all games."""
        statement, values = highlights_statement(query, game_ids)
        with self._reader() as reader:
            rows = [highlight_row(*row) for row in reader.execute(statement, values)]
        if len(rows) <= query.limit:
            return HighlightPage(rows, None)
        last = rows[query.limit - 1]
        first = tenths(last.highlight.score) if query.order == "best" else last.listed_at_ms
        return HighlightPage(rows[: query.limit], HighlightKey((first, last.game_id, last.number)))

    def keep_situations(self, found: Iterable[FoundSituation]) -> int:
        """Store situations, in the order in which they were found, and return how many were not known before.

        Those of a query that was changed replace those of the query that had the name before, in the same game.
        """
        new = 0
        with self._transaction() as writer:
            for situation in found:
                new += _put_situation(writer, situation)
        return new

    def situations(self, query: SituationsQuery) -> SituationPage:
        """A page of situations, the one that was found last first."""
        statement, values = situations_statement(query)
        with self._reader() as reader:
            rows = [SituationRow(*row) for row in reader.execute(statement, values)]
            _check_json(*(row.document for row in rows))
        if len(rows) <= query.limit:
            return SituationPage(rows, None)
        return SituationPage(rows[: query.limit], SituationKey(rows[query.limit - 1].id))

    def expire(self, *, before_ms: int | None, max_bytes: int | None, spared: Collection[str] = ()) -> int:
        """Remove old games from the index and return their number.

        Removes the games whose place in lists is before `before_ms` (Unix time), then the oldest games while more than
        `max_bytes` are in use. `None` disables a limit. Games in `spared` stay. The files of removed games remain
        known, so that they are not read again.
        """
        expired = 0
        if before_ms is not None:
            while count := self._forget_oldest(_EXPIRED_AT_ONCE, spared, before_ms):
                expired += count
        while max_bytes is not None and (excess := self.used_bytes() - max_bytes) > 0:
            games = max(1, self.count())
            excess_games = math.ceil(excess / (self.used_bytes() / games))
            count = self._forget_oldest(min(_EXPIRED_AT_ONCE, excess_games), spared)
            if not count:
                break
            expired += count
        return expired

    def _forget_oldest(self, limit: int, spared: Collection[str], before_ms: int | None = None) -> int:
        older = (1 << 63) - 1 if before_ms is None else before_ms
        with self._transaction() as writer:
            rows = writer.execute(
                f"SELECT game_id FROM games WHERE listed_at_ms < ? AND game_id NOT IN ({', '.join('?' * len(spared))})"  # noqa: S608 -- only question marks are put in
                " ORDER BY listed_at_ms, game_id LIMIT ?",
                (older, *spared, limit),
            ).fetchall()
            for row in rows:
                writer.execute("UPDATE files SET game_id = NULL, problem = ? WHERE game_id = ?", (_EXPIRED, *row))
                writer.execute("DELETE FROM tags WHERE game_id = ?", row)
                writer.execute("DELETE FROM search WHERE game_id = ?", row)
                writer.execute("DELETE FROM endings WHERE game_id = ?", row)
                writer.execute("DELETE FROM highlights WHERE game_id = ?", row)
                writer.execute("DELETE FROM situations WHERE game_id = ?", row)
                _forget_setup(writer, *row)
                writer.execute("DELETE FROM games WHERE game_id = ?", row)
        return len(rows)

    def keep_corrections(self, station: str, corrections: bytes) -> None:
        """Store the corrections of operators to the sets of a station, as JSON, in place of earlier ones."""
        with self._transaction() as writer:
            writer.execute(
                "INSERT OR REPLACE INTO corrections (station, document) VALUES (?, ?)", (station, corrections.decode())
            )

    def remember(self, values: Mapping[str, bytes | None]) -> None:
        """Store values, as JSON, by key, in place of earlier ones. `None` removes a value."""
        with self._transaction() as writer:
            for key, value in values.items():
                if value is None:
                    writer.execute("DELETE FROM remembered WHERE key = ?", (key,))
                else:
                    writer.execute(
                        "INSERT OR REPLACE INTO remembered (key, value) VALUES (?, ?)", (key, value.decode())
                    )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing, transaction(self._writer):
            yield self._writer

    def page(self, query: GamesQuery, folders: Sequence[bytes] = (), only: MakeFilter | None = None) -> Page:
        """A page of the games that match a query; `folders` are the paths of the folders that are watched now.

        `only` makes the condition in `query.query`.
        """
        with self._reader() as reader:
            reader.execute("BEGIN")  # so that the facts are those of the games
            try:
                condition = None if only is None else _narrowed(only(KnownFacts(reader)), KnownFacts(reader))
                statement, values = _page_statement(query, folders, condition)
                rows = [GameRow(*row) for row in reader.execute(statement, values)]
                for row in rows:
                    _summary(row.summary)
                    _check_json(row.standings)
            finally:
                reader.execute("COMMIT")
        more = len(rows) > query.limit
        rows = rows[: query.limit]
        if not more:
            return Page(rows, None)
        last = rows[-1]
        moment_ms = last.listed_at_ms if query.order == "began" else last.ended_at_ms or 0
        return Page(rows, GameKey((moment_ms, last.game_id)))

    def game(self, game_id: str) -> StoredGame | None:
        """One game; `None` if it is not known."""
        with self._reader() as reader:
            found = reader.execute(
                f"SELECT {_ROW}, {_DETAILS}, s.codes FROM games g LEFT JOIN endings e ON e.game_id = g.game_id"  # noqa: S608 -- the names of our columns
                " LEFT JOIN setups s ON s.game_id = g.game_id WHERE g.game_id = ?",
                (game_id,),
            ).fetchone()
            if found is None:
                return None
            width, end = len(GameRow._fields), len(GameRow._fields) + len(GameDetails._fields)
            row, details = GameRow(*found[:width]), GameDetails(*found[width:end])
            _summary(row.summary)
            _check_json(row.standings, *details)
            files = reader.execute(
                f"SELECT {', '.join(FileRow._fields)} FROM files WHERE game_id = ? {_MOST_FIRST}",  # noqa: S608 -- the names of our columns
                (game_id,),
            ).fetchall()
        return StoredGame(row, details, [FileRow(*file) for file in files], *found[end:])

    def known_files(self, station: str) -> dict[bytes, tuple[int, int]]:
        """The files of a station that were read: modification time in nanoseconds and size in bytes, by path.

        Files that must be read again have the size -1.
        """
        with self._reader() as reader:
            rows = reader.execute(
                "SELECT path, mtime_ns, iif(completeness IS NULL, -1, size_bytes) FROM files WHERE station = ?",
                (station,),
            )
            return {path: (mtime_ns, size_bytes) for path, mtime_ns, size_bytes in rows}

    def stale_members(self, archive: bytes, mtime_ns: int) -> list[bytes]:
        """The members of an archive that were read when it had another modification time than `mtime_ns`."""
        prefix = members_prefix(archive)
        with self._reader() as reader:
            rows = reader.execute(
                "SELECT path FROM files WHERE path > ? AND path < ? AND mtime_ns <> ?",
                (prefix, prefix + b"\xff", mtime_ns),
            )
            return [path for (path,) in rows]

    def game_ids(self, station: str) -> dict[bytes, tuple[int, int, str]]:
        """The games in the files of a station: modification time in nanoseconds, size in bytes and game id, by path."""
        with self._reader() as reader:
            rows = reader.execute(
                "SELECT path, mtime_ns, size_bytes, game_id FROM files WHERE station = ? AND game_id IS NOT NULL",
                (station,),
            )
            return {path: (mtime_ns, size_bytes, game_id) for path, mtime_ns, size_bytes, game_id in rows}

    def played(self, station: str, limit: int) -> list[IndexedGame]:
        """The newest games of a station, newest first."""
        with self._reader() as reader:
            rows = reader.execute(
                f"SELECT {_PLAYED} FROM tags t CROSS JOIN games g ON g.game_id = t.game_id"  # noqa: S608 -- the names of our columns
                " LEFT JOIN files f ON f.path = g.path WHERE t.kind = 'station' AND t.value = ?"
                " ORDER BY t.listed_at_ms DESC, t.game_id DESC LIMIT ?",
                (station, limit),
            )
            return [
                IndexedGame(game_id, _summary(summary), _standings(standings or "{}"), *others)
                for game_id, summary, standings, *others in rows
            ]

    def corrections(self) -> dict[str, bytes]:
        """The corrections of operators, as JSON, by station."""
        with self._reader() as reader:
            rows = reader.execute("SELECT station, document FROM corrections")
            found = dict(rows)
            _check_json(*found.values())
            return {station: document.encode() for station, document in found.items()}

    def remembered(self, key: str) -> bytes | None:
        """The value stored under a key, as JSON; `None` if there is none."""
        with self._reader() as reader:
            found = reader.execute("SELECT value FROM remembered WHERE key = ?", (key,)).fetchone()
            if found is None:
                return None
            _check_json(found[0])
            return bytes(found[0].encode())

    def count(self) -> int:
        """Number of games."""
        with self._reader() as reader:
            count: int = reader.execute("SELECT count(*) FROM games").fetchone()[0]
            return count

    def used_bytes(self) -> int:
        """Size of the database without its free pages."""
        with self._reader() as reader:
            pages, free, size = (
                reader.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
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


_encode_summary = msgspec.json.Encoder().encode
_summary = msgspec.json.Decoder(GameSummary).decode
_TO_COLUMN: Mapping[type, Callable[[Any], str]] = {
    bytes: bytes.decode,
    GameSummary: lambda summary: _encode_summary(summary).decode(),
    list: lambda highlights: msgspec.json.encode(highlights).decode(),
}
"""How the values of a record that are no text or number become the values of columns, by their type."""
_codes = msgspec.json.Decoder(CodeList).decode
_standings = msgspec.json.Decoder(dict[int, Standing]).decode
_check_document = msgspec.json.Decoder(msgspec.Raw).decode


def _check_json(*documents: str | None) -> None:
    """Raises `msgspec.DecodeError` if one of the texts is not JSON."""
    for document in documents:
        if document is not None:
            _check_document(document)


def _put(writer: sqlite3.Connection, entry: Entry) -> None:
    record = entry.record
    before = writer.execute(
        "SELECT game_id, size_bytes, completeness FROM files WHERE path = ?", (entry.path,)
    ).fetchone()
    game_id = None if record is None else record.game_id
    completeness = entry.completeness
    if before is not None and before[0] == game_id and before[1] <= entry.size_bytes:
        completeness = max(completeness, before[2] or 0)  # the file is being read from its beginning once more
    writer.execute(
        "INSERT OR REPLACE INTO files (path, station, game_id, mtime_ns, size_bytes, problem, completeness)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (entry.path, entry.station, game_id, entry.mtime_ns, entry.size_bytes, entry.problem, completeness),
    )
    if before is not None and before[0] not in (None, game_id):
        _refresh(writer, before[0])
    if record is not None:
        _put_game(writer, entry, record)


def _put_game(writer: sqlite3.Connection, entry: Entry, record: GameRecord) -> None:
    """Write a game, unless another file has more of it. Unknown values do not replace known ones."""
    columns = ("arrived_at_ms", "listed_at_ms", *_RECORD_COLUMNS)
    known = writer.execute(
        f"SELECT {', '.join(columns)} FROM games WHERE game_id = ?",  # noqa: S608 -- the names of our columns
        (record.game_id,),
    ).fetchone()
    values: dict[str, Any] = dict.fromkeys(columns) if known is None else dict(zip(columns, known, strict=True))
    files = _files(writer, record.game_id)
    listed_at_ms: int | None = values["listed_at_ms"]
    if known is None or files[0][0] == entry.path:
        keep_summary = knows_less(record, values["reason"], values["metadata"])
        for name in _RECORD_COLUMNS:
            value = getattr(record, name)
            if value is None or (keep_summary and name == "summary"):
                continue
            convert = _TO_COLUMN.get(type(value))
            values[name] = value if convert is None else convert(value)
        listed_at_ms = _write_game(writer, record.game_id, values, entry)
        if record.highlights is not None:
            _put_highlights(writer, record.game_id, record.highlights)
    if record.reason is not None:
        _put_ending(writer, record.game_id, entry)
    if entry.pacing is not None:
        _put_pacing(writer, record.game_id, entry.pacing)
    if entry.arrived_at_ms is not None and values["arrived_at_ms"] is None:
        listed_at_ms = _place(writer, record.game_id, entry.arrived_at_ms)
    if known is None and len(files) == 1:  # nearly always; there is nothing to bring up to date
        _insert_tags(writer, record.game_id, listed_at_ms, record.format, files, record.summary)
    else:
        _refresh(writer, record.game_id)


def _put_highlights(writer: sqlite3.Connection, game_id: str, highlights: Sequence[Highlight]) -> None:
    """Store the order of the highlights of a game's log by score, in place of an earlier one."""
    writer.execute("DELETE FROM highlights WHERE game_id = ? AND situation IS NULL", (game_id,))
    writer.executemany(
        "INSERT INTO highlights (game_id, number, score) VALUES (?, ?, ?)",
        [(game_id, number, tenths(highlight.score)) for number, highlight in enumerate(highlights)],
    )


def _put_situation(writer: sqlite3.Connection, found: FoundSituation) -> bool:
    """Store a situation, and the highlight that it is. Returns whether it was not known before."""
    game_id, name, query = found.game_id, found.payload["name"], found.payload["query"]
    stale = writer.execute(
        "DELETE FROM situations WHERE game_id = ? AND name = ? AND query <> ? RETURNING id", (game_id, name, query)
    ).fetchall()
    writer.executemany("DELETE FROM highlights WHERE situation = ?", stale)
    stored = writer.execute(
        "INSERT OR IGNORE INTO situations (game_id, name, number, query, station, found_at_ms, document)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            game_id,
            name,
            found.payload["number"],
            query,
            found.station,
            found.found_at_ms,
            msgspec.json.encode(found.payload).decode(),
        ),
    )
    if found.score is not None:
        writer.execute(
            "INSERT OR IGNORE INTO highlights (game_id, number, score, situation) SELECT s.game_id,"
            " (SELECT max(?, ifnull(max(h.number) + 1, 0)) FROM highlights h WHERE h.game_id = s.game_id), ?, s.id"
            " FROM situations s WHERE s.game_id = ? AND s.name = ? AND s.number = ?",
            (SITUATIONS, tenths(found.score), game_id, name, found.payload["number"]),
        )
    return stored.rowcount > 0


def _put_pacing(writer: sqlite3.Connection, game_id: str, pacing: Pacing) -> None:
    """Store how evenly the frames of a game arrived."""
    writer.execute(
        "INSERT INTO setups (game_id, pacing) VALUES (?, ?)"
        " ON CONFLICT (game_id) DO UPDATE SET pacing = excluded.pacing",
        (game_id, msgspec.json.encode(pacing).decode()),
    )


def _forget_setup(writer: sqlite3.Connection, game_id: str) -> None:
    """Delete the facts of a game about its setup, and its list of codes if no other game has it."""
    found = writer.execute("DELETE FROM setups WHERE game_id = ? RETURNING codes", (game_id,)).fetchall()
    for (fingerprint,) in found:
        writer.execute(
            "DELETE FROM code_lists WHERE fingerprint = ? AND NOT EXISTS (SELECT 1 FROM setups WHERE codes = ?)",
            (fingerprint, fingerprint),
        )


def _put_ending(writer: sqlite3.Connection, game_id: str, entry: Entry) -> None:
    """Store when a game ended: as it was seen, or else with the last write to its file, but never in the future."""
    if entry.ended_at_ms is not None:
        writer.execute("INSERT OR REPLACE INTO endings VALUES (?, ?)", (game_id, entry.ended_at_ms))
    else:
        written_ms = min(entry.mtime_ns // 1_000_000, round(1000 * time.time()))
        writer.execute("INSERT OR IGNORE INTO endings VALUES (?, ?)", (game_id, written_ms))


def _correct_ending(writer: sqlite3.Connection, game_id: str, before_ms: int | None, arrived_ms: int) -> None:
    """Move the end of a game by as much as its arrival, if it was stored before the clock was set."""
    row = writer.execute("SELECT ended_at_ms FROM endings WHERE game_id = ?", (game_id,)).fetchone()
    if row is not None and before_ms is not None and abs(row[0] - before_ms) < abs(row[0] - arrived_ms):
        ended_ms = row[0] + arrived_ms - before_ms
        writer.execute("UPDATE endings SET ended_at_ms = ? WHERE game_id = ?", (ended_ms, game_id))


def _files(writer: sqlite3.Connection, game_id: str) -> list[tuple[bytes, str]]:
    """Path and station of the files of a game; the one that counts comes first."""
    found = writer.execute(f"SELECT path, station FROM files WHERE game_id = ? {_MOST_FIRST}", (game_id,))  # noqa: S608 -- a constant
    return found.fetchall()


def _write_game(writer: sqlite3.Connection, game_id: str, values: dict[str, Any], entry: Entry) -> int | None:
    """Write the row of a game. Returns its `listed_at_ms`; `None` if `_place` has to decide it."""
    names = ("game_id", "started_at_ms", "listed_at_ms", "arrived_at_ms", "station", "path", *_RECORD_COLUMNS)
    # A game ends with the last write to its file.
    ended_ms = entry.mtime_ns // 1_000_000
    started_ms = values["said_at_ms"] or ended_ms - round(1000 * (values["duration_seconds"] or 0))
    row = {**values, "game_id": game_id, "started_at_ms": started_ms, "station": entry.station, "path": entry.path}
    if values["arrived_at_ms"] is None:
        row["listed_at_ms"] = started_ms
    writer.execute(
        f"INSERT OR REPLACE INTO games ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",  # noqa: S608
        [row[name] for name in names],
    )
    listed_at_ms: int | None = row["listed_at_ms"]
    return listed_at_ms


def _place(writer: sqlite3.Connection, game_id: str, arrived_at_ms: int) -> int:
    """Store when a game arrived and list it there, but never before a game that arrived earlier. Returns where it is.

    Games are thus listed in the order in which they arrived, even if the clock is set back in between.
    """
    last_ms: int | None = writer.execute(
        "SELECT max(listed_at_ms) FROM games WHERE arrived_at_ms IS NOT NULL AND game_id != ?", (game_id,)
    ).fetchone()[0]
    listed_at_ms = arrived_at_ms if last_ms is None else max(arrived_at_ms, last_ms + 1)
    writer.execute(
        "UPDATE games SET arrived_at_ms = ?, listed_at_ms = ? WHERE game_id = ?", (arrived_at_ms, listed_at_ms, game_id)
    )
    return listed_at_ms


def _refresh(writer: sqlite3.Connection, game_id: str) -> None:
    """Update the file that counts and the search terms of a game after its files have changed.

    A game without files is deleted.
    """
    writer.execute("DELETE FROM tags WHERE game_id = ?", (game_id,))
    writer.execute("DELETE FROM search WHERE game_id = ?", (game_id,))
    files = _files(writer, game_id)
    if not files:
        writer.execute("DELETE FROM endings WHERE game_id = ?", (game_id,))
        writer.execute("DELETE FROM highlights WHERE game_id = ?", (game_id,))
        writer.execute("DELETE FROM situations WHERE game_id = ?", (game_id,))
        _forget_setup(writer, game_id)
        writer.execute("DELETE FROM games WHERE game_id = ?", (game_id,))
        return
    row = writer.execute(
        "SELECT listed_at_ms, format, summary, path FROM games WHERE game_id = ?", (game_id,)
    ).fetchone()
    if row is None:
        return
    listed_at_ms, format_, summary, path = row
    if path != files[0][0]:
        writer.execute("UPDATE games SET path = ?, station = ? WHERE game_id = ?", (*files[0], game_id))
    _insert_tags(writer, game_id, listed_at_ms, format_, files, _summary(summary))


def _insert_tags(
    writer: sqlite3.Connection,
    game_id: str,
    listed_at_ms: int | None,
    format_: str,
    files: Sequence[tuple[bytes, str]],
    summary: GameSummary,
) -> None:
    """Write the search terms of a game that has none."""
    tags = {("format", format_), *(("station", station) for _, station in files)}
    tags |= {("player", term) for term in search_terms(summary.players)}
    words = words_of(summary, _file_name(files[0][0]))
    file_name, lines = split_words(words)
    tags |= {("player", tag_of_line(line)) for line in lines}  # the same, but for names with control characters
    writer.executemany(
        "INSERT INTO tags (kind, value, listed_at_ms, game_id) VALUES (?, ?, ?, ?)",
        [(kind, value, listed_at_ms, game_id) for kind, value in tags],
    )
    terms = terms_of(summary, format_, (station for _, station in files))
    writer.executemany("INSERT OR IGNORE INTO search_terms (term) VALUES (?)", [(each,) for each in split_terms(terms)])
    writer.executemany(
        "INSERT OR IGNORE INTO search_lines (kind, line) VALUES (?, ?)",
        [(FILE, shape(file_name)), *((PLAYER, line) for line in lines)],
    )
    writer.execute(
        "INSERT INTO search (listed_at_ms, game_id, frames, began_ms, flags, terms, words)"
        " SELECT listed_at_ms, game_id, CAST(round(60 * duration_seconds) AS INTEGER) - 1,"
        " ifnull(said_at_ms, arrived_at_ms), ?, ?, ? FROM games WHERE game_id = ?",
        (
            flags_of(summary),
            terms,
            words,
            game_id,
        ),
    )


def stored_facts(
    format_: str, summary: str, path: bytes, duration_seconds: float | None, began_ms: int | None, stations: str
) -> str:
    """The `GameFacts` of a game that an older version has indexed, as JSON. `stations` is a JSON list."""
    try:
        described = _summary(summary)
    except msgspec.DecodeError:
        described = GameSummary()
    facts = facts_of(
        described,
        format=format_,
        stations=msgspec.json.decode(stations, type=list[str]),
        file_name=_file_name(path),
        duration_seconds=duration_seconds,
        began_ms=began_ms,
    )
    return msgspec.json.encode(facts).decode()


def stored_terms(terms: str) -> str:
    """The single terms of a game that an older version has indexed, as a JSON list."""
    return msgspec.json.encode(split_terms(terms)).decode()


def stored_lines(words: str) -> str:
    """The rows of `search_lines` and the tags for these words, as a JSON list of kind, line and tag."""
    file_name, lines = split_words(words)
    rows = [(FILE, shape(file_name), None), *((PLAYER, line, tag_of_line(line)) for line in lines)]
    return msgspec.json.encode(rows).decode()


def _file_name(path: bytes) -> str:
    """The name of a file without its folders; `?` for bytes that are no text."""
    return os.path.basename(path).decode("utf-8", "replace")  # noqa: PTH119 -- names that are not UTF-8


def _narrowed(condition: Filter, known: KnownFacts) -> Filter:
    """The same condition, with which SQLite reads only the games of some players if there are few of these."""
    if condition.lines is None or not known.are_few(condition.lines):
        return condition
    sql, values = games_with(condition.lines)
    return Filter(f"{sql} AND {condition.sql}", [*values, *condition.values])


def _page_statement(query: GamesQuery, folders: Sequence[bytes], only: Filter | None) -> tuple[str, list[Any]]:
    """The SQL statement of a page, which reads one game more, and its values.

    It reads along the endings in the order of these; else along the facts if there is a condition on these, or along
    the most selective tag, or along the games if the query names no tag.
    """
    tags = [
        (kind, value)
        for kind, value in (
            ("player", UNSET if query.player is UNSET else folded(query.player)),
            ("station", query.station),
            ("format", query.format),
        )
        if value is not UNSET
    ]
    values: list[Any] = []
    conditions: list[str] = []
    with_endings = "LEFT JOIN endings e ON e.game_id = g.game_id"
    if query.order == "ended":
        # CROSS: in this order
        source, by, key = "endings e CROSS JOIN games g ON g.game_id = e.game_id", "g", "e.ended_at_ms"
        if only is not None:
            facts = "search s CROSS JOIN endings e ON e.game_id = s.game_id"
            source = f"{facts} CROSS JOIN games g ON g.game_id = e.game_id"
    elif only is not None:
        source = f"search s CROSS JOIN games g ON g.game_id = s.game_id {with_endings}"
        by, key = "s", "s.listed_at_ms"
    elif tags:
        source, by, key = f"tags t CROSS JOIN games g ON g.game_id = t.game_id {with_endings}", "t", "t.listed_at_ms"
        conditions.append("t.kind = ? AND t.value = ?")
        values += tags.pop(0)
    else:
        source, by, key = f"games g {with_endings}", "g", "g.listed_at_ms"
    if only is not None:
        conditions.append(only.sql)
        values += only.values
    for tag in tags:
        conditions.append(
            "EXISTS (SELECT 1 FROM tags o WHERE o.kind = ? AND o.value = ?"  # noqa: S608 -- only `by` is put in
            f" AND o.listed_at_ms = {by}.listed_at_ms AND o.game_id = {by}.game_id)"
        )
        values += tag
    if query.watched:
        # A path is below a folder if it is between the folder with a separator and the same with the next character.
        below = " OR ".join(["(f.path > ? AND f.path < ?)"] * len(folders)) or "FALSE"
        conditions.append(f"EXISTS (SELECT 1 FROM files f WHERE f.game_id = g.game_id AND ({below}))")  # noqa: S608
        for folder in folders:
            base = folder.rstrip(_SEPARATOR)
            values += (base + _SEPARATOR, base + bytes([_SEPARATOR[0] + 1]))
    for comparison, bound in ((">=", query.since), ("<", query.until)):
        if bound is not UNSET:
            conditions.append(f"{key} {comparison} ?")
            values.append(bound)
    id_of_key = "e.game_id" if query.order == "ended" else f"{by}.game_id"
    if query.cursor is not UNSET:
        conditions.append(f"({key}, {id_of_key}) < (?, ?)")
        values += query.cursor
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    statement = f"SELECT {_ROW} FROM {source} {where}ORDER BY {key} DESC, {id_of_key} DESC LIMIT ?"  # noqa: S608 -- the values are bound
    return statement, [*values, query.limit + 1]
