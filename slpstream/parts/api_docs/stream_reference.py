"""The websocket in the description of the API: the subscriptions, the messages, and the close codes.

OpenAPI has no way to describe it, so it is the extension `x-stream` of `/openapi.json`. We make it from the types and
tables that the code itself uses. The members of the messages are described in `static/slpstream_types.js`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from slpstream.model.delta import SUBPROTOCOL as DELTA
from slpstream.model.errors import SubscriberError
from slpstream.model.messages import DROPPABLE_TYPES, PAYLOADS, STATUS_PAYLOADS
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.parts import registry
from slpstream.stream.subscription import SubscribeRequest

_SUBPROTOCOLS = {
    "slpstream.v1.json": "One JSON object for each message. Clients that offer no subprotocol get this one.",
    "slpstream.v1.msgpack": "The same messages as binary MessagePack.",
    DELTA: "The differences from earlier messages: a twentieth of the bytes, for distant clients.",
}
_PROTOCOL_CODES = {
    1001: "The daemon is shutting down.",
    1002: "The client violated the websocket protocol.",
    1007: "A text message was not UTF-8.",
    1009: "A message was too long.",
}


def description() -> dict[str, Any]:
    """Describe the websocket in the style of OpenAPI."""
    return {
        "path": "/v1/stream",
        "summary": "Every message of every station, as it happens.",
        "subprotocols": [{"name": name, "description": what} for name, what in _SUBPROTOCOLS.items()],
        "options": _options(),
        "messages": [
            *(
                {"type": kind, "topic": topic, "droppable": kind in DROPPABLE_TYPES, "payload": PAYLOADS[kind]}
                for kind, topic in TOPIC_OF_TYPE.items()
            ),
            *({"type": kind, "droppable": False, "payload": payload} for kind, payload in STATUS_PAYLOADS.items()),
            *({"type": each.type, "droppable": True, "payload": each.payload} for each in registry.messages()),
        ],
        "closeCodes": [{"code": code, "description": what} for code, what in sorted(_close_codes().items())],
    }


def _options() -> list[dict[str, Any]]:
    schema = msgspec.json.schema(SubscribeRequest)["$defs"][SubscribeRequest.__name__]
    required = schema["required"]
    return [
        {
            "name": name,
            "required": name in required,
            "description": plain.get("description", ""),
            "schema": {key: value for key, value in plain.items() if key != "description"},
        }
        for name, plain in schema["properties"].items()
    ]


def _close_codes() -> dict[int, str]:
    of_errors = {kind.close_code: (kind.__doc__ or "").partition("\n")[0] for kind in SubscriberError.__subclasses__()}
    return _PROTOCOL_CODES | of_errors
