"""The messages of Dolphin's spectator server, and where each of them begins in the events of a game. This doesn't do
any I/O.

All of them are JSON texts. A client sends a `connect_request` with the cursor from which it wants to continue, and gets
a `connect_reply` with the cursor from which it really will. After that, each game consists of `start_game`, a
`game_event` for each batch of events, and `end_game`. Cursors count these messages, so the `next_cursor` of one message
is the `cursor` of the next. While you are in the menus, Dolphin also sends a `menu_event` for each frame, which
describes the screen. We do not do this, because a station has no menus.
"""

from __future__ import annotations

from base64 import b64encode

import msgspec

from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    GAME_START,
    MESSAGE_SPLITTER,
    POST_FRAME,
    PRE_FRAME,
)
from slpstream.formats.slippi.framing import event_payloads_at
from slpstream.model.errors import FramingError
from slpstream.model.foreign_data import json_or_none
from slpstream.model.prepared import prepared

VERSION = "3.4.0"
"""The version of Dolphin that this protocol belongs to. Clients receive it as Dolphin's version."""
MAX_REQUEST_BYTES = 1024

_MAX_BATCH_BYTES = 32 * 1024
"""If a batch is larger than this, it ends at the next event. Frames are smaller by far."""
_BEGINS_FRAME = frozenset((FRAME_START.command, PRE_FRAME.command))
_ENDS_BATCH = frozenset((GAME_START, FRAME_BOOKEND.command, GAME_END.command, MESSAGE_SPLITTER))


@prepared
class _Request(msgspec.Struct):
    type: str
    cursor: int


def read_request(packet: bytes) -> int | None:
    """Return the cursor in a client's `connect_request`, or `None` if the packet is anything else."""
    if len(packet) > MAX_REQUEST_BYTES:
        return None
    request = json_or_none(packet, _Request)
    return request.cursor if request is not None and request.type == "connect_request" else None


def connect_reply(nick: str, cursor: int) -> bytes:
    """Return the answer to a request. `nick` is the name of this Dolphin that the client gets to know."""
    return msgspec.json.encode({"type": "connect_reply", "nick": nick, "version": VERSION, "cursor": cursor})


def start_game(cursor: int) -> bytes:
    """Return the message at the beginning of a game."""
    return b'{"type":"start_game","cursor":%d,"next_cursor":%d}' % (cursor, cursor + 1)


def game_event(cursor: int, events: bytes) -> bytes:
    """Return the message with a batch of whole events."""
    payload = b64encode(events)
    return b'{"type":"game_event","cursor":%d,"next_cursor":%d,"payload":"%b"}' % (cursor, cursor + 1, payload)


def end_game(cursor: int) -> bytes:
    """Return the message at the end of a game.

    If `dolphin_closed` were true, clients would take it as a request to disconnect.
    """
    return b'{"type":"end_game","cursor":%d,"next_cursor":%d,"dolphin_closed":false}' % (cursor, cursor + 1)


class EventBatches:
    """Divides the events of a game in the same way as Dolphin: after Game Start, each part of a split event, each
    frame, and Game End.

    This matters because libmelee only reads one frame from a message and drops everything else. In replays older than
    3.0, frames have no bookend, so there a batch ends before the first event of the next frame.
    """

    def __init__(self, head: bytes) -> None:
        """`head` must consist of the game's Event Payloads and Game Start.

        If it doesn't, this raises `FramingError`.
        """
        found = event_payloads_at(head, 0, 0)
        if found is None:
            raise FramingError("the game ends inside Event Payloads", offset=len(head))
        payloads, self._next_event = found
        self._widths = payloads.widths
        self._received_bytes = 0
        self._batch_start = 0
        self._previous = 0
        self._waiting: int | None = None
        """The end of a batch whose last event isn't complete yet."""
        self.ended = False
        """Whether we have received Game End or an undeclared event. Later events don't belong to any batch."""

    def feed(self, data: bytes) -> list[int]:
        """Take the next bytes. Returns where whole batches end, in bytes from the beginning of the game."""
        ends: list[int] = []
        start, self._received_bytes = self._received_bytes, self._received_bytes + len(data)
        if self._waiting is not None and self._waiting <= self._received_bytes:
            self._end(self._waiting, ends)
        while self._next_event < self._received_bytes and not self.ended and self._waiting is None:
            event = self._next_event
            command = data[event - start]
            width = self._widths[command]
            if not width:
                self.ended = True
                break
            if command in _BEGINS_FRAME and self._previous == POST_FRAME.command:
                self._end(event, ends)
            self._previous = command
            self._next_event = end = event + width
            if command in _ENDS_BATCH or end - self._batch_start >= _MAX_BATCH_BYTES:
                self._waiting = end
                if end <= self._received_bytes:
                    self._end(end, ends)
        return ends

    def rest(self) -> list[int]:
        """Return where the last batch ends, if the game has no Game End."""
        ends: list[int] = []
        if self._next_event <= self._received_bytes:
            self._end(self._next_event, ends)
        return ends

    def _end(self, end: int, ends: list[int]) -> None:
        if end > self._batch_start:
            ends.append(end)
        self._batch_start, self._waiting = end, None
        self.ended = self.ended or (self._previous == GAME_END.command and end == self._next_event)
