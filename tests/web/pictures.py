"""The pictures of the documentation, taken from real pages.

    python -m tests.web.pictures [NAME...]

writes them to `docs/pictures/`. They differ a little each time,
because they show games in progress; take them again after a page has changed. Pictures of the same games are taken
together, and kept until they are requested.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from html import escape
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from slpstream.parts.demo.bundled import bundled_match
from tests.browsers.chromium import chromium
from tests.browsers.pages import open_page
from tests.daemons.configuration import configuration
from tests.daemons.demo import Demo, demo
from tests.daemons.process import running
from tests.parts.obs import obs_pictures
from tests.parts.scenes.on_air import game_picture
from tests.project import ROOT
from tests.replays.in_progress import begun
from tests.web import setups, tournament_pictures
from tests.web.shown import written_live

PICTURES = ROOT / "docs" / "pictures"
WIDE = {"width": 1280, "height": 800}
TALL = {"width": 1280, "height": 1000}
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1280, "height": 720}
COLOURS = 192
TRENDS_GAMES = 30
REPLAY_FRAME = 12_190
"""A frame of the replay's last stock, shortly before the hit."""
BOARDS = (
    ("versus", "varsity", ".foot"),
    ("matchup", "dark", ".tape"),
    ("player", "dark", ".fact"),
    ("game-result", "light", ".chart"),
    ("set-result", "dark", ".decisive"),
    ("replay", "neon", "stage-view[data-frame]:not([data-frame=''])"),
)
"""Scenes after a set: their themes, and the text that they show when they are ready."""
ANIMATION_FRAMES = 24
ANIMATION_MS = 250


def _image(page: Page, selector: str | None = None) -> Image.Image:
    data = page.screenshot() if selector is None else page.locator(selector).first.screenshot()
    return Image.open(io.BytesIO(data)).convert("RGB")


def _later(page: Page, frame: int) -> None:
    """Wait until the open station reaches a frame of its game."""
    page.wait_for_function("wanted => document.querySelector('stage-view').frame?.frame >= wanted", arg=frame)


def _draw_game(page: Page) -> None:
    """Draw a picture of a game below a scene."""
    size = page.viewport_size
    assert size is not None
    picture = game_picture(size["width"], size["height"], players=2)
    page.evaluate("picture => { document.documentElement.style.background = picture; }", picture)


@contextmanager
def _playing(browser: Browser, *arguments: str, **options: object) -> Iterator[tuple[Demo, Page]]:
    """The dashboard of a demo."""
    with (
        tempfile.TemporaryDirectory() as folder,
        demo(*arguments, log=Path(folder) / "stderr") as played,
        open_page(browser, **({"viewport": WIDE, "color_scheme": "dark"} | options)) as watched,
    ):
        watched.page.goto(f"{played.url}/")
        expect(watched.page.locator(".panel .state")).to_have_text("playing")
        yield played, watched.page


@contextmanager
def _overlay(browser: Browser, url: str, **size: object) -> Iterator[Page]:
    with open_page(browser, **({"viewport": SCREEN} | size)) as watched:
        watched.page.goto(url)
        _draw_game(watched.page)
        expect(watched.page.locator(".percent").first).to_be_visible()
        yield watched.page


@contextmanager
def _station(browser: Browser, games: int = 0, **options: object) -> Iterator[tuple[str, Path, Page]]:
    """The address of a daemon whose folder `Slippi` has the first bundled matches, the folder, and a page."""
    with tempfile.TemporaryDirectory() as name:
        folder = _games(Path(name), games)
        arguments = configuration(Path(name), "[sets]\nbest_of = 5\n")
        with (
            running(folder, arguments=arguments) as daemon,
            open_page(browser, **({"viewport": WIDE, "color_scheme": "dark"} | options)) as watched,
        ):
            yield daemon.url, folder, watched.page


def _games(into: Path, count: int) -> Path:
    """A folder with the first bundled matches, played one after another on one day."""
    folder = into / "Slippi"
    folder.mkdir()
    for play in range(1, count + 1):
        started_at = datetime(2026, 11, 21, 12, 4 * play, tzinfo=UTC)
        file = folder / f"Game_20261121T12{4 * play:02}00.slp"
        file.write_bytes(bundled_match(play, started_at=started_at))
        os.utime(file, (started_at.timestamp(), started_at.timestamp()))
    return folder


