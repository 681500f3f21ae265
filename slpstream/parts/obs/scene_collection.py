"""Find out which scenes, text sources and browser sources with slpstream's pages the rules need, but are missing in
OBS.

Things that already exist are never changed. If a rule only shows or hides a source, it can be of any kind, so the
producer has to make it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from slpstream.model.foreign_data import converted
from slpstream.model.prepared import prepared
from slpstream.parts.obs.client import ObsClient
from slpstream.parts.obs.rules import Rule
from slpstream.parts.obs.session import protocol_error

T = TypeVar("T")

BROWSER_KIND = "browser_source"
_TEXT_KINDS = ("text_gdiplus_v3", "text_gdiplus_v2", "text_gdiplus", "text_ft2_source_v2", "text_ft2_source")
"""Kinds of text sources, of Windows and of other systems, the newest first."""
_PAGES: Mapping[str, tuple[str, str]] = {
    "game_start": ("slpstream overlay", "overlay"),
    "game_end": ("slpstream game result", "scenes/game-result"),
    "set_end": ("slpstream set result", "scenes/set-result"),
    "station_idle": ("slpstream up next", "scenes/up-next"),
}
"""By the occasion whose rule names a scene: the source in it, and its page."""
_TEXT_PIXELS = 48
"""Height of texts, and distance of their lines, in a picture of 1080 lines."""


class Request(NamedTuple):
    """A request to OBS, together with a description of its effect in words."""

    type: str
    data: Mapping[str, Any]
    words: str
    place: tuple[float, float] | None = None
    """Where the source is put in the picture, in pixels from its left upper corner; `None` leaves it there."""


class InObs(NamedTuple):
    """The things that already exist in OBS."""

    scenes: Collection[str]
    inputs: Collection[str]
    """Names of sources other than scenes. OBS gives no name twice."""
    input_kinds: Collection[str]
    size: tuple[int, int]
    """Width and height of its picture in pixels."""


class _Scene(msgspec.Struct, rename="camel"):
    scene_name: str


class _Input(msgspec.Struct, rename="camel"):
    input_name: str


@prepared
class _Scenes(msgspec.Struct):
    scenes: list[_Scene]


@prepared
class _Inputs(msgspec.Struct):
    inputs: list[_Input]


@prepared
class _InputKinds(msgspec.Struct, rename="camel"):
    input_kinds: list[str]


@prepared
class _Picture(msgspec.Struct, rename="camel"):
    base_width: int
    base_height: int


def in_obs(obs: ObsClient) -> InObs:
    """Ask OBS about the things that exist in it. This blocks, and raises `SinkError` if it fails."""

    def answer(kind: str, described: type[T]) -> T:
        return converted(obs.ask(kind), described, protocol_error)

    picture = answer("GetVideoSettings", _Picture)
    return InObs(
        scenes={each.scene_name for each in answer("GetSceneList", _Scenes).scenes},
        inputs={each.input_name for each in answer("GetInputList", _Inputs).inputs},
        input_kinds=set(answer("GetInputKindList", _InputKinds).input_kinds),
        size=(picture.base_width, picture.base_height),
    )


class Plan(NamedTuple):
    """Requests to OBS, and a list of those things that only its user can make."""

    requests: Sequence[Request]
    by_hand: Sequence[str]


def plan(rules: Sequence[Rule], obs: InObs, page: Callable[[str, str], str]) -> Plan:
    """Find out which things are missing. `page` makes the address of a page, given its path and a station."""
    requests: list[Request] = []
    by_hand: list[str] = []
    scenes, inputs = set(obs.scenes), set(obs.inputs)
    lines: dict[str, int] = {}
    text_kind = next((kind for kind in _TEXT_KINDS if kind in obs.input_kinds), None)
    for rule in rules:
        actions = rule.actions
        for scene in (actions.scene, actions.preview, actions.in_scene):
            if scene and scene not in scenes:
                scenes.add(scene)
                requests.append(Request("CreateScene", {"sceneName": scene}, f"scene {scene}"))
        name, path = _PAGES.get(rule.on, ("", ""))
        if len({other.station for other in rules if other.on == rule.on and other.actions.scene}) > 1:
            name = name and f"{name} {rule.station}"
        if name and actions.scene and name not in inputs:
            address = page(path, rule.station)
            inputs.add(name)
            if BROWSER_KIND in obs.input_kinds:
                requests.append(_browser(actions.scene, name, address, obs.size))
            else:
                by_hand.append(f"this OBS has no browser source: {address} belongs in the scene {actions.scene}")
        home = actions.scene or actions.in_scene
        for source in actions.text:
            if source in inputs:
                continue
            inputs.add(source)
            if text_kind is None or not home:
                where = f"in the scene {home}" if home else "in a scene of your choice"
                by_hand.append(f"text source {source}, {where}")
                continue
            lines[home] = lines.get(home, 0) + 1
            requests.append(_text(home, source, text_kind, lines[home], obs.size))
        for source in (*actions.show, *actions.hide):
            if source not in inputs | scenes:
                inputs.add(source)
                by_hand.append(f"source {source}, in the scene {actions.in_scene}")
    return Plan(requests, by_hand)


def _browser(scene: str, name: str, address: str, size: tuple[int, int]) -> Request:
    settings = {"url": address, "width": size[0], "height": size[1], "shutdown": False, "restart_when_active": False}
    return _input(scene, name, BROWSER_KIND, settings, f"browser source {name} with {address} in the scene {scene}")


def _text(scene: str, name: str, kind: str, line: int, size: tuple[int, int]) -> Request:
    pixels = max(8, _TEXT_PIXELS * size[1] // 1080)
    settings = {"text": name, "font": {"face": "Sans", "style": "Bold", "size": pixels}}
    request = _input(scene, name, kind, settings, f"text source {name} in the scene {scene}")
    return request._replace(place=(size[0] * 0.05, pixels * (1.5 * line - 0.5)))


def _input(scene: str, name: str, kind: str, settings: Mapping[str, Any], words: str) -> Request:
    data = {
        "sceneName": scene,
        "inputName": name,
        "inputKind": kind,
        "inputSettings": settings,
        "sceneItemEnabled": True,
    }
    return Request("CreateInput", data, words)
