"""The obs-websocket protocol 5 on top of a websocket: the handshake, requests, batches and events. This doesn't do any
I/O itself.

Pass each text message that arrives to `receive`, and send everything that you get from `messages_to_send`.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.model.errors import SinkError
from slpstream.model.foreign_data import read_json
from slpstream.model.prepared import prepared

SUBPROTOCOL = "obswebsocket.json"
RPC_VERSION = 1
SUCCESS = 100


class Op(enum.IntEnum):
    """The kinds of messages. There is no 4."""

    HELLO = 0
    IDENTIFY = 1
    IDENTIFIED = 2
    EVENT = 5
    REQUEST = 6
    RESPONSE = 7
    BATCH = 8
    BATCH_RESPONSE = 9


class Subscriptions(enum.IntFlag):
    """The groups of events that we ask for."""

    GENERAL = 1 << 0
    CONFIG = 1 << 1
    SCENES = 1 << 2
    INPUTS = 1 << 3
    OUTPUTS = 1 << 6
    SCENE_ITEMS = 1 << 7
    UI = 1 << 10


ALL_SUBSCRIPTIONS = (
    Subscriptions.GENERAL
    | Subscriptions.CONFIG
    | Subscriptions.SCENES
    | Subscriptions.INPUTS
    | Subscriptions.OUTPUTS
    | Subscriptions.SCENE_ITEMS
    | Subscriptions.UI
)


class Identified(NamedTuple):
    """The handshake is complete, so you can send requests now."""

    version: str
    """Version of obs-websocket."""


class ObsEvent(NamedTuple):
    """Something has happened in OBS."""

    type: str
    data: Mapping[str, Any]


class Answer(NamedTuple):
    """The answer to a request."""

    id: str
    type: str
    code: int
    """`SUCCESS`, or why the request failed."""
    comment: str
    data: Mapping[str, Any]


class BatchAnswer(NamedTuple):
    """The answers to a batch, in the same order."""

    id: str
    answers: Sequence[Answer]


Received = Identified | ObsEvent | Answer | BatchAnswer


class PasswordMissing(SinkError):
    """Raised if OBS asks for a password and you haven't configured one."""


class _Status(msgspec.Struct):
    code: int
    comment: str = ""


@prepared
class _Response(msgspec.Struct, rename="camel"):
    request_type: str
    request_status: _Status
    request_id: str = ""
    response_data: dict[str, Any] | None = None


@prepared
class _BatchResponse(msgspec.Struct, rename="camel"):
    request_id: str
    results: list[_Response]


@prepared
class _Event(msgspec.Struct, rename="camel"):
    event_type: str
    event_data: dict[str, Any] | None = None


class _Challenge(msgspec.Struct):
    challenge: str
    salt: str


@prepared
class _Hello(msgspec.Struct, rename={"version": "obsWebSocketVersion"}):
    version: str
    authentication: _Challenge | None = None


@prepared
class _Message(msgspec.Struct):
    op: int
    d: msgspec.Raw


def protocol_error(what: str) -> SinkError:
    """Return the error to raise if a message of OBS doesn't follow the protocol."""
    return SinkError(f"OBS sent a message that is not of obs-websocket 5: {what}")


def authentication(password: str, salt: str, challenge: str) -> str:
    """Return the answer to the given challenge."""
    secret = base64.b64encode(hashlib.sha256((password + salt).encode()).digest())
    return base64.b64encode(hashlib.sha256(secret + challenge.encode()).digest()).decode()


class ObsSession:
    """The protocol of one connection."""

    def __init__(self, password: str | None) -> None:
        self._password = password
        self._version = ""
        self._identified = False
        self._ids = itertools.count(1)
        self._outgoing: list[bytes] = []

    def receive(self, message: bytes) -> Received | None:
        """Take a text message. If there's nothing interesting in it, this returns `None`.

        Raises `SinkError` if the message doesn't follow the protocol, and `PasswordMissing` if OBS asks for a password
        that we don't have.
        """
        return self._take(read_json(message, _Message, protocol_error))

    def request(self, kind: str, data: Mapping[str, Any] | None = None) -> str:
        """Send a request. Returns its id."""
        id = str(next(self._ids))
        self._put(Op.REQUEST, {"requestId": id, **_request(kind, data)})
        return id

    def batch(self, kinds: Sequence[str]) -> str:
        """Send several requests that don't need any data as a batch. Returns its id."""
        id = str(next(self._ids))
        self._put(Op.BATCH, {"requestId": id, "requests": [_request(kind, None) for kind in kinds]})
        return id

    def messages_to_send(self) -> list[bytes]:
        """Return the text messages that you should send, and forget them."""
        messages, self._outgoing = self._outgoing, []
        return messages

    def _take(self, envelope: _Message) -> Received | None:
        if envelope.op == Op.HELLO:
            self._identify(read_json(bytes(envelope.d), _Hello, protocol_error))
        elif envelope.op == Op.IDENTIFIED:
            self._identified = True
            return Identified(self._version)
        elif envelope.op == Op.EVENT and self._identified:
            event = read_json(bytes(envelope.d), _Event, protocol_error)
            return ObsEvent(event.event_type, event.event_data or {})
        elif envelope.op == Op.RESPONSE:
            return _answer(read_json(bytes(envelope.d), _Response, protocol_error))
        elif envelope.op == Op.BATCH_RESPONSE:
            batch = read_json(bytes(envelope.d), _BatchResponse, protocol_error)
            return BatchAnswer(batch.request_id, [_answer(result) for result in batch.results])
        return None

    def _identify(self, hello: _Hello) -> None:
        self._version = hello.version
        identify: dict[str, Any] = {"rpcVersion": RPC_VERSION, "eventSubscriptions": int(ALL_SUBSCRIPTIONS)}
        if hello.authentication is not None:
            if self._password is None:
                raise PasswordMissing("OBS asks for a password: set obs.password_file")
            salt, challenge = hello.authentication.salt, hello.authentication.challenge
            identify["authentication"] = authentication(self._password, salt, challenge)
        self._put(Op.IDENTIFY, identify)

    def _put(self, op: Op, d: Mapping[str, Any]) -> None:
        self._outgoing.append(msgspec.json.encode({"op": int(op), "d": d}))


def _request(kind: str, data: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"requestType": kind, **({} if data is None else {"requestData": data})}


def _answer(response: _Response) -> Answer:
    status = response.request_status
    return Answer(response.request_id, response.request_type, status.code, status.comment, response.response_data or {})
