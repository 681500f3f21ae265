"""Read the setups of games in the index."""

from __future__ import annotations

from typing import NamedTuple

from slpstream.store import Database
from slpstream.store.documents import check_json, decode_summary


class SetupRow(NamedTuple):
    """The parts of a game that tell us about its setup. The settings, metadata, summary and pacing are JSON."""

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
    """Fingerprint of the codes, or empty for a replay without a list, or `None` until it is read."""
    pacing: str | None


_COLUMNS = ", ".join(f"s.{name}" if name in ("codes", "pacing") else f"g.{name}" for name in SetupRow._fields)


def newest_setups(database: Database, station: str, limit: int) -> list[SetupRow]:
    """Return the setups of the given station's newest games, beginning with the newest."""
    with database.reader() as reader:
        rows = reader.execute(
            f"SELECT {_COLUMNS} FROM tags t CROSS JOIN games g ON g.game_id = t.game_id"  # noqa: S608 -- the names of our columns
            " LEFT JOIN setups s ON s.game_id = g.game_id"
            " WHERE t.kind = 'station' AND t.value = ? ORDER BY t.listed_at_ms DESC, t.game_id DESC LIMIT ?",
            (station, limit),
        )
        setups = [SetupRow(*row) for row in rows]
        for setup in setups:
            decode_summary(setup.summary)
            check_json(setup.settings, setup.metadata, setup.pacing)
        return setups
