"""Pictures of characters and stages: the bundled glyphs, and the user's own, which take precedence."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from slpstream.formats.slippi import names
from slpstream.parts.pictures.own_pictures import OwnPictures, own_pictures
from slpstream.web.app import STATIC
from tests.browsers.pages import open_page
from tests.web.served import served
from tests.web.static_site import BASE, serve_static

GLYPHS: dict[str, dict[str, str]] = json.loads((STATIC / "icons" / "glyphs.json").read_text(encoding="utf-8"))
STYLESHEET = '<link rel="stylesheet" href="/static/icons/icons.css">'
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _ids(table: str) -> list[int]:
    return [int(key) for key in json.loads((names.FOLDER / f"{table}.json").read_text(encoding="utf-8"))["rows"]]


CHARACTERS = _ids("characters")
STAGES = _ids("stages")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with open_page(browser, viewport={"width": 1000, "height": 800}) as watched:
        yield watched.page
        watched.check(BASE)


def load(page: Page, own: Path | None = None) -> None:
    """Open a page with the modules as `icons` and `glyphs`, and the names loaded."""
    serve_static(page, STYLESHEET, own=own)
    page.evaluate(
        """async () => {
            const { loadNames } = await import("/static/slippi.js");
            await new Promise(loadNames);
            globalThis.icons = await import("/static/icons/icons.js");
            globalThis.glyphs = await import("/static/icons/glyphs.js");
            document.body.style.cssText = "margin: 0; background: #1a1e27; color: #fff; font-size: 96px";
        }"""
    )


def test_glyph_is_one_path() -> None:
    for glyphs in GLYPHS.values():
        for name, path in glyphs.items():
            assert re.fullmatch(r"M[MLQCZ0-9. -]+", path), name


@pytest.mark.browser
def test_every_character_and_stage_has_a_visible_picture(page: Page) -> None:
    load(page)
    for method, ids, folder in (("characterGlyphName", CHARACTERS, "characters"), ("stageGlyph", STAGES, "stages")):
        shown = page.evaluate(f"(ids) => ids.map((id) => String(glyphs.{method}(id)))", ids)
        assert set(shown) | {"unknown"} == set(GLYPHS[folder]) | {"unknown"}
    assert page.evaluate("() => [33, -1, 1.5].map(glyphs.characterGlyphName)") == ["unknown"] * 3
    assert page.evaluate("() => [86, -1].map(glyphs.stageGlyph)") == ["test"] * 2
    page.evaluate(
        """async ([characters, stages]) => {
            document.body.append(...characters.map((id) => icons.characterPicture(id, 0)));
            document.body.append(...stages.map((id) => icons.stagePicture(id)));
        }""",
        [CHARACTERS, [id for id in STAGES if id <= 33 or id >= 82]],
    )
    page.wait_for_load_state("networkidle")
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("svg path")].map((each) => {
            const { width, height } = each.getBoundingClientRect();
            return Math.min(width, height);
        })"""
    )
    assert len(boxes) > len(CHARACTERS)
    assert min(boxes) > 20, "every glyph is visible"


@pytest.mark.browser
def test_glyph_has_the_colours_of_costume_and_port(page: Page) -> None:
    load(page)
    colours = page.evaluate(
        """() => {
            document.body.style.setProperty("--glyph-port", "rgb(1, 2, 3)");
            const shown = [icons.characterPicture(2, 0), icons.characterPicture(2, 1), icons.characterPicture(99, 0)];
            document.body.append(...shown);
            return shown.map((each) => {
                const { backgroundColor, borderTopColor, color } = getComputedStyle(each);
                return [backgroundColor, borderTopColor, color];
            });
        }"""
    )
    assert len({ground for ground, _, _ in colours}) == 3
    assert {port for _, port, _ in colours} == {"rgb(1, 2, 3)"}
    assert {ink for _, _, ink in colours} <= {"rgb(16, 19, 26)", "rgb(255, 255, 255)"}


@pytest.mark.browser
def test_own_pictures_take_precedence(page: Page, tmp_path: Path) -> None:
    for name in ("icons/2/0.png", "icons/2/3.webp", "portraits/2/0.png", "stages/31.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(PIXEL)
    load(page, tmp_path)
    sources = page.evaluate(
        """() => {
            const shown = [
                icons.characterPicture(2, 0), icons.characterPicture(2, 3), icons.characterPicture(2, 1),
                icons.portraitPicture(2, 1), icons.portraitPicture(9, 0), icons.stagePicture(31), icons.stagePicture(2),
            ];
            document.body.append(...shown);
            return shown.map((each) => each.querySelector("img")?.getAttribute("src") ?? null);
        }"""
    )
    assert sources == [
        f"{BASE}/custom/icons/2/0.png",
        f"{BASE}/custom/icons/2/3.webp",
        f"{BASE}/custom/icons/2/0.png",
        f"{BASE}/custom/portraits/2/0.png",
        None,
        f"{BASE}/custom/stages/31.png",
        None,
    ]


def test_own_pictures_are_listed_by_number_only(tmp_path: Path) -> None:
    for name in (
        "icons/2/0.png", "icons/2/0.webp", "icons/2/10.svg", "icons/2/red.png", "icons/2/01.png", "icons/Fox/0.png",
        "icons/3.png", "portraits/20/1.webp", "stages/32.png", "stages/32.txt",
        "sponsors/Nova.svg", "sponsors/Nova.png", "sponsors/日本 #1.png", "sponsors/Nova.txt",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert own_pictures(tmp_path) == OwnPictures(
        icons={"2": {"0": "icons/2/0.png", "10": "icons/2/10.svg"}},
        portraits={"20": {"1": "portraits/20/1.webp"}},
        stages={"32": "stages/32.png"},
        sponsors={"Nova": "sponsors/Nova.png", "日本 #1": "sponsors/%E6%97%A5%E6%9C%AC%20%231.png"},
    )
    assert own_pictures(tmp_path / "absent") == own_pictures(None) == OwnPictures()


@pytest.mark.trio
async def test_list_of_own_pictures_is_served(tmp_path: Path) -> None:
    async with served(overlay_folder=tmp_path) as server:
        nothing: dict[str, Any] = {"icons": {}, "portraits": {}, "stages": {}, "sponsors": {}}
        assert (await server.ask("/static/icons/own.json")).json == nothing
        (tmp_path / "stages").mkdir()
        (tmp_path / "stages/31.svg").touch()
        answer = await server.ask("/static/icons/own.json")
        assert answer.json["stages"] == {"31": "stages/31.svg"}
        assert answer.headers["cache-control"] == "no-store"
