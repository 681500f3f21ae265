"""Logs of files that are written in one go, and their contents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from slpstream.formats.whole_file import WholeFileReader
from slpstream.model.events import Diagnostic, Event, GameEvent
from slpstream.model.messages import body_of


def log_of(
    reader: WholeFileReader, data: bytes, *, pieces: Iterable[bytes] | None = None, step: int = 997
) -> list[Event]:
    """All events of a file. `step` is the number of frames to expand at a time."""
    events: list[Event] = []
    for piece in (data,) if pieces is None else pieces:
        events += reader.feed(piece)
    events += reader.finish()
    while reader.pending:
        events += reader.more(step)
    assert reader.closed
    return events


def codes(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Severity and code of the diagnostics."""
    return [(event.severity, event.code) for event in events if isinstance(event, Diagnostic)]


def diagnostics(events: Iterable[Event]) -> list[tuple[str, int]]:
    """Code and offset of the diagnostics."""
    return [(event.code, event.offset) for event in events if isinstance(event, Diagnostic)]


def of_kind(events: Iterable[Event], kind: str) -> list[GameEvent]:
    """The game events of a kind."""
    return [event for event in events if isinstance(event, GameEvent) and event.kind == kind]


def payload(event: Event) -> dict[str, Any]:
    """The body of an event's message, decoded, with its type."""
    kind, body, _ = body_of(event)
    decoded: dict[str, Any] = msgspec.json.decode(b"{" + body)
    return {"type": kind, **decoded}


def ids_of(ours: Any, wanted: Any) -> Any:
    """Our values of the keys that are wanted, with the id of each thing that has a name."""
    if isinstance(wanted, dict):
        return {key: ids_of(ours.get(key), value) for key, value in wanted.items()}
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], dict):
        return [ids_of(one, other) for one, other in zip(ours, wanted, strict=True)]
    return ours["id"] if isinstance(ours, dict) else ours
