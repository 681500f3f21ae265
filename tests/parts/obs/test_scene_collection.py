"""`slpstream obs-scenes` creates in OBS exactly the things that rules name and OBS lacks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from slpstream.parts.obs.rules import Actions, Rule
from slpstream.parts.obs.scene_collection import BROWSER_KIND, InObs, Plan, plan

RULES = (
    Rule(on="game_start", station="on-air", actions=Actions(scene="Game", text={"Score": "{score1}", "Players": ""})),
    Rule(on="game_end", station="on-air", actions=Actions(scene="Break")),
    Rule(on="set_end", station="tv1", actions=Actions(scene="Break", text={"Score": ""})),
    Rule(
        on="event", station="*", event="stock_lost", actions=Actions(in_scene="Game", show=("Camera",), hide=("Logo",))
    ),
    Rule(on="event", station="*", event="lap", actions=Actions(text={"Lap": "{event}"})),
)


def in_obs(
    *scenes: str, inputs: Collection[str] = (), kinds: Collection[str] = (BROWSER_KIND, "text_ft2_source_v2")
) -> InObs:
    return InObs(scenes=scenes, inputs=inputs, input_kinds=kinds, size=(1920, 1080))


EMPTY = in_obs("Scene")


def page(path: str, station: str) -> str:
    return f"http://127.0.0.1:5151/{path}/{station}"


def made(found: Plan) -> list[str]:
    return [request.words for request in found.requests]


def in_obs_after(found: Plan) -> InObs:
    """The contents of OBS after the requests, and after its user has created the rest."""
    scenes = {request.data["sceneName"] for request in found.requests if request.type == "CreateScene"}
    inputs = {request.data["inputName"] for request in found.requests if request.type == "CreateInput"}
    return in_obs("Scene", *scenes, inputs=inputs | {"Camera", "Logo", "Lap"})


def test_missing_things_are_created_once() -> None:
    found = plan(RULES, EMPTY, page)
    assert made(found) == [
        "scene Game",
        "browser source slpstream overlay with http://127.0.0.1:5151/overlay/on-air in the scene Game",
        "text source Score in the scene Game",
        "text source Players in the scene Game",
        "scene Break",
        "browser source slpstream game result with http://127.0.0.1:5151/scenes/game-result/on-air in the scene Break",
        "browser source slpstream set result with http://127.0.0.1:5151/scenes/set-result/tv1 in the scene Break",
    ]
    assert found.by_hand == [
        "source Camera, in the scene Game",
        "source Logo, in the scene Game",
        "text source Lap, in a scene of your choice",
    ]
    places = [request.place for request in found.requests if request.place is not None]
    assert len(set(places)) == 2, "texts are below each other"
    assert plan(RULES, in_obs_after(found), page) == ([], [])


def test_existing_things_are_not_created_again() -> None:
    obs = in_obs("Game", "Break", inputs={"Score", "slpstream overlay"})
    assert not any(
        words == "scene Game" or "Score" in words or "overlay" in words for words in made(plan(RULES, obs, page))
    )


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["text_gdiplus_v2", "text_gdiplus_v3"], "text_gdiplus_v3"),
        (["text_ft2_source_v2", "text_ft2_source"], "text_ft2_source_v2"),
    ],
)
def test_newest_kind_of_text_source(kinds: Sequence[str], expected: str) -> None:
    found = plan(RULES, in_obs("Scene", kinds=kinds), page)
    assert {request.data["inputKind"] for request in found.requests if request.type == "CreateInput"} == {expected}


def test_obs_without_browser_and_text_sources() -> None:
    found = plan(RULES[:1], in_obs("Scene", kinds=[]), page)
    assert made(found) == ["scene Game"]
    assert found.by_hand == [
        "this OBS has no browser source: http://127.0.0.1:5151/overlay/on-air belongs in the scene Game",
        "text source Score, in the scene Game",
        "text source Players, in the scene Game",
    ]


def test_stations_with_own_scenes_have_own_pages() -> None:
    rules = [Rule(on="game_start", station=name, actions=Actions(scene=f"Game {name}")) for name in ("a", "b")]
    assert [words for words in made(plan(rules, EMPTY, page)) if words.startswith("browser")] == [
        "browser source slpstream overlay a with http://127.0.0.1:5151/overlay/a in the scene Game a",
        "browser source slpstream overlay b with http://127.0.0.1:5151/overlay/b in the scene Game b",
    ]
