"""The table of situations, which the part `situations` fills and reads.

These can't be restored from any replay file.
"""

from __future__ import annotations

from collections.abc import Mapping

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    13: (
        # In the order in which this daemon found them.
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
        # The situation that is a highlight; NULL for logged highlights.
        "ALTER TABLE highlights ADD COLUMN situation INTEGER",
        "CREATE UNIQUE INDEX highlights_by_situation ON highlights (situation) WHERE situation IS NOT NULL",
    ),
}