@cache
def _first_pictures(browser: Browser) -> Mapping[str, Image.Image]:
    """The first-run page, and its part with the address for OBS, with names that readers recognise."""
    with _station(browser) as (url, _, page):
        usual = {"station": "Slippi", "name": "Slippi", "folder": r"C:\Users\you\Documents\Slippi", "exists": True}
        page.route("**/v1/setup", lambda route: route.fulfill(json={"folders": [usual]}))
        page.goto(f"{url}/")
        expect(page.locator(".demo")).to_be_visible()
        expect(page.frame_locator(".preview iframe").locator(".combo.shown").first).to_be_visible()
        # The port of this daemon is free, and not the usual one.
        for field in page.locator(".url").all():
            field.evaluate("field => { field.value = field.value.replace(/:[0-9]+/, ':5151'); }")
        return {"whole": _image(page), "address": _image(page, ".for-obs")}


def _dashboard(browser: Browser, *arguments: str, **options: object) -> Image.Image:
    with _playing(browser, "--speed", "4", *arguments, **options) as (_, page):
        _later(page, 1500)
        return _image(page)


def _instant_replay(browser: Browser) -> Image.Image:
    with _playing(browser, "--speed", "4", viewport=TALL) as (_, page):
        _later(page, 1200)
        page.get_by_role("button", name="10").first.click()
        page.wait_for_timeout(1500)
        bar = page.locator("replay-bar").bounding_box()
        assert bar is not None
        return _image(page).crop((0, 0, TALL["width"], int(bar["y"] + bar["height"]) + 8))


def _set(browser: Browser) -> Image.Image:
    with _playing(browser, "--speed", "30") as (_, page):
        page.get_by_label("Your name in this list").fill("Ann")
        for label, value in (("Sponsor", "GG"), ("Seed", "1"), ("Pronouns", "she/her")):
            page.get_by_role(
                ("spinbutton" if label == "Seed" else "textbox"), name=f"{label} of the player on port 1"
            ).fill(value)
        page.get_by_role("textbox", name="Round").fill("Winners Final")
        page.get_by_role("textbox", name="Casters").fill("Bea, Kim")
        page.get_by_role("textbox", name="Casters").press("Enter")
        expect(page.locator(".set-game").nth(1)).to_be_visible(timeout=60_000)
        expect(page.locator(".change")).to_have_count(5)
        page.locator("body").click(position={"x": 5, "y": 5})
        return _image(page, ".set")


def _result(browser: Browser) -> Image.Image:
    """A game from the list, after it was played."""
    with _station(browser, 3, viewport=TALL) as (url, _, page):
        page.goto(f"{url}/")
        page.locator(".game .open").last.click()
        expect(page.locator(".panel .result")).not_to_be_empty()
        expect(page.locator(".numbers td").first).to_be_visible()
        return _image(page)


@cache
def _overlays(browser: Browser) -> Mapping[str, Image.Image]:
    """The overlay, the overlay with other options, and the live scene, of one game."""
    with (
        _playing(browser, "--speed", "2") as (played, page),
        _overlay(browser, f"{played.url}/overlay/demo") as usual,
        _overlay(
            browser, f"{played.url}/overlay/demo?theme=light&show=names,stocks,percent,controller&scale=1.2"
        ) as parts,
        open_page(browser, viewport=SCREEN) as scene,
    ):
        scene.page.goto(f"{played.url}/scenes/live/demo")
        _draw_game(scene.page)
        _later(page, 900)
        pictures = {"parts": _image(parts)}
        for name, shown in (("usual", usual), ("scene", scene.page)):
            shown.locator(".combo.shown").first.wait_for(timeout=20_000)
            pictures[name] = _image(shown)
        return pictures


def _overlay_result(browser: Browser) -> Image.Image:
    with _station(browser, viewport=SCREEN) as (url, folder, page):
        game = folder.parent / "game.slp"
        game.write_bytes(bundled_match(1, started_at=datetime.now(UTC)))
        page.goto(f"{url}/overlay/Slippi?hold=1h")
        _draw_game(page)
        with written_live(game, folder, speed=20.0):
            page.locator(".overlay[data-phase=result]").wait_for(timeout=60_000)
            page.wait_for_timeout(500)
            return _image(page)


@cache
def _boards(browser: Browser) -> Mapping[str, Image.Image]:
    """The scenes after a set of five games, by name."""
    pictures = {}
    with _station(browser, 5, viewport=SCREEN) as (url, _, page):
        day = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)  # on which the games were played
        page.add_init_script(f"Date.now = () => {day.timestamp() * 1000};")
        for scene, theme, ready in BOARDS:
            page.emulate_media(reduced_motion="no-preference" if scene == "replay" else "reduce")
            example = "#example" if scene == "matchup" else ""  # there are no earlier sets
            page.goto(f"{url}/scenes/{scene}/Slippi?theme={theme}{example}")
            _draw_game(page)
            page.locator(ready).first.wait_for(timeout=20_000)
            if scene == "replay":
                _later(page, REPLAY_FRAME)
            pictures[scene] = _image(page)
    return pictures


