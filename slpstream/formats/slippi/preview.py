"""The two ends of a `.slp`: Game Start from its first bytes, Game End and metadata from its last ones.

What is in a finished replay can be told without reading what lies between, and over thousands of files that is what
costs. Both ends are read by the live path's own reader, set behind the bytes that were left out.
"""

from __future__ import annotations

from typing import NamedTuple

from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import FRAME_START, GAME_END, PRE_FRAME, TABLES
from slpstream.formats.slippi.framing import width_of_event_payloads
from slpstream.formats.slippi.reader import SlippiReader, Stage
from slpstream.model.events import Event, Frame, GameEnd, GameStart, Metadata, first_of

_MAX_OLD_FRAME_BYTES = 8 * (67 + 85)
"""A frame of before 2.2, which has no Frame Start: at most four players with followers."""


class Ends(NamedTuple):
    """What the two ends of a replay say."""

    start: GameStart
    end: GameEnd
    metadata: Metadata


def read_ends(head: bytes, tail: bytes, tail_at: int) -> Ends | None:
    """What is in a finished replay, from its first bytes and its last ones; `tail_at` is the file offset of the latter.

    `None` when these do not tell, and the whole file has to be read: no Game End, two of them, no metadata, frames that
    end on a rollback. The last frame is found from behind; that its events lead exactly to the Game End proves its
    boundaries. Raises `FormatError` when there is no Game Start.
    """
    reader, at, early = read_head(head)
    start = first_of(GameStart, early)
    payloads = reader.event_payloads
    raw_end = container.HEADER_BYTES + reader.raw_length_bytes
    if start is None or payloads is None or not reader.raw_length_bytes or reader.stage is not Stage.EVENTS:
        return None
    end_at = raw_end - payloads.widths[GAME_END.command] - tail_at
    if not payloads.widths[GAME_END.command] or end_at <= 0 or tail_at < at:
        return None
    if end_at >= len(tail) or tail[end_at] != GAME_END.command:
        return None
    last_at = _last_sending(tail, end_at, payloads.widths)
    if last_at is None:
        return None
    reader = reader.behind_frames(tail_at + last_at, None)
    events = [*reader.feed(tail[last_at:]), *reader.finish()]
    end, metadata = first_of(GameEnd, events), first_of(Metadata, events)
    frames = [event for event in events if isinstance(event, Frame)]
    if end is None or metadata is None or end.reason != "game_end" or len(frames) != 1:
        return None
    if metadata.metadata.get("lastFrame") != frames[0].number:
        return None
    return Ends(start, end, metadata)


def _last_sending(tail: bytes, end_at: int, widths: list[int]) -> int | None:
    """Where the frame begins that ends at `end_at`: its events must lead exactly there, all of one frame number."""
    opening = FRAME_START.command if widths[FRAME_START.command] else PRE_FRAME.command
    at = end_at
    found = None
    while (at := tail.rfind(bytes([opening]), 0, at)) >= 0:
        if _leads_to(tail, at, end_at, widths):
            found = at
            if opening == FRAME_START.command:
                return found
        elif found is not None and end_at - at > _MAX_OLD_FRAME_BYTES:
            return found
    return found


def _leads_to(tail: bytes, at: int, end_at: int, widths: list[int]) -> bool:
    number = tail[at + 1 : at + 5]
    while at < end_at:
        command = tail[at]
        numbered = command in TABLES and command != GAME_END.command
        if not widths[command] or not numbered or tail[at + 1 : at + 5] != number:
            return False
        at += widths[command]
    return at == end_at


class Head(NamedTuple):
    """A reader that has read Game Start and not a byte more, the position behind it, and what the reader said."""

    reader: SlippiReader
    at: int
    events: list[Event]


def read_head(data: bytes) -> Head:
    """The head of a replay, event by event.

    `data` is the file, or so much of its beginning that Game Start is in it. Raises `FormatError` when there is none.
    """
    reader = SlippiReader()
    events = reader.feed(data[: container.HEADER_BYTES + 1])
    at = container.HEADER_BYTES + 1
    if reader.failure is None and len(data) > at:
        width = width_of_event_payloads(data, container.HEADER_BYTES, container.HEADER_BYTES) or 0
        events += reader.feed(data[at : container.HEADER_BYTES + width])
        at = container.HEADER_BYTES + width
    while reader.failure is None and reader.game_start is None:
        payloads = reader.event_payloads
        width = payloads.widths[data[at]] if payloads is not None and at < len(data) else 0
        past = at + width if width else len(data)
        events += reader.feed(data[at:past])
        at = past
        if at >= len(data) and reader.game_start is None:
            events += reader.finish()
    if reader.failure is not None:
        raise reader.failure
    return Head(reader, at, events)
