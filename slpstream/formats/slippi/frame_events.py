"""The events that frames consist of: which commands they have, what they mean for their frame, and what is in them.

The compiled kernel and the reference in Python both use these tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    ITEM_UPDATE,
    MESSAGE_SPLITTER,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
)
from slpstream.model.errors import Unsupported

START, PRE, POST, ITEM, BOOKEND = (
    table.command for table in (FRAME_START, PRE_FRAME, POST_FRAME, ITEM_UPDATE, FRAME_BOOKEND)
)
REPEATED = frozenset({ITEM, *STAGE_EVENT_KINDS})
"""Commands that a frame can have any number of."""
FRAMED = frozenset(TABLES) - {GAME_END.command}
"""Commands whose events begin with the frame number."""

Events = tuple[list[int], bytes, tuple[int, int, int]]
"""What the kernel has to know about events: `frame_widths`, `rules_of` and `PLACES`."""

FRAME_NUMBER_OFFSET, PLAYER_INDEX_OFFSET, FOLLOWER_OFFSET = PLACES = 1, 5, 6
NUMBERED_BYTES = PLAYER_INDEX_OFFSET
"""Events with a frame number are at least this wide. Narrower ones have no effect."""

_ITEMS, _STAGE_EVENTS, _PLAIN = b"01."
RULES = {
    **dict.fromkeys(REPEATED, _STAGE_EVENTS),
    ITEM: _ITEMS,
    START: ord("s"),
    PRE: ord("k"),
    POST: ord("l"),
    BOOKEND: ord("e"),
    MESSAGE_SPLITTER: ord(" "),
}
"""The meaning of each command for its frame, in the letters of the kernel."""


def rules_of(widths: Sequence[int]) -> bytes:
    """Return the rules for the commands of a replay. Events that are too narrow for a frame number have no meaning."""
    narrow = {command for command in REPEATED if 0 < widths[command] < NUMBERED_BYTES}
    return bytes(_PLAIN if command in narrow else RULES.get(command, _PLAIN) for command in range(256))


def frame_widths(widths: Sequence[int]) -> list[int]:
    """Return the declared widths, but with 0 for Game End and for commands that make it impossible to read frames."""
    usable = list(widths)
    usable[GAME_END.command] = 0
    for command in FRAMED:
        if unsupported(command, widths, offset=0) is not None:
            usable[command] = 0
    return usable


def frame_number(data: bytes, at: int) -> int:
    """Return the frame number of the event at `data[at]`."""
    return int.from_bytes(data[at + FRAME_NUMBER_OFFSET : at + PLAYER_INDEX_OFFSET], "big", signed=True)


@lru_cache(maxsize=64)
def events_of_frames(widths: tuple[int, ...]) -> Events:
    """Return the description of the events for the kernel, given the declared widths."""
    return frame_widths(widths), rules_of(widths), PLACES


def unsupported(command: int, widths: Sequence[int], *, offset: int) -> Unsupported | None:
    """Return the reason why we can't read frames with the event at `offset`, or `None` if we can."""
    if not widths[command] or command not in FRAMED or command in REPEATED:
        return None
    table = TABLES[command]
    layout = table.layout(widths[command] - 1)
    if layout.too_small:
        what = layout.size_error(offset).what
    elif command in (PRE, POST) and not (widths[PRE] and widths[POST]):
        other = TABLES[POST if command == PRE else PRE].title
        what = f"{table.title}: a replay without {other} has the layout of no released version"
    else:
        return None
    return Unsupported(what, offset=offset, command=command)
