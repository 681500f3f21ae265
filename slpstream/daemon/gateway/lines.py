"""What is read out of the broker, checked: others can write there too, and a gateway hands on what it finds.

A message is decoded once as it comes, with what is looked at later in the form that it must have.
"""

from __future__ import annotations

from typing import Any

import msgspec

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import LogMessage, parse_line

_WRONG = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

Plain = dict[str, Any]


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
    stats: Plain


class _GameEnd(_Line, tag="game_end"):
    reason: str
    winners: list[Any] = []


class _Metadata(_Line, tag="metadata"):
    metadata: Plain


class _Diagnostic(_Line, tag="diagnostic"):
    pass


_form = msgspec.json.Decoder(_GameStart | _Finalized | _Event | _Stats | _GameEnd | _Metadata | _Diagnostic).decode
_plain = msgspec.json.Decoder(Plain).decode


def message_in(line: bytes) -> LogMessage | None:
    """The message of a log that a line is; `None` when it is none."""
    try:
        message = parse_line(line)
        payload = _plain(line)
        if message.type != "frame":
            _form(line)
        elif not _has_players(payload["frame"]):
            return None
    except (*_WRONG, ProtocolViolation):
        return None
    return message


def _has_players(frame: Plain) -> bool:
    """The same for frames, of which there are many: players and followers are maps of maps."""
    for name in ("players", "followers"):
        side = frame.get(name, {})
        if not isinstance(side, dict) or not all(isinstance(player, dict) for player in side.values()):
            return False
    return True


def payload_of(message: LogMessage) -> Plain:
    """The decoded payload of a message that `message_in` has returned."""
    return _plain(b"{" + message.body)


def object_in(text: bytes) -> Plain:
    """A JSON object; an empty one for anything else."""
    try:
        return _plain(text)
    except _WRONG:
        return {}
