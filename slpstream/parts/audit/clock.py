"""The start of a game by the clock of its console."""

from __future__ import annotations

from datetime import UTC, datetime


def said_ms(started_at: str) -> int | None:
    """A date and time in Unix milliseconds, in UTC if it lacks a zone; `None` if it is malformed.

    Unlike in the index, it can also be an impossible time, because it is compared with the time of arrival: a console
    whose clock was never set reports such times.
    """
    try:
        moment = datetime.fromisoformat(started_at)
        return round(1000 * (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