def _director(browser: Browser) -> Image.Image:
    """The example of the director's scene."""
    with _station(browser, viewport=SCREEN) as (url, _, page):
        page.goto(f"{url}/scenes/director?odds=1&fill=1#example")
        expect(page.locator("stage-view[data-frame]:not([data-frame=''])")).to_have_count(3)
        page.wait_for_timeout(4000)
        return _image(page)


def _odds(browser: Browser) -> Image.Image:
    """The live scene with the advantage bar, over a game."""
    with _station(browser, viewport=SCREEN) as (url, _, page):
        page.goto(f"{url}/scenes/live/Slippi?layout=sides&odds=1#example")
        _draw_game(page)
        page.locator(".advantage").first.wait_for()
        page.wait_for_timeout(4000)
        return _image(page)


def _trends(browser: Browser) -> Image.Image:
    """The trends of a player over fourteen weeks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "Slippi"
        folder.mkdir()
        for play in range(1, TRENDS_GAMES + 1):
            started_at = datetime(2026, 8, 3, 19, tzinfo=UTC) + play**1.35 * timedelta(days=1.2)
            file = folder / f"Game_{started_at:%Y%m%dT%H%M%S}.slp"
            file.write_bytes(bundled_match(play, started_at=started_at))
            os.utime(file, (started_at.timestamp(), started_at.timestamp()))
        with (
            running(folder, arguments=configuration(Path(name), "")) as daemon,
            open_page(browser, viewport=TALL, color_scheme="dark") as watched,
        ):
            daemon.until(lambda: f"slpstream_indexed_games {TRENDS_GAMES}.0" in daemon.text("/metrics"))
            daemon.until(lambda: "slpstream_index_waiting_files 0" in daemon.text("/metrics"))
            for game in daemon.get("/v1/games?limit=100")["games"]:
                daemon.get(f"/v1/games/{game['gameId']}/stats")  # which the index then keeps
            page = watched.page
            page.goto(f"{daemon.url}/trends?me=Vixen")
            page.locator("circle.rate").first.wait_for()
            return _image(page)


def _terminal(browser: Browser) -> Image.Image:
    """The stats of three games, as a terminal of 128 columns shows them."""
    with tempfile.TemporaryDirectory() as name:
        folder = _games(Path(name), 3)
        printed = subprocess.run(
            [sys.executable, "-m", "slpstream", "stats", folder.name],
            cwd=name, env={**os.environ, "COLUMNS": "128"}, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    with open_page(browser, viewport=WIDE) as watched:
        watched.page.set_content(
            '<pre style="display: inline-block; margin: 0; padding: 20px 24px; background: #10131b; color: #dfe5f2;'
            f' font: 14px/1.4 DejaVu Sans Mono, monospace">$ slpstream stats Slippi\n{escape(lines)}</pre>'
        )
        return _image(watched.page, "pre")


def _editor(browser: Browser) -> Image.Image:
    """The visual editor, with an address that readers recognise."""
    with _station(browser) as (url, _, page):
        page.goto(f"{url}/#editor/Slippi/live?theme=neon&sizes=score:1.2")
        expect(page.frame_locator(".preview-stage iframe:not(.coming)").locator(".combo.shown").first).to_be_visible()
        field = page.locator("#editor-url")
        field.evaluate("field => { field.value = field.value.replace(/:[0-9]+/, ':5151'); }")
        return _image(page)


def _on_air(browser: Browser) -> Image.Image:
    """A station on air, with a marked moment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "Slippi"
        folder.mkdir()
        station = f"[[stations]]\nid = 'tv1'\nname = 'TV 1'\nfolder = '{folder}'\n"
        with (
            running(arguments=configuration(Path(name), station)) as daemon,
            open_page(browser, viewport=TALL, color_scheme="dark") as watched,
        ):
            page = watched.page
            begun(folder / "Game_1.slp", bundled_match(1, started_at=datetime.now(UTC)))
            page.goto(f"{daemon.url}/#station/tv1")
            page.locator(".put-on-air").click()
            page.locator(".moments").get_by_role("button", name="Mark this moment").click()
            expect(page.locator(".marks .moment")).to_have_count(1)
            page.locator(".panel .on-air").wait_for()
            page.locator("#detail-title").scroll_into_view_if_needed()
            return _image(page)


