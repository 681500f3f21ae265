"""By how much the clock of a console is wrong: when a game began according to its file, against when it arrived."""

from __future__ import annotations

from datetime import UTC, datetime


def skew_seconds(started_at: str, arrived_at_ms: int | None) -> float | None:
    """How far the clock was ahead of the daemon's, negative if it was behind; `None` if one of the times is missing.

    A time without a zone is that of the console, which knows none. It is taken as UTC, so the skew of a console that
    shows local time has the offset of the zone in it; the audit compares it with that of the other consoles.
    """
    if arrived_at_ms is None or not started_at:
        return None
    try:
        moment = datetime.fromisoformat(started_at)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return moment.timestamp() - arrived_at_ms / 1000
    except (ValueError, OverflowError):
        return None
