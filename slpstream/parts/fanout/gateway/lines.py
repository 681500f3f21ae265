"""Decode and check the lines that we read from the broker. Other programs can write there too, and a gateway passes on
everything it finds.

A message is only checked once, when it arrives. After that, other code can rely on all members having the right types.
"""

from __future__ import annotations

from typing import Any

import msgspec

from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import json_or_none, read_json
from slpstream.model.messages import LogMessage, parse_line

Object = dict[str, Any]


class _Line(msgspec.Struct, tag_field="type"):
    pass


class _GameStart(_Line, tag="game_start"):
    format: str = ""
    rate: tuple[int, int] = (60, 1)
    settings: Any = None


class _Finalized(_Line, tag="finalized"):
    through: int


class _Event(_Line, tag="event"):
    pass


class _Stats(_Line, tag="stats"):
    stats: Object


class _GameEnd(_Line, tag="game_end"):
    reason: str
    winners: list[Any] = []


class _Metadata(_Line, tag="metadata"):
    metadata: Object


class _Diagnostic(_Line, tag="diagnostic"):
    pass


_checked: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(
    _GameStart | _Finalized | _Event | _Stats | _GameEnd | _Metadata | _Diagnostic
)
_object: msgspec.json.Decoder[Object] = msgspec.json.Decoder(Object)


def message_in(line: bytes) -> LogMessage | None:
    """Decode a line as a log message. Returns `None` if it isn't one."""
    try:
        message = parse_line(line)
        payload = read_json(line, _object, ProtocolViolation)
        if message.type != "frame":
            read_json(line, _checked, ProtocolViolation)
        elif not _has_players(payload["frame"]):
            return None
    except ProtocolViolation:
        return None
    return message


def _has_players(frame: Object) -> bool:
    """Check a frame.

    Since there are many of them, we do this by hand: players and followers must be objects of objects.
    """
    for name in ("players", "followers"):
        side = frame.get(name, {})
        if not isinstance(side, dict) or not all(isinstance(player, dict) for player in side.values()):
            return False
    return True


def payload_of(message: LogMessage) -> Object:
    """Decode the payload of a message that you got from `message_in`."""
    return _object.decode(b"{" + message.body)


def object_in(text: bytes) -> Object:
    """Decode a JSON object. If it is anything else, you get an empty one."""
    return json_or_none(text, _object) or {}
