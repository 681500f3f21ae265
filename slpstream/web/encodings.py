"""The subprotocols of the websocket.

Each message is encoded once for all subscribers, including the header of its frame.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import msgspec
from websockets.frames import Opcode

from slpstream.formats.kernel import kernel
from slpstream.model import delta
from slpstream.model.delta import delta_message
from slpstream.model.events import Form
from slpstream.model.messages import LogMessage, envelope, to_messagepack
from slpstream.stream.view import DeltaBase

_FIN = 0x80
_SIZE_IN_2_BYTES, _SIZE_IN_8_BYTES = 126, 127


class WebsocketEncoding:
    """One subprotocol, with its name, its opcode, and the form of its messages."""

    def __init__(self, subprotocol: str, opcode: Opcode, form: Form) -> None:
        self.key = subprotocol
        self._opcode = opcode
        self._form = form
        self._encode: Callable[[LogMessage, str, tuple[str, ...] | None], bytes] = _ENCODE[form]
        encoder = None if kernel is None else kernel.Encoder(form, opcode, envelope, self._log_for_all)
        self.joined: Callable[[list[LogMessage], str, Set[str] | None, tuple[str, ...] | None], bytes]
        """Encodes those messages of a station that have one of the types, or all if it is `None`, one after another. If
        there are fields, then `frame` messages are cut down to these."""
        self.joined = self._joined if encoder is None else encoder.write

    def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
        """Encode a log message as a websocket message. You can cut a `frame` message down to some fields."""
        return self.joined([message], station, None, fields)

    def _joined(
        self, messages: list[LogMessage], station: str, types: Set[str] | None, fields: tuple[str, ...] | None
    ) -> bytes:
        wanted = (message for message in messages if types is None or message.type in types)
        return b"".join(self._log_for_all(m, station, fields if m.type == "frame" else None) for m in wanted)

    def _log_for_all(self, message: LogMessage, station: str, fields: tuple[str, ...] | None) -> bytes:
        return message.form((self.key, station, fields), self._log, station, fields)

    def _log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None) -> bytes:
        return _framed(self._opcode, self._encode(message, station, fields))

    def status(self, payload: dict[str, Any]) -> bytes:
        """Encode a status message as a websocket message."""
        json = msgspec.json.encode(payload)
        return _framed(self._opcode, json if self._form == "json" else to_messagepack(json))


_ENCODE = {"json": LogMessage.json, "msgpack": LogMessage.messagepack}


class DeltaWebsocketEncoding(WebsocketEncoding):
    """MessagePack in which most messages only contain the differences from an earlier one."""

    def follow(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """Encode `base` as its differences from `before`, which is an earlier message of the same game and type."""
        key = (self.key, station, base.fields, before.place)
        return base.message.form(key, lambda _: self._difference(base, before, station))

    def _difference(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        changes, base.image = before.image.change(base.payload())
        message = base.message
        step = message.offset - before.message.offset
        data = delta_message(message.type, station, step, message.count, changes)
        return _framed(self._opcode, data)


def _framed(opcode: Opcode, payload: bytes) -> bytes:
    """Return a websocket message in one frame. It is unmasked, as servers send it (RFC 6455, section 5.2).

    Most messages of a game pass through here. Doing it ourselves takes a quarter of the time that `websockets` takes.
    """
    size = len(payload)
    if size < _SIZE_IN_2_BYTES:
        return b"%c%c%b" % (_FIN | opcode, size, payload)
    if size < 1 << 16:
        return b"%c%c%c%c%b" % (_FIN | opcode, _SIZE_IN_2_BYTES, size >> 8, size & 0xFF, payload)
    return b"%c%c%b%b" % (_FIN | opcode, _SIZE_IN_8_BYTES, size.to_bytes(8), payload)


JSON = WebsocketEncoding("slpstream.v1.json", Opcode.TEXT, "json")
MESSAGEPACK = WebsocketEncoding("slpstream.v1.msgpack", Opcode.BINARY, "msgpack")
DELTA = DeltaWebsocketEncoding(delta.SUBPROTOCOL, Opcode.BINARY, "msgpack")
ENCODINGS = {encoding.key: encoding for encoding in (JSON, MESSAGEPACK, DELTA)}
