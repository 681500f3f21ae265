"""When a game began according to its file, for the clock of its console."""

from __future__ import annotations

from datetime import UTC, datetime


def said_ms(started_at: str) -> int | None:
    """A date and time in Unix milliseconds, UTC where it has no zone; `None` if it is none.

    Unlike in the index, it can also be one that cannot be true: a console whose clock was never set has such times.
    """
    try:
        moment = datetime.fromisoformat(started_at)
        return round(1000 * (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
