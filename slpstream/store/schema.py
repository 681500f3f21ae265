"""The tables of the index, their versions and the migrations between them.

`PRAGMA user_version` is the version; `MIGRATIONS[n]` leads from version n to n + 1 in one transaction. A database of a
newer version is refused: it belongs to a newer slpstream. A damaged database is renamed and a new one is created,
because the index can be rebuilt from the files.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from slpstream.model.errors import ConfigError
from slpstream.store.database import (
    Database,
    connect,
    primary_code,
    still_readable,
    stored_facts,
    stored_lines,
    stored_terms,
)
from slpstream.system.private_files import create_private_file, private_file

FILE_NAME = "games.sqlite3"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # A game according to the file that has most of it. Small columns come first: a list of games reads no further.
        """CREATE TABLE games (
            game_id TEXT PRIMARY KEY NOT NULL, -- 32 hex digits
            started_at_ms INTEGER NOT NULL,    -- Unix time
            format TEXT NOT NULL,
            station TEXT NOT NULL,
            path BLOB NOT NULL,                -- the file that counts
            said_at_ms INTEGER,                -- when it began, according to the file
            reason TEXT,                       -- how it ended; NULL while it has not
            last_frame INTEGER,
            duration_seconds REAL,
            setup TEXT NOT NULL,               -- JSON from here on
            players TEXT NOT NULL,
            winners TEXT,
            rate TEXT NOT NULL,
            game_end TEXT,
            metadata TEXT,
            stats TEXT,
            settings TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX games_by_time ON games (started_at_ms, game_id)",
        # Every file that was read; `problem` is why there is no game in it.
        """CREATE TABLE files (
            path BLOB PRIMARY KEY NOT NULL,
            station TEXT NOT NULL,
            game_id TEXT,
            mtime_ns INTEGER NOT NULL,
            size_bytes INTEGER NOT NULL,
            problem TEXT
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX files_by_game ON files (game_id, mtime_ns)",
        "CREATE INDEX files_by_station ON files (station)",
        # The terms that games are found by, in the order in which games are listed.
        """CREATE TABLE tags (
            kind TEXT NOT NULL,                -- player, station, format
            value TEXT NOT NULL,
            started_at_ms INTEGER NOT NULL,
            game_id TEXT NOT NULL,
            PRIMARY KEY (kind, value, started_at_ms, game_id)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX tags_by_game ON tags (game_id)",
    ),
    (
        # Stocks and percent at the end, by player index; NULL for games indexed before this column existed.
        "ALTER TABLE games ADD COLUMN standings TEXT",
        # The corrections of operators to the sets of a station. They are in no file, so `reindex` leaves them alone.
        """CREATE TABLE corrections (
            station TEXT PRIMARY KEY NOT NULL,
            document TEXT NOT NULL             -- JSON
        ) STRICT, WITHOUT ROWID""",
    ),
    (
        # One neutral summary replaces the columns setup, players and winners. The table is rebuilt, because lists read
        # the summary, which must therefore come before the large columns.
        """CREATE TABLE games_with_summary (
            game_id TEXT PRIMARY KEY NOT NULL,
            started_at_ms INTEGER NOT NULL,
            format TEXT NOT NULL,
            station TEXT NOT NULL,
            path BLOB NOT NULL,
            said_at_ms INTEGER,
            reason TEXT,
            last_frame INTEGER,
            duration_seconds REAL,
            summary TEXT NOT NULL,             -- JSON from here on
            rate TEXT NOT NULL,
            game_end TEXT,
            standings TEXT,
            metadata TEXT,
            stats TEXT,
            settings TEXT NOT NULL
        ) STRICT""",
        """INSERT INTO games_with_summary
            SELECT game_id, started_at_ms, format, station, path, said_at_ms, reason, last_frame, duration_seconds,
                describe(format, settings, game_end, metadata), rate, game_end, standings, metadata, stats, settings
            FROM games""",
        "DROP TABLE games",
        "ALTER TABLE games_with_summary RENAME TO games",
        "CREATE INDEX games_by_time ON games (started_at_ms, game_id)",
    ),
    (
        # Summaries tell sudden deaths from games. Summaries of rows that cannot be described stay as they are.
        """UPDATE games SET summary =
            coalesce(nullif(describe(format, settings, game_end, metadata), '{}'), summary)""",
    ),
    (
        # `Entry.completeness`, by which the file that counts is chosen; NULL for a file that must be read again for it.
        "ALTER TABLE files ADD COLUMN completeness INTEGER",
        """UPDATE files SET completeness = CASE
            WHEN game_id IS NULL THEN 0
            WHEN (SELECT count(*) FROM files f WHERE f.game_id = files.game_id) > 1 THEN NULL
            ELSE (SELECT (ifnull(g.reason, 'incomplete') NOT IN ('incomplete', 'error')) + (g.metadata IS NOT NULL)
                FROM games g WHERE g.game_id = files.game_id)
            END""",
    ),
    (
        # When the daemon saw the game arrive, and its place in lists, which follows from that where it is known. The
        # table is rebuilt, because lists read these columns, which must therefore come before the large ones.
        """CREATE TABLE games_with_arrival (
            game_id TEXT PRIMARY KEY NOT NULL,
            started_at_ms INTEGER NOT NULL,
            listed_at_ms INTEGER NOT NULL,     -- its place in lists
            arrived_at_ms INTEGER,             -- Unix time; NULL when not seen to arrive
            format TEXT NOT NULL,
            station TEXT NOT NULL,
            path BLOB NOT NULL,
            said_at_ms INTEGER,
            reason TEXT,
            last_frame INTEGER,
            duration_seconds REAL,
            summary TEXT NOT NULL,             -- JSON from here on
            rate TEXT NOT NULL,
            game_end TEXT,
            standings TEXT,
            metadata TEXT,
            stats TEXT,
            settings TEXT NOT NULL
        ) STRICT""",
        """INSERT INTO games_with_arrival
            SELECT game_id, started_at_ms, started_at_ms, NULL, format, station, path, said_at_ms, reason, last_frame,
                duration_seconds, summary, rate, game_end, standings, metadata, stats, settings
            FROM games""",
        "DROP TABLE games",
        "ALTER TABLE games_with_arrival RENAME TO games",
        "CREATE INDEX games_by_time ON games (listed_at_ms, game_id)",
        "CREATE INDEX games_by_arrival ON games (listed_at_ms) WHERE arrived_at_ms IS NOT NULL",
        "ALTER TABLE tags RENAME COLUMN started_at_ms TO listed_at_ms",
    ),
    (
        # When games ended, by the clock of this machine: a list in that order is independent of the consoles' clocks.
        """CREATE TABLE endings (
            game_id TEXT PRIMARY KEY NOT NULL,
            ended_at_ms INTEGER NOT NULL       -- Unix time
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX endings_by_time ON endings (ended_at_ms, game_id)",
        """INSERT INTO endings
            SELECT g.game_id, ifnull(f.mtime_ns / 1000000, g.listed_at_ms)
            FROM games g LEFT JOIN files f ON f.path = g.path WHERE g.reason IS NOT NULL""",
    ),
    (
        # Values that parts of the daemon need again after a restart, such as the station on air. They are in no file.
        """CREATE TABLE remembered (
            key TEXT PRIMARY KEY NOT NULL,
            value TEXT NOT NULL                -- JSON
        ) STRICT, WITHOUT ROWID""",
    ),
    (
        # The highlights of a game, as JSON; NULL while they are not computed.
        "ALTER TABLE games ADD COLUMN highlights TEXT",
        # Their order by score. `number` is the place in that list.
        """CREATE TABLE highlights (
            game_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            score INTEGER NOT NULL,            -- tenths of a point
            PRIMARY KEY (game_id, number)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX highlights_by_score ON highlights (score, game_id, number)",
    ),
    (
        # The facts that games reveal about their setups beyond their settings.
        """CREATE TABLE setups (
            game_id TEXT PRIMARY KEY NOT NULL,
            codes TEXT,                        -- fingerprint; empty for a replay without a list, NULL until it is read
            pacing TEXT                        -- JSON; NULL when the game was not seen to arrive
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX setups_by_codes ON setups (codes) WHERE codes > ''",
        # The lists of codes, each once: all games of one build have the same.
        """CREATE TABLE code_lists (
            fingerprint TEXT PRIMARY KEY NOT NULL,
            document TEXT NOT NULL             -- JSON
        ) STRICT""",
    ),
    (
        # The facts that queries search, see `slpstream.model.game_facts`, in the order of lists. The rows are short,
        # because a query that few games match reads all of them.
        """CREATE TABLE search (
            listed_at_ms INTEGER NOT NULL,
            game_id TEXT NOT NULL,
            frames INTEGER,
            began_ms INTEGER,
            flags INTEGER NOT NULL,
            terms TEXT NOT NULL,
            words TEXT NOT NULL,
            PRIMARY KEY (listed_at_ms, game_id)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX search_by_game ON search (game_id)",
        """INSERT INTO search
            SELECT g.listed_at_ms, g.game_id, facts.value ->> 0, facts.value ->> 1, facts.value ->> 2,
                facts.value ->> 3, facts.value ->> 4
            FROM games g, json_each('[' || search_facts(g.format, g.summary, g.path, g.duration_seconds,
                ifnull(g.said_at_ms, g.arrived_at_ms),
                (SELECT json_group_array(f.station) FROM files f WHERE f.game_id = g.game_id)) || ']') facts""",
        # Each term that any game has or had. Queries for other terms, such as a stage that was never played, read no
        # game.
        "CREATE TABLE search_terms (term TEXT PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID",
        """INSERT OR IGNORE INTO search_terms
            SELECT term.value FROM search s, json_each(search_term_list(s.terms)) term""",
    ),
    (
        # The file names, without differences in digits, and the codes and names that any game has or had. Queries for
        # texts in none of them read no game, and those for texts in a few names only the games with these tags.
        """CREATE TABLE search_lines (
            kind TEXT NOT NULL,                -- file, player
            line TEXT NOT NULL,
            PRIMARY KEY (kind, line)
        ) STRICT, WITHOUT ROWID""",
        """INSERT OR IGNORE INTO search_lines
            SELECT line.value ->> 0, line.value ->> 1 FROM search s, json_each(search_line_list(s.words)) line""",
        # Old versions wrote other tags.
        """INSERT OR IGNORE INTO tags (kind, value, listed_at_ms, game_id)
            SELECT 'player', line.value ->> 2, s.listed_at_ms, s.game_id
            FROM search s, json_each(search_line_list(s.words)) line WHERE line.value ->> 0 = 'player'""",
    ),
    (
        # The configured situations that were found in games, in the order in which this daemon found them.
        """CREATE TABLE situations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            game_id TEXT NOT NULL,
            name TEXT NOT NULL,
            number INTEGER NOT NULL,           -- of those of this name in this game, from 1
            query TEXT NOT NULL,
            station TEXT NOT NULL,
            found_at_ms INTEGER NOT NULL,      -- Unix time
            document TEXT NOT NULL             -- JSON
        ) STRICT""",
        "CREATE UNIQUE INDEX situations_by_game ON situations (game_id, name, number)",
        "CREATE INDEX situations_by_station ON situations (station, id)",
        "CREATE INDEX situations_by_name ON situations (name, id)",
        # The situation that is a highlight; NULL for the highlights of the log.
        "ALTER TABLE highlights ADD COLUMN situation INTEGER",
        "CREATE UNIQUE INDEX highlights_by_situation ON highlights (situation) WHERE situation IS NOT NULL",
    ),
    (
        # Old versions took frame numbers for time that do not count from -123, and a player whom the last frame lacked
        # for one who is out. The files of games that this can concern are read again: those whose metadata counts fewer
        # frames for each player than the numbers span, or far more, and those whose winners were inferred.
        """CREATE TEMPORARY TABLE doubtful AS SELECT game_id, last_frame + 124 AS span,
                (SELECT max((SELECT sum(count.value) FROM json_each(player.value, '$.characters') count))
                    FROM json_each(metadata, '$.players') player WHERE player.type = 'object') AS played,
                json_extract(summary, '$.basis') IS 'inferred' AS inferred
            FROM games WHERE format = 'slippi' AND reason IS NOT NULL""",
        """DELETE FROM doubtful WHERE NOT inferred
            AND (played BETWEEN span AND 8 * span OR (played IS NULL AND ifnull(span, 0) < 100000))""",
        """UPDATE games SET duration_seconds = NULL
            WHERE game_id IN (SELECT game_id FROM doubtful WHERE NOT inferred)""",
        "UPDATE search SET frames = NULL WHERE game_id IN (SELECT game_id FROM doubtful WHERE NOT inferred)",
        "UPDATE files SET completeness = NULL WHERE game_id IN (SELECT game_id FROM doubtful)",
        # The archives that they are in.
        """UPDATE files AS f SET completeness = NULL WHERE game_id IS NULL AND EXISTS (
            SELECT 1 FROM files m JOIN doubtful USING (game_id) WHERE substr(m.path, 1, length(f.path)) = f.path)""",
        "DROP TABLE doubtful",
    ),
)
VERSION = len(MIGRATIONS)
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
"""Errors that another file in the same place would have too."""


class NewerVersion(ConfigError):
    """The database belongs to a newer slpstream."""


DescribeStored = Callable[[str, str, str | None, str | None], str]
"""(format name, settings, payload of `game_end`, metadata) to the summary of a game from an older index.

All but the format name are JSON; `None` if not known.
"""


def _describe_nothing(*_: str | None) -> str:
    return "{}"


def open_database(
    path: Path,
    *,
    on_damage: Callable[[Path, str], None] = lambda aside, what: None,
    migrations: tuple[tuple[str, ...], ...] = MIGRATIONS,
    describe: DescribeStored = _describe_nothing,
) -> Database:
    """Open the database at a path, after creating it or migrating it to the newest version.

    Blocks, possibly for a while.

    `on_damage` is called with the new path of a damaged database and what was wrong with it. `describe` summarises the
    games of a database that is older than summaries. Raises `NewerVersion` for a database of a newer version, and
    `OSError` or `sqlite3.OperationalError` if the folder is not writable.
    """
    damaged: list[Path] = []

    def note(aside: Path, what: str) -> None:
        damaged.append(aside)
        on_damage(aside, what)

    prepare(path, migrations, on_damage=note, describe=describe)
    database = Database(path)
    try:
        for aside in damaged:
            restore(database, aside)
    except BaseException:
        database.close()
        raise
    return database


def prepare(
    path: Path,
    migrations: tuple[tuple[str, ...], ...],
    *,
    on_damage: Callable[[Path, str], None],
    describe: DescribeStored = _describe_nothing,
) -> None:
    """Create the database at a path or migrate it to the newest version. See `open_database`.

    Only the owner of the file may read it: it has the names of players. Whatever is in its place and is no database,
    or a damaged one, is set aside.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in _parts(path):
        private_file(part)
    try:
        if not all(part.is_file() or not os.path.lexists(part) for part in _parts(path)):
            raise _Damaged("it is not a file")
        _create(path)
        _prepare(path, migrations, describe)
    except (sqlite3.Error, ValueError, OverflowError) as error:
        if not _is_unusable(path, error):
            raise
        _prepare(Path(":memory:"), migrations, describe)  # a bug in a migration must not set a good database aside
        on_damage(set_aside(path), str(error))
        _create(path)
        _prepare(path, migrations, describe)


def _create(path: Path) -> None:
    """Create an empty file, unless there is one. SQLite would let others read it."""
    with contextlib.suppress(FileExistsError):
        os.close(create_private_file(path))


def _is_unusable(path: Path, error: Exception) -> bool:
    """Whether the fault is in the file, and not in the disk, the folder, or another process.

    Damage shows in many ways, also as a wrong statement in the schema or as a text that is not UTF-8.
    """
    code = primary_code(error)
    if code in _NO_ACCESS:
        return any(os.path.lexists(part) and not os.access(part, os.R_OK | os.W_OK) for part in _parts(path))
    return code not in _ENVIRONMENT


def restore(database: Database, aside: Path) -> None:
    """Copy what no file can restore from a damaged database into the new one, as far as it can be read."""
    corrections, remembered = still_readable(aside)
    for station, document in corrections.items():
        database.keep_corrections(station, document)
    database.remember(remembered)


def _parts(path: Path) -> list[Path]:
    """A database and the files that belong to it."""
    return [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal", "")]


def set_aside(path: Path) -> Path:
    """Rename a damaged database and the files that belong to it. Returns the new path."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for part, target in zip(_parts(path), _parts(aside), strict=True):
        with contextlib.suppress(FileNotFoundError):  # SQLite removes -wal and -shm when the database is closed
            part.rename(target)
    return aside


def _prepare(path: Path, migrations: tuple[tuple[str, ...], ...], describe: DescribeStored) -> None:
    connection = connect(path)
    try:
        connection.create_function("describe", 4, describe)
        connection.create_function("search_facts", 6, stored_facts)
        connection.create_function("search_term_list", 1, stored_terms)
        connection.create_function("search_line_list", 1, stored_lines)
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
        # A database on a full or read-only disk can be opened; only writing shows that nothing can be kept in it.
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
    """The damage that `quick_check` has found."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