@cache
def _setups(browser: Browser) -> Mapping[str, Image.Image]:
    """Sixteen setups that play, as the list of stations and as the wall."""
    options = {"viewport": WIDE, "color_scheme": "dark"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            running(*setups.folders(folder)) as daemon,
            open_page(browser, **options) as stations,
            open_page(browser, **options) as wall,
        ):
            daemon.wait_ready()
            views = ((stations.page, "", ".station"), (wall.page, "#wall", ".tile"))
            for page, fragment, station in views:
                page.goto(f"{daemon.url}/{fragment}")
                expect(page.locator(station)).to_have_count(setups.COUNT)
            with setups.written(folder):
                for page, _, station in views:
                    expect(page.locator(f"{station}[data-state=playing]")).to_have_count(setups.COUNT)
                wall.page.wait_for_timeout(6000)
                return {"list": _image(stations.page), "wall": _image(wall.page)}


def _animation(browser: Browser) -> list[Image.Image]:
    """The overlay next to the dashboard, in real time."""
    with (
        _playing(browser, viewport={"width": 720, "height": 720}) as (played, page),
        _overlay(browser, f"{played.url}/overlay/demo") as over,
    ):
        _later(page, 300)
        pictures = []
        for _ in range(ANIMATION_FRAMES):
            waited = threading.Event()
            left, right = _image(over), _image(page)
            picture = Image.new("RGB", (1000, 360), "#0e1117")
            picture.paste(left.resize((640, 360), Image.Resampling.LANCZOS), (0, 0))
            picture.paste(right.resize((360, 360), Image.Resampling.LANCZOS), (640, 0))
            pictures.append(picture)
            waited.wait(ANIMATION_MS / 1000 / 2)
        return pictures


def _of(taken: Callable[[Browser], Mapping[str, Image.Image]], name: str) -> Callable[[Browser], Image.Image]:
    """One of the pictures that are taken together."""
    return lambda browser: taken(browser)[name]


@cache
def _obs(browser: Browser) -> Mapping[str, Image.Image]:
    del browser  # it is the window of OBS
    return obs_pictures.taken()


STILLS: Mapping[str, Callable[[Browser], Image.Image]] = {
    "overlay.png": _of(_overlays, "usual"),
    "overlay_parts.png": _of(_overlays, "parts"),
    "scene_sides.png": _of(_overlays, "scene"),
    "overlay_result.png": _overlay_result,
    "first_run.png": _of(_first_pictures, "whole"),
    "address.png": _of(_first_pictures, "address"),
    "dashboard.png": _dashboard,
    "dashboard_light.png": lambda browser: _dashboard(browser, "--seed", "2", color_scheme="light"),
    "dashboard_phone.png": lambda browser: _dashboard(browser, "--seed", "3", viewport=PHONE),
    "instant_replay.png": _instant_replay,
    "set.png": _set,
    "obs_scenes.png": _of(_obs, "scenes"),
    "obs_game.png": _of(_obs, "game"),
    "scene_versus.png": _of(_boards, "versus"),
    "scene_matchup.png": _of(_boards, "matchup"),
    "scene_player.png": _of(_boards, "player"),
    "scene_game_result.png": _of(_boards, "game-result"),
    "scene_set_result.png": _of(_boards, "set-result"),
    "scene_replay.png": _of(_boards, "replay"),
    "director.png": _director,
    "odds.png": _odds,
    "trends.png": _trends,
    "tournament.png": _of(_setups, "list"),
    "wall.png": _of(_setups, "wall"),
    "result.png": _result,
    "terminal.png": _terminal,
    "editor.png": _editor,
    "on_air.png": _on_air,
    "bracket.png": tournament_pictures.bracket,
    "seats_phone.png": tournament_pictures.seats,
    "setups_phone.png": tournament_pictures.setups,
}
"""How each picture is taken. Pictures of the same games are next to each other, so that one process takes them."""
ANIMATION = "live.webp"
NAMES = (*STILLS, ANIMATION)


def path_of(name: str) -> Path:
    """Where a picture belongs."""
    return PICTURES / name


def take(browser: Browser, name: str, path: Path) -> None:
    """Take one picture and write it to a file."""
    if name == ANIMATION:
        first, *others = _animation(browser)
        first.save(path, save_all=True, append_images=others, duration=ANIMATION_MS, loop=0, quality=60, method=4)
        return
    STILLS[name](browser).quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(names: list[str]) -> None:
    PICTURES.mkdir(exist_ok=True)
    with chromium() as browser:
        for name in names or NAMES:
            take(browser, name, path_of(name))
            print(f"{path_of(name)}: {path_of(name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
