"""Compare how OBS should look with how it actually looks, and make requests to change it. This doesn't do any I/O
itself.

A *wish* is lasting. We keep it until OBS has carried it out, even if the connection is lost in between, and if OBS is
started again, it is carried out again. A momentary request (replay buffer, recording, chapter), on the other hand, is
either sent immediately or not at all.

OBS doesn't tell us who has changed the scene. So the desk remembers its own requests and when it made them, and
concludes that any other change was made by the producer. Such a change replaces the wish, and if rules want another
scene soon after it, they have to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from slpstream.model.errors import SinkError
from slpstream.model.foreign_data import converted
from slpstream.model.prepared import prepared
from slpstream.parts.obs.session import SUCCESS, Answer, ObsEvent, protocol_error

NOT_READY = 207
_ALREADY: Mapping[str, int] = {"StartRecord": 500, "StopRecord": 501}
"""Failures that mean that OBS has already done it."""
_NOT_READY_SECONDS = 1.0
_RETRY_SECONDS = 30.0
_MOMENT_SECONDS = 5.0
_ASKED_SECONDS = 15.0
"""A change of the scene this long after a request can be its effect: transitions take time."""
_SLACK_SECONDS = 1.0
_SLACK_SHARE = 0.02
"""How imprecise the estimate of how long OBS runs may be."""
_MENDING = frozenset(
    {
        "CurrentSceneCollectionChanged",
        "InputCreated",
        "InputNameChanged",
        "SceneCreated",
        "SceneItemCreated",
        "SceneListChanged",
        "SceneNameChanged",
        "StudioModeStateChanged",
    }
)
"""Events after which a request that has failed can succeed."""

START_REQUESTS = ("GetVersion", "GetSceneList", "GetVideoSettings", "GetStats")
"""Sent as a batch after each handshake, for `Desk.connected`."""


@prepared
class _Version(msgspec.Struct, rename="camel"):
    available_requests: list[str] = []


@prepared
class _SceneList(msgspec.Struct, rename="camel"):
    current_program_scene_name: str | None = None


@prepared
class _Video(msgspec.Struct, rename="camel"):
    fps_numerator: float | None = None
    fps_denominator: float | None = None


@prepared
class _Stats(msgspec.Struct, rename="camel"):
    render_total_frames: float | None = None


@prepared
class _SceneItem(msgspec.Struct, rename="camel"):
    scene_item_id: int


@prepared
class _Scene(msgspec.Struct, rename="camel"):
    scene_name: str


class WishKey(NamedTuple):
    """Identifies the thing that a wish is about: `scene`, `preview`, an `item` of a scene, or a `text`."""

    kind: str
    scene: str = ""
    source: str = ""


class Wish(msgspec.Struct):
    """A lasting wish. It also knows whether OBS has already carried it out."""

    value: str | bool
    done: bool = False


class Kept(msgspec.Struct):
    """Everything that has to survive a restart of the daemon. Times are Unix times."""

    wishes: list[tuple[str, str, str, str | bool, bool]] = []
    respected_until: float = 0.0
    connected_at: float | None = None
    """Start of the last connection."""


class ObsRequest(NamedTuple):
    """A request that should be sent. `key` is the wish that it belongs to, or `None` if it is a momentary request."""

    type: str
    data: Mapping[str, Any]
    key: WishKey | None = None
    value: str | bool = ""
    until: float = 0.0
    """How long a momentary request is of use while OBS is not ready."""


class Desk:
    """The wishes for one OBS, and everything that we know about it."""

    def __init__(
        self,
        *,
        respect_seconds: float,
        clock: Callable[[], float],
        on_problem: Callable[[str, str], None] = lambda subject, what: None,
        on_outcome: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """`clock` returns the Unix time.

        When a request begins to fail, `on_problem` is called once, with the thing that it is about and the reason.
        `on_outcome` is called for each request, with `done`, `failed` or `missed`.
        """
        self._respect_seconds = respect_seconds
        self._clock = clock
        self._on_problem = on_problem
        self._on_outcome = on_outcome
        self._wishes: dict[WishKey, Wish] = {}
        self._momentary: list[ObsRequest] = []
        self._later: list[tuple[float, ObsRequest]] = []
        """Momentary requests for which OBS was not ready, with the time of the next attempt."""
        self._sent: dict[str, ObsRequest] = {}
        self._retry_at: dict[WishKey, float] = {}
        self._items: dict[WishKey, int] = {}
        """The ids of scene items, which OBS reassigns for each collection of scenes."""
        self._asked: list[tuple[str, float]] = []
        """Scenes that were asked for, with the time of the request."""
        self._program = ""
        self._respected_until = 0.0
        self._connected_at: float | None = None
        self._requests: frozenset[str] = frozenset()
        self.is_connected = False
        self.problems: dict[str, str] = {}
        """Why OBS has refused requests, by their subject, until one succeeds."""

    def load(self, kept: Kept, known: Callable[[WishKey], bool]) -> None:
        """Load everything that an earlier run has kept.

        If a wish isn't `known`, it belongs to a rule that doesn't exist any more, so we ignore it.
        """
        for kind, scene, source, value, done in kept.wishes:
            if known(WishKey(kind, scene, source)):
                self._wishes.setdefault(WishKey(kind, scene, source), Wish(value, done))
        self._respected_until, self._connected_at = kept.respected_until, kept.connected_at

    def keep(self) -> Kept:
        """Return the state that you should `load` after a restart."""
        wishes = [(*key, wish.value, wish.done) for key, wish in self._wishes.items()]
        return Kept(wishes, self._respected_until, self._connected_at)

    def wish(self, key: WishKey, value: str | bool, *, again: bool = True) -> None:
        """Note that from now on, OBS should have this value.

        It is sent even if OBS had this value before, because people might have changed something in OBS. If you don't
        want this, pass `again=False`.
        """
        wish = self._wishes.get(key)
        if again or wish is None or wish.value != value:
            self._wishes[key] = Wish(value)
            self._retry_at.pop(key, None)

    def ask(self, type: str, **data: Any) -> None:
        """Send a momentary request. If that isn't possible right now, it is never sent."""
        if self.is_connected:
            self._momentary.append(ObsRequest(type, data, until=self._clock() + _MOMENT_SECONDS))
        else:
            self._on_outcome("missed")

    def connected(self, answers: Sequence[Answer]) -> str | None:
        """Take the answers to `START_REQUESTS`. If OBS can't be used yet, this returns the reason, and otherwise
        `None`.

        If OBS was started since the last connection, all wishes are carried out again. If it wasn't, and there's
        another scene than before, the producer has chosen it. Raises `SinkError` if the answers don't follow the
        protocol.
        """
        data = {answer.type: answer.data for answer in answers if answer.code == SUCCESS}
        if "GetSceneList" not in data or "GetVersion" not in data:
            return next((_words(answer) for answer in answers if answer.code != SUCCESS), "OBS answered incompletely")
        requests = converted(data["GetVersion"], _Version, protocol_error).available_requests
        program = converted(data["GetSceneList"], _SceneList, protocol_error).current_program_scene_name
        video = converted(data.get("GetVideoSettings", {}), _Video, protocol_error)
        stats = converted(data.get("GetStats", {}), _Stats, protocol_error)
        uptime_seconds, now = _uptime_seconds(video, stats), self._clock()
        self.is_connected = True
        self._requests = frozenset(requests)
        self._program = program or ""
        scene = self._wishes.get(WishKey("scene"))
        if not self._ran_since_last_time(uptime_seconds, now):
            for wish in self._wishes.values():
                wish.done = False
        elif scene is not None and scene.done and scene.value != self._program:
            self._respect(now)
        self._connected_at = now
        return None

    def _ran_since_last_time(self, uptime_seconds: float | None, now: float) -> bool:
        """Whether OBS has been running since the last connection."""
        if uptime_seconds is None or self._connected_at is None:
            return False
        since = now - self._connected_at
        if since < 0:
            return False  # the clock was set back, so this is not known
        return uptime_seconds + max(_SLACK_SECONDS, _SLACK_SHARE * since) >= since

    def disconnected(self) -> None:
        """Note that the connection was lost. Wishes without an answer are sent again, but momentary requests aren't."""
        lost = sum(request.key is None for request in (*self._sent.values(), *self._momentary)) + len(self._later)
        for _ in range(lost):
            self._on_outcome("missed")
        self.is_connected = False
        self._momentary.clear()
        self._later.clear()
        self._sent.clear()
        self._retry_at.clear()
        self._items.clear()

    def due(self) -> list[ObsRequest]:
        """Return the requests that you should send now. When you have sent one of them, pass its id to `sent`."""
        if not self.is_connected:
            return []
        now = self._clock()
        requests, self._momentary = [each for each in self._momentary if self._is_possible(each)], []
        requests += [request for at, request in self._later if at <= now]
        self._later = [(at, request) for at, request in self._later if at > now]
        waiting = {request.key for request in self._sent.values()}
        for key, wish in self._wishes.items():
            if wish.done or key in waiting or now < self._due_at(key):
                continue
            if key.kind == "scene" and wish.value == self._program:
                wish.done = True
                continue
            requests.append(self._request(key, wish.value))
        return requests

    def next_due_at(self) -> float | None:
        """Return when `due` will have something to send even if no other message arrives, or `None` if that is
        never.
        """
        if not self.is_connected:
            return None
        waiting = {request.key for request in self._sent.values()}
        times = [self._due_at(key) for key, wish in self._wishes.items() if not wish.done and key not in waiting]
        return min([*times, *(at for at, _ in self._later)], default=None)

    def sent(self, id: str, request: ObsRequest) -> None:
        """Note that a request was sent with this id."""
        self._sent[id] = request
        if request.type == "SetCurrentProgramScene":
            self._asked.append((str(request.value), self._clock()))

    def answered(self, answer: Answer) -> None:
        """Take the answer to a request."""
        request = self._sent.pop(answer.id, None)
        if request is None:
            return
        subject = _subject(request)
        now = self._clock()
        if answer.code == SUCCESS or answer.code == _ALREADY.get(request.type):
            try:
                self._succeeded(request, answer)
            except SinkError as error:
                if request.key is not None:
                    self._retry_at[request.key] = now + _RETRY_SECONDS
                self._failed(subject, error.what)
            else:
                self.problems.pop(subject, None)
            return
        if answer.code == NOT_READY and request.key is not None:
            self._retry_at[request.key] = now + _NOT_READY_SECONDS
            return
        if answer.code == NOT_READY and now < request.until:
            self._later.append((now + _NOT_READY_SECONDS, request))
            return
        if request.key is not None:
            self._retry_at[request.key] = now + _RETRY_SECONDS
        if request.type == "SetCurrentProgramScene":
            self._asked = [asked for asked in self._asked if asked[0] != request.value]
        if request.key is not None:
            self._items.pop(request.key, None)
        self._failed(subject, _words(answer))

    def happened(self, event: ObsEvent) -> None:
        """Take an event. Raises `SinkError` if it doesn't follow the protocol."""
        if event.type == "CurrentProgramSceneChanged":
            self._scene_changed(converted(event.data, _Scene, protocol_error).scene_name)
        elif event.type in _MENDING:
            self._retry_at.clear()
            pending = {_subject(self._request(key, wish.value)) for key, wish in self._wishes.items() if not wish.done}
            self.problems = {subject: what for subject, what in self.problems.items() if subject in pending}
            if event.type == "CurrentSceneCollectionChanged":
                self._items.clear()
                for key, wish in self._wishes.items():
                    wish.done = wish.done and key.kind not in ("item", "text")
        elif event.type in ("ReplayBufferStateChanged", "RecordStateChanged"):
            for subject in ("replay buffer", "recording", "chapter"):
                self.problems.pop(subject, None)

    def _due_at(self, key: WishKey) -> float:
        # No wait is longer than it was meant to be, also after the clock was set back.
        now = self._clock()
        at = min(self._retry_at.get(key, 0.0), now + _RETRY_SECONDS)
        self._respected_until = min(self._respected_until, now + self._respect_seconds)
        return max(at, self._respected_until) if key.kind == "scene" else at

    def _scene_changed(self, scene: str) -> None:
        now = self._clock()
        self._asked = [(name, at) for name, at in self._asked if now - at < _ASKED_SECONDS]
        names = [name for name, _ in self._asked]
        if scene in names:
            newest = len(names) - 1 - names[::-1].index(scene)
            self._asked = self._asked[newest + 1 :]
            if not self._asked:
                self._program = scene
        elif scene != self._program:  # leaving studio mode reports the scene that is shown anyway
            self._program = scene
            self._respect(now)

    def _respect(self, now: float) -> None:
        """Forget the wish, because the producer has chosen the scene, and make the next one wait."""
        self._wishes.pop(WishKey("scene"), None)
        self._respected_until = now + self._respect_seconds

    def _request(self, key: WishKey, value: str | bool) -> ObsRequest:
        if key.kind == "item":
            return self._item_request(key, value)
        requests: Mapping[str, tuple[str, Mapping[str, Any]]] = {
            "scene": ("SetCurrentProgramScene", {"sceneName": value}),
            "preview": ("SetCurrentPreviewScene", {"sceneName": value}),
            "text": ("SetInputSettings", {"inputName": key.source, "inputSettings": {"text": value}, "overlay": True}),
        }
        return ObsRequest(*requests[key.kind], key, value)

    def _item_request(self, key: WishKey, value: str | bool) -> ObsRequest:
        id = self._items.get(key)
        if id is None:
            return ObsRequest("GetSceneItemId", {"sceneName": key.scene, "sourceName": key.source}, key, value)
        data = {"sceneName": key.scene, "sceneItemId": id, "sceneItemEnabled": value}
        return ObsRequest("SetSceneItemEnabled", data, key, value)

    def _is_possible(self, request: ObsRequest) -> bool:
        if not self._requests or request.type in self._requests:
            return True
        self._failed(_subject(request), f"this OBS does not have {request.type}; a newer one may")
        return False

    def _succeeded(self, request: ObsRequest, answer: Answer) -> None:
        """Note that a request has succeeded. Raises `SinkError` if the answer doesn't follow the protocol."""
        key = request.key
        if request.type == "GetSceneItemId" and key is not None:
            self._items[key] = converted(answer.data, _SceneItem, protocol_error).scene_item_id
            return
        self._on_outcome("done")
        if key is None:
            return
        wish = self._wishes.get(key)
        if key.kind == "scene":
            self._program = str(request.value)
        if wish is not None and wish.value == request.value:
            wish.done = True

    def _failed(self, subject: str, what: str) -> None:
        self._on_outcome("failed")
        if self.problems.get(subject) != what:
            self.problems[subject] = what
            self._on_problem(subject, what)


def _uptime_seconds(video: _Video, stats: _Stats) -> float | None:
    """Return how long OBS has been running, which follows from the frames that it has rendered (including late ones).

    If we don't know this, the result is `None`.
    """
    numerator, denominator, frames = video.fps_numerator, video.fps_denominator, stats.render_total_frames
    return frames * denominator / numerator if numerator and denominator and frames is not None else None


def _subject(request: ObsRequest) -> str:
    """Return what a request is about, in words for people."""
    if request.key is None:
        return {"SaveReplayBuffer": "replay buffer", "CreateRecordChapter": "chapter"}.get(request.type, "recording")
    kind, scene, source = request.key
    return {
        "scene": f"scene {str(request.value)!r}",
        "preview": f"preview of scene {str(request.value)!r}",
        "item": f"source {source!r} in scene {scene!r}",
        "text": f"text source {source!r}",
    }[kind]


def _words(answer: Answer) -> str:
    return f"{answer.comment or 'refused'} ({answer.code})"
