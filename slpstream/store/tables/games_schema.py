"""The migrations of the tables of games, files and endings."""

from __future__ import annotations

from collections.abc import Mapping

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    1: (
        # A game according to the file with most of it. Small columns come first, because lists read no further columns.
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
        # Each file that was read; `problem` is the reason why the file has no game.
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
    ),
    2: (
        # Stocks and percent at the end, by player index; NULL for games indexed before this column existed.
        "ALTER TABLE games ADD COLUMN standings TEXT",
    ),
    3: (
        # One neutral summary replaces the columns setup, players and winners. The table is rebuilt so that the summary,
        # which lists read, comes before the large columns.
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
    4: (
        # Summaries distinguish sudden deaths from games. Summaries of rows that cannot be described stay unchanged.
        """UPDATE games SET summary =
            coalesce(nullif(describe(format, settings, game_end, metadata), '{}'), summary)""",
    ),
    5: (
        # `Entry.completeness`, which decides which file counts; NULL for a file that must be read again to know it.
        "ALTER TABLE files ADD COLUMN completeness INTEGER",
        """UPDATE files SET completeness = CASE
            WHEN game_id IS NULL THEN 0
            WHEN (SELECT count(*) FROM files f WHERE f.game_id = files.game_id) > 1 THEN NULL
            ELSE (SELECT (ifnull(g.reason, 'incomplete') NOT IN ('incomplete', 'error')) + (g.metadata IS NOT NULL)
                FROM games g WHERE g.game_id = files.game_id)
            END""",
    ),
    6: (
        # When the daemon saw the game arrive, and its place in lists, which depends on the arrival if that is known.
        # The table is rebuilt so that these columns, which lists read, come before the large ones.
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
    ),
    7: (
        # When games ended, by the clock of this machine. A list in that order does not depend on the consoles' clocks.
        """CREATE TABLE endings (
            game_id TEXT PRIMARY KEY NOT NULL,
            ended_at_ms INTEGER NOT NULL       -- Unix time
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX endings_by_time ON endings (ended_at_ms, game_id)",
        """INSERT INTO endings
            SELECT g.game_id, ifnull(f.mtime_ns / 1000000, g.listed_at_ms)
            FROM games g LEFT JOIN files f ON f.path = g.path WHERE g.reason IS NOT NULL""",
    ),
    14: (
        # Old versions computed times from frame numbers that do not count from -123, and considered a player out who
        # was missing from the last frame. Files are read again if their metadata counts fewer frames for each player
        # than the numbers span, or far more frames, and if their winners were inferred.
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
        # The archives that contain them.
        """UPDATE files AS f SET completeness = NULL WHERE game_id IS NULL AND EXISTS (
            SELECT 1 FROM files m JOIN doubtful USING (game_id) WHERE substr(m.path, 1, length(f.path)) = f.path)""",
        "DROP TABLE doubtful",
    ),
}
