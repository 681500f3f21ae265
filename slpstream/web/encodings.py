"""The subprotocols of the websocket.

Each message is encoded once for all subscribers, including the header of its frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from websockets.frames import Opcode

from slpstream.model import delta
from slpstream.model.delta import delta_message
from slpstream.model.events import Form
from slpstream.model.messages import LogMessage, to_messagepack
from slpstream.model.websocket_message import websocket_message
from slpstream.stream.delta_bases import DeltaBase


class WebsocketEncoding:
    """One subprotocol, with its name, its opcode, and the form of its messages."""

    def __init__(self, subprotocol: str, opcode: Opcode, form: Form) -> None:
        self.key = subprotocol
        self._opcode = opcode
        self._form: Callable[[LogMessage, str, tuple[str, ...] | None, int], bytes] = _FORMS[form]
        self._is_json = form == "json"

    def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
        """Encode a log message as a websocket message. You can cut a `frame` message down to some fields."""
        return self._form(message, station, fields, self._opcode)

    def status(self, payload: dict[str, Any]) -> bytes:
        """Encode a status message as a websocket message."""
        json = msgspec.json.encode(payload)
        return websocket_message(self._opcode, json if self._is_json else to_messagepack(json))


_FORMS = {"json": LogMessage.json, "msgpack": LogMessage.messagepack}


class DeltaWebsocketEncoding(WebsocketEncoding):
    """MessagePack in which most messages only contain the differences from an earlier one."""

    def follow(self, link: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """Encode a message as its differences from `before`, which is an earlier message of the same game and type."""
        key = (self.key, station, link.fields, before.place)
        return link.message.form(key, lambda _: self._difference(link, before, station))

    def _difference(self, link: DeltaBase, before: DeltaBase, station: str) -> bytes:
        changes, link.image = before.image.change(link.payload())
        message = link.message
        step = message.offset - before.message.offset
        data = delta_message(message.type, station, step, message.count, changes)
        return websocket_message(self._opcode, data)


JSON = WebsocketEncoding("slpstream.v1.json", Opcode.TEXT, "json")
MESSAGEPACK = WebsocketEncoding("slpstream.v1.msgpack", Opcode.BINARY, "msgpack")
DELTA = DeltaWebsocketEncoding(delta.SUBPROTOCOL, Opcode.BINARY, "msgpack")
ENCODINGS = {encoding.key: encoding for encoding in (JSON, MESSAGEPACK, DELTA)}
