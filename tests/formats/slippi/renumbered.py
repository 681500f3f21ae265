"""Replays with other frame numbers, as the special modes of the game write them."""

from __future__ import annotations

from collections.abc import Callable

from slpstream.formats.slippi.commands import FRAME_BOOKEND, GAME_END, TABLES
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.reader import read_head

_LAST_FRAME = b"lastFramel"


def renumbered(data: bytes, number_of: Callable[[int], int]) -> bytes:
    """A copy of a replay with the frame number `number_of(n)` in place of each n."""
    copy = bytearray(data)

    def change(at: int) -> None:
        number = int.from_bytes(data[at : at + 4], "big", signed=True)
        copy[at : at + 4] = number_of(number).to_bytes(4, "big", signed=True)

    head = read_head(data)
    for command, start, end in walk_events(data, head.at, len(data), head.payloads.widths):
        if command in TABLES and command != GAME_END.command:
            change(start + 1)
        if command == FRAME_BOOKEND.command and end - start > 8:
            change(start + 5)
    at = data.find(_LAST_FRAME)
    if at >= 0:
        change(at + len(_LAST_FRAME))
    return bytes(copy)
