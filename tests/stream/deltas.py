"""An encoding and a client of the delta subprotocol, with one line per message."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from slpstream.model.delta import DeltaDecoder, delta_message
from slpstream.model.messages import to_messagepack
from slpstream.stream.view import DeltaBase
from tests.stream.fakes import Client, LineEncoding


class DeltaLines(LineEncoding):
    """Encodes messages as in the delta subprotocol, one line each, and counts the deltas."""

    key = "delta lines"

    def __init__(self) -> None:
        super().__init__()
        self.deltas = 0

    def follow(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """A message as a delta to an earlier one."""
        return base.message.form((self.key, station, before.place), lambda _: self._delta(base, before, station))

    def status(self, payload: dict[str, Any]) -> bytes:
        """A status message as a line."""
        return _text(to_messagepack(msgspec.json.encode(payload)))

    def _line(self, json: bytes) -> bytes:
        self.encoded += 1
        return _text(to_messagepack(json))

    def _delta(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        self.deltas += 1
        changes, base.image = before.image.change(base.payload())
        step = base.message.offset - before.message.offset
        return _text(delta_message(base.message.type, station, step, base.message.count, changes))


def _text(data: bytes) -> bytes:
    return base64.b64encode(data) + b"\n"


class DeltaClient(Client):
    """A client that decodes deltas."""

    def __init__(self, encoding: DeltaLines | None = None, **options: Any) -> None:
        super().__init__(encoding=DeltaLines() if encoding is None else encoding, **options)
        self._decoder = DeltaDecoder()

    def decoded_line(self, line: bytes) -> bytes:
        message = self._decoder.decode(base64.b64decode(line))
        if message["type"] == "frame":  # a delta can change the order of the members
            player = message["frame"]["players"]["0"]
            player["post"] = dict(sorted(player["post"].items()))
        return msgspec.json.encode(message)

    def decoded_log(self) -> list[dict[str, Any]]:
        """The log messages, decoded."""
        return [msgspec.json.decode(line) for line in self.log]
