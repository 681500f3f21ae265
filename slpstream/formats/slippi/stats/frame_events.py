"""The events of the current frame. They are emitted in the order of the computers, and then of the player indices."""

from __future__ import annotations

from typing import Any

from slpstream.model.events import Event, GameEvent

ROLLBACKS, PAUSES, FORMS, STOCKS, PERCENT, CONVERSIONS, COMBOS, ACTIONS, HIGHLIGHTS = range(9)
"""The ranks of the computers, which order their events within a frame."""

PendingEvent = tuple[int, int, str, dict[str, Any]]
"""Rank of the computer, player index, kind, payload."""


def take_events(pending: list[PendingEvent], number: int, end_offset: int) -> list[Event]:
    """Turn the pending events of a frame into game events, in order, and clear the list."""
    if len(pending) > 1:
        pending.sort(key=_order)
    events: list[Event] = [GameEvent(end_offset, kind, number, values) for _, _, kind, values in pending]
    pending.clear()
    return events


def _order(entry: PendingEvent) -> tuple[int, int]:
    return entry[:2]
