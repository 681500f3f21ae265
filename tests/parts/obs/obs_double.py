"""A stand-in for OBS that checks every request against obs-websocket's documentation.

It imitates obs-websocket 5.1.0 (Debian's OBS 29.0.2) as documented in `../shared/formats/production.md`: the handshake
with its close codes, required fields and their types, status codes, and the events of scenes and outputs. The event of
a scene change is sent at the end of the transition; a switch to the current scene sends no event; a killed OBS sends no
close frame.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio
from trio.testing import memory_stream_pair
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

SALT, CHALLENGE = "c2FsdA==", "Y2hhbGxlbmdl"
REQUIRED: Mapping[str, Mapping[str, type]] = {
    "GetVersion": {},
    "GetSceneList": {},
    "GetVideoSettings": {},
    "GetStats": {},
    "SetCurrentProgramScene": {"sceneName": str},
    "SetCurrentPreviewScene": {"sceneName": str},
    "GetSceneItemId": {"sceneName": str, "sourceName": str},
    "SetSceneItemEnabled": {"sceneName": str, "sceneItemId": int, "sceneItemEnabled": bool},
    "SetInputSettings": {"inputName": str, "inputSettings": dict},
    "SaveReplayBuffer": {},
    "StartRecord": {},
    "StopRecord": {},
    "CreateRecordChapter": {},
}
OPTIONAL: Mapping[str, Mapping[str, type]] = {
    "SetInputSettings": {"overlay": bool},
    "GetSceneItemId": {"searchOffset": int},
    "CreateRecordChapter": {"chapterName": str},
}
FPS = 60


class Refused(Exception):
    """A request that OBS answers with a failure."""

    def __init__(self, code: int, comment: str) -> None:
        super().__init__(comment)
        self.code, self.comment = code, comment


class FakeObs:
    """An OBS that can be started, killed, and used by a producer. `connect` replaces a TCP connection."""

    def __init__(self, clock: Callable[[], float], *, password: str | None = None, transition_seconds: float = 0.0):
        self.clock = clock
        self.password = password
        self.transition_seconds = transition_seconds
        self.lacks = {"CreateRecordChapter"}
        self.scenes = ["Break", "Game", "Result"]
        self.items: dict[tuple[str, str], list[Any]] = {("Game", "Camera"): [7, True], ("Game", "Logo"): [9, False]}
        self.texts: dict[str, str] = {"Players": "", "Score": ""}
        self.program = "Break"
        self.shown: list[str] = []
        """Every change of the program scene, by any client."""
        self.saved_at_start = "Break"
        self.replay_buffer_runs = True
        self.saved_replays = 0
        self.recording = False
        self.chapters: list[str] = []
        self.not_ready = False
        self.is_running = False
        self.connections = 0
        self.requests: list[tuple[str, Mapping[str, Any]]] = []
        self.complaints: list[str] = []
        self._started_at = 0.0
        self._clients: list[_Client] = []
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve connections until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            await trio.sleep_forever()

    def start(self) -> None:
        """Start the program. It shows the last saved scene, here the first one."""
        self.is_running = True
        self._started_at = self.clock()
        self.program = self.saved_at_start

    def kill(self) -> None:
        """Kill the program."""
        self.is_running = False
        for client in self._clients:
            client.drop()
        self._clients.clear()

    def kick(self, code: int = 4011) -> None:
        """Close all connections with a code."""
        for client in self._clients:
            client.close(code)
        self._clients.clear()

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        """Connect to this OBS."""
        await trio.lowlevel.checkpoint()
        if not self.is_running:
            raise OSError("Connection refused")
        assert self._nursery is not None
        self.connections += 1
        ours, theirs = memory_stream_pair()
        client = _Client(self, theirs)
        self._clients.append(client)
        self._nursery.start_soon(client.serve)
        return ours

    def choose(self, scene: str) -> None:
        """Choose a scene like the producer."""
        self._show(scene)

    def emit(self, kind: str, **data: Any) -> None:
        """Send an event to all clients."""
        for client in self._clients:
            client.send(5, {"eventType": kind, "eventIntent": 1, "eventData": data})

    def answer(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a request. Raises `Refused`."""
        self.requests.append((kind, data))
        if kind not in REQUIRED or kind in self.lacks:
            raise Refused(204, "Your request type is not valid.")
        self._check(kind, data)
        if self.not_ready and not kind.startswith("GetVersion"):
            raise Refused(207, "OBS is not ready to perform the request.")
        method: Callable[[Mapping[str, Any]], dict[str, Any] | None] = getattr(self, f"_{kind}")
        return method(data) or {}

    def _check(self, kind: str, data: Mapping[str, Any]) -> None:
        for name, expected in REQUIRED[kind].items():
            if name not in data:
                self.complaints.append(f"{kind} without {name}")
                raise Refused(300, f"Your request is missing the `{name}` field.")
            if not isinstance(data[name], expected) or (expected is int and isinstance(data[name], bool)):
                self.complaints.append(f"{kind}: {name} is not {expected}")
                raise Refused(401, f"The field value of `{name}` must be of another type.")
        for name in data.keys() - REQUIRED[kind].keys():
            if name not in OPTIONAL.get(kind, {}):
                self.complaints.append(f"{kind}: unknown field {name}")

    def _GetVersion(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {"obsWebSocketVersion": "5.1.0", "availableRequests": sorted(REQUIRED.keys() - self.lacks)}

    def _GetSceneList(self, data: Mapping[str, Any]) -> dict[str, Any]:
        scenes = [{"sceneIndex": i, "sceneName": name} for i, name in enumerate(reversed(self.scenes))]
        return {"currentProgramSceneName": self.program, "currentPreviewSceneName": None, "scenes": scenes}

    def _GetStats(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {"activeFps": 0.0, "renderTotalFrames": round((self.clock() - self._started_at) * FPS)}

    def _GetVideoSettings(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {"fpsNumerator": FPS, "fpsDenominator": 1}

    def _SetCurrentProgramScene(self, data: Mapping[str, Any]) -> None:
        if data["sceneName"] not in self.scenes:
            raise Refused(600, f"No source was found by the name of `{data['sceneName']}`.")
        self._show(data["sceneName"])

    def _SetCurrentPreviewScene(self, data: Mapping[str, Any]) -> None:
        raise Refused(506, "Studio mode is not enabled.")

    def _GetSceneItemId(self, data: Mapping[str, Any]) -> dict[str, Any]:
        item = self.items.get((data["sceneName"], data["sourceName"]))
        if item is None:
            raise Refused(600, "No scene items were found in the specified scene by that name or offset.")
        return {"sceneItemId": item[0]}

    def _SetSceneItemEnabled(self, data: Mapping[str, Any]) -> None:
        found = [
            item
            for (scene, _), item in self.items.items()
            if (scene, item[0]) == (data["sceneName"], data["sceneItemId"])
        ]
        if not found:
            raise Refused(600, "No scene items were found in the specified scene with that id.")
        found[0][1] = data["sceneItemEnabled"]

    def _SetInputSettings(self, data: Mapping[str, Any]) -> None:
        if data["inputName"] not in self.texts:
            raise Refused(600, f"No source was found by the name of `{data['inputName']}`.")
        self.texts[data["inputName"]] = data["inputSettings"]["text"]

    def _SaveReplayBuffer(self, data: Mapping[str, Any]) -> None:
        if not self.replay_buffer_runs:
            raise Refused(501, "Output is not running.")
        self.saved_replays += 1

    def _StartRecord(self, data: Mapping[str, Any]) -> None:
        if self.recording:
            raise Refused(500, "Output is already running.")
        self.recording = True

    def _StopRecord(self, data: Mapping[str, Any]) -> dict[str, Any]:
        if not self.recording:
            raise Refused(501, "Output is not running.")
        self.recording = False
        return {"outputPath": "/tmp/video.mkv"}

    def _CreateRecordChapter(self, data: Mapping[str, Any]) -> None:
        self.chapters.append(data.get("chapterName", ""))

    def _show(self, scene: str) -> None:
        if scene == self.program:
            return
        self.program = scene
        self.shown.append(scene)
        assert self._nursery is not None
        self._nursery.start_soon(self._end_transition, scene)

    async def _end_transition(self, scene: str) -> None:
        await trio.sleep(self.transition_seconds)
        self.emit("CurrentProgramSceneChanged", sceneName=scene)


class _Client:
    """OBS's end of a connection."""

    def __init__(self, obs: FakeObs, stream: trio.abc.Stream) -> None:
        self._obs = obs
        self._stream = stream
        self._protocol = ServerProtocol(subprotocols=[Subprotocol("obswebsocket.json")])
        self._identified = False
        self._work = trio.Event()
        self._dropped = False

    def drop(self) -> None:
        """Disconnect without a close frame."""
        self._dropped = True
        self._work.set()

    def close(self, code: int) -> None:
        self._protocol.send_close(code, "")
        self._work.set()

    def send(self, op: int, d: Mapping[str, Any]) -> None:
        if self._protocol.state is State.OPEN and (self._identified or op != 5):
            self._protocol.send_text(msgspec.json.encode({"op": op, "d": d}))
            self._work.set()

    async def serve(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read)
            while not self._dropped:
                await self._work.wait()
                self._work = trio.Event()
                parts = self._protocol.data_to_send()
                data = b"".join(parts)
                try:
                    if data and not self._dropped:
                        await self._stream.send_all(data)
                except trio.BrokenResourceError:
                    break
                if SEND_EOF in parts:
                    break
            nursery.cancel_scope.cancel()
        await self._stream.aclose()

    async def _read(self) -> None:
        while True:
            data = await self._stream.receive_some()
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for event in self._protocol.events_received():
                if isinstance(event, Request):
                    self._protocol.send_response(self._protocol.accept(event))
                    hello: dict[str, Any] = {"obsWebSocketVersion": "5.1.0", "rpcVersion": 1}
                    if self._obs.password is not None:
                        hello["authentication"] = {"challenge": CHALLENGE, "salt": SALT}
                    self.send(0, hello)
                elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    self._take(msgspec.json.decode(event.data))
            self._work.set()
            if not data:
                self._dropped = True
                return

    def _take(self, message: Mapping[str, Any]) -> None:
        op, d = message["op"], message["d"]
        if op == 1:
            self._identify(d)
        elif not self._identified:
            self.close(4007)
        elif op == 6:
            self.send(7, self._respond(d))
        elif op == 8:
            results = [self._respond(request) for request in d["requests"]]
            self.send(9, {"requestId": d["requestId"], "results": results})
        else:
            self._obs.complaints.append(f"op {op}")
            self.close(4006)

    def _identify(self, d: Mapping[str, Any]) -> None:
        if self._identified:
            self.close(4008)
        elif d.get("rpcVersion") != 1:
            self.close(4010)
        elif self._obs.password is not None and d.get("authentication") != expected(self._obs.password):
            self.close(4009)
        else:
            self._identified = True
            self.send(2, {"negotiatedRpcVersion": 1})

    def _respond(self, request: Mapping[str, Any]) -> dict[str, Any]:
        kind = request["requestType"]
        response: dict[str, Any] = {"requestType": kind, "requestId": request.get("requestId", "")}
        try:
            data = self._obs.answer(kind, request.get("requestData", {}))
        except Refused as refused:
            status = {"result": False, "code": refused.code, "comment": refused.comment}
            return response | {"requestStatus": status}
        return response | {"requestStatus": {"result": True, "code": 100}} | ({"responseData": data} if data else {})


def expected(password: str) -> str:
    """The authentication string, computed step by step like in the protocol's documentation."""
    secret = base64.b64encode(hashlib.sha256(f"{password}{SALT}".encode()).digest()).decode()
    return base64.b64encode(hashlib.sha256(f"{secret}{CHALLENGE}".encode()).digest()).decode()
