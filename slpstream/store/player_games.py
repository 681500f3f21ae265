"""The games of a player in the index, in the order of lists."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

Place = tuple[int, str]
"""The place of a game in lists: a Unix time in milliseconds, and its id."""
_EARLIEST_MS, _LATEST_MS = -(2**63), 2**63 - 1


def newest_places(
    reader: sqlite3.Connection,
    tags: Iterable[str],
    limit: int,
    *,
    since_ms: int = _EARLIEST_MS,
    before_ms: int = _LATEST_MS,
) -> list[Place]:
    """Return the places of the newest games with one of these tags of players, beginning with the newest.

    `since_ms` and `before_ms` limit the Unix times. This blocks.
    """
    found: set[Place] = set()
    for tag in tags:
        found |= set(
            reader.execute(
                "SELECT listed_at_ms, game_id FROM tags WHERE kind = 'player' AND value = ? AND listed_at_ms >= ?"
                " AND listed_at_ms < ? ORDER BY listed_at_ms DESC, game_id DESC LIMIT ?",
                (tag, since_ms, before_ms, limit),
            )
        )
    return sorted(found, reverse=True)[:limit]
