"""A stand-in for every other program that outputs connect to: web servers that accept everything, and OBS.

The OBS has every scene and source. It doesn't ask for a password, and every request succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import h11
import msgspec
import trio
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import read_json

_READ_BYTES = 65536
_MAX_HEAD_BYTES = 65536
_TLS = b"\x16"
"""The first byte of an encrypted connection."""
_FIRST_SCENE = "(before the rehearsal)"
_OBS_REQUESTS = (
    "GetVersion", "GetSceneList", "GetVideoSettings", "GetStats", "SetCurrentProgramScene", "SetCurrentPreviewScene",
    "GetSceneItemId", "SetSceneItemEnabled", "SetInputSettings", "SaveReplayBuffer", "StartRecord", "StopRecord",
    "CreateRecordChapter",
)  # fmt: skip

Note = Callable[[str, str, Any], None]
"""Takes note of something that was sent: the path, the method or request, and the content."""


async def serve(stream: trio.abc.Stream, note: Note) -> None:
    """Serve one connection, whatever its protocol is."""
    try:
        await _serve(stream, note)
    except (trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError, ProtocolViolation):
        await trio.aclose_forcefully(stream)


async def _serve(stream: trio.abc.Stream, note: Note) -> None:
    head = bytearray()
    while b"\r\n\r\n" not in head:
        data = bytes(await stream.receive_some(_READ_BYTES))
        head += data
        if head.startswith(_TLS):
            note("", "connects with encryption; the content cannot be shown", None)
            return
        if not data or len(head) > _MAX_HEAD_BYTES:
            return
    if b"upgrade: websocket" in bytes(head).lower():
        await _Obs(stream, note).run(bytes(head))
    else:
        await _answer_requests(stream, bytes(head), note)


async def _answer_requests(stream: trio.abc.Stream, data: bytes, note: Note) -> None:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    body, method, path = bytearray(), "", ""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(_READ_BYTES)))
        elif isinstance(event, h11.Request):
            method, path = event.method.decode("ascii", "replace"), event.target.decode("ascii", "replace")
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            break
        else:
            return
    note(path, method, _content(bytes(body)))
    head = h11.Response(status_code=200, headers=[("content-type", "application/json"), ("connection", "close")])
    sent = (connection.send(head) or b"") + (connection.send(h11.Data(data=b"{}")) or b"")
    await stream.send_all(sent + (connection.send(h11.EndOfMessage()) or b""))
    await stream.aclose()


def _content(body: bytes) -> Any:
    try:
        return read_json(body, object, ProtocolViolation)
    except ProtocolViolation:
        return body.decode("utf-8", "replace")


class _Obs:
    """One connection to the stand-in for OBS, by version 5 of obs-websocket."""

    def __init__(self, stream: trio.abc.Stream, note: Note) -> None:
        self._stream = stream
        self._note = note
        self._protocol = ServerProtocol(subprotocols=[Subprotocol("obswebsocket.json")])
        self._program = _FIRST_SCENE

    async def run(self, data: bytes) -> None:
        while data:
            self._protocol.receive_data(data)
            for event in self._protocol.events_received():
                if isinstance(event, Request):
                    self._protocol.send_response(self._protocol.accept(event))
                    self._send(0, {"obsWebSocketVersion": "5.1.0", "rpcVersion": 1})
                elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    self._take(read_json(bytes(event.data), dict[str, Any], ProtocolViolation))
            await self._stream.send_all(b"".join(self._protocol.data_to_send()))
            data = bytes(await self._stream.receive_some(_READ_BYTES))

    def _send(self, op: int, content: Mapping[str, Any]) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_text(msgspec.json.encode({"op": op, "d": content}))

    def _take(self, message: Mapping[str, Any]) -> None:
        op, content = message["op"], message["d"]
        if op == 1:
            self._send(2, {"negotiatedRpcVersion": 1})
        elif op == 6:
            self._send(7, self._response(content))
        elif op == 8:
            results = [self._response(request) for request in content["requests"]]
            self._send(9, {"requestId": content["requestId"], "results": results})

    def _response(self, request: Mapping[str, Any]) -> dict[str, Any]:
        kind, data = request["requestType"], request.get("requestData", {})
        if not kind.startswith("Get"):
            self._note("", kind, data)
        answers: dict[str, Mapping[str, Any]] = {
            "GetVersion": {"obsWebSocketVersion": "5.1.0", "availableRequests": _OBS_REQUESTS},
            "GetSceneList": {"currentProgramSceneName": self._program, "scenes": []},
            "GetSceneItemId": {"sceneItemId": 1},
        }
        if kind == "SetCurrentProgramScene":
            self._program = data["sceneName"]
            self._send(5, {"eventType": "CurrentProgramSceneChanged", "eventIntent": 4, "eventData": data})
        status = {"result": True, "code": 100}
        answer = {"requestType": kind, "requestId": request.get("requestId", ""), "requestStatus": status}
        return answer | ({"responseData": answers[kind]} if kind in answers else {})
