"""Find out when a game started according to the clock of its console."""

from __future__ import annotations

from datetime import UTC, datetime


def said_ms(started_at: str) -> int | None:
    """Convert a date and time to Unix milliseconds. If it doesn't have a zone, it is taken for UTC. Returns `None` if
    it is malformed.

    In contrast to the index, this accepts impossible times too. We compare them with the time of arrival, and if no one
    has ever set the clock of a console, it reports times like that.
    """
    try:
        moment = datetime.fromisoformat(started_at)
        return round(1000 * (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
