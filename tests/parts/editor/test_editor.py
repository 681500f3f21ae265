"""The visual editor of scenes: controls and address follow each other, and the preview shows the scene itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, FrameLocator, Locator, Page, ViewportSize, expect

from tests.browsers.pages import PHONE, WIDE, WatchedPage, open_page
from tests.daemons.configuration import requiring_tokens
from tests.daemons.process import DaemonProcess, running
from tests.marks import release
from tests.web.javascript import needs_node, run

pytestmark = pytest.mark.parts("dashboard", "scenes")

BASE = "http://127.0.0.1:5151/"
CUT = """() => [...document.querySelectorAll(
    ".editor :is(.pick-name, legend, label, button, .about, .hint, summary, h2)")]
  .filter((each) => each.getClientRects().length > 0 && getComputedStyle(each).clipPath === "none")
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline"
    || each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((each) => each.textContent)"""
"""The texts of the editor that are wider than their boxes."""


@contextmanager
def editor(
    browser: Browser, daemon: DaemonProcess, fragment: str = "#editor", **options: Any
) -> Iterator[tuple[WatchedPage, Page]]:
    """The editor in a watched page, and the page."""
    with open_page(browser, **({"viewport": WIDE, "color_scheme": "dark"} | options)) as watched:
        watched.page.goto(f"{daemon.url}/{fragment}")
        expect(address(watched.page)).to_have_value(re.compile("/scenes/"))
        yield watched, watched.page


def address(page: Page) -> Locator:
    return page.locator("#editor-url")


def colours_at(page: Page, *places: tuple[float, float]) -> list[tuple[int, ...]]:
    """Red, green and blue of the preview at points given as shares of its width and height."""
    picture = Image.open(BytesIO(page.locator(".preview-stage").screenshot())).convert("RGB")
    corners = [(int(x * (picture.width - 1)), int(y * (picture.height - 1))) for x, y in places]
    return [tuple(picture.crop((left, top, left + 1, top + 1)).tobytes()) for left, top in corners]


def choose(page: Page, name: str) -> None:
    """Press a radio button."""
    page.get_by_role("radio", name=name, exact=True).check(force=True)


def preview(page: Page) -> FrameLocator:
    """The scene that is shown."""
    return page.frame_locator(".preview-stage iframe:not(.coming)")


@needs_node
def test_addresses_and_drafts() -> None:
    """Options without effect are omitted, and all others survive a round trip."""
    script = """
      const { addTexts } = await import("./texts/texts.js");
      await addTexts(new URL("./editor/editor.js", import.meta.url).href);
      const { addressOf, draftOf, hashOf, readAddress } = await import("./editor/address.js");
      return given.map((address) => {
        const read = readAddress(address, "http://127.0.0.1:5151/");
        if (read === null) return null;
        const { draft, token, problems } = read;
        return [addressOf(draft, "http://127.0.0.1:5151/", token), problems.length, addressOf(draftOf(hashOf(draft)), "http://h/")];
      });
    """
    live, other = f"{BASE}scenes/live/main", "http://h/scenes/live/main"
    wanted: dict[str, tuple[str, int, str] | None] = {
        live: (live, 0, other),
        f"{live}?theme=dark&scale=1&hold=10s&motion=1&delta=0&players=all": (live, 0, other),
        f"{BASE}overlay/main": (f"{live}?layout=hud", 0, f"{other}?layout=hud"),
        f"{BASE}overlay/main?layout=top": (f"{live}?layout=top", 0, f"{other}?layout=top"),
        f"{live}?layout=hud&hud=1": (f"{live}?layout=hud", 0, f"{other}?layout=hud"),
        f"{live}?layout=hud&hud=0": (f"{live}?layout=hud&hud=0", 0, f"{other}?layout=hud&hud=0"),
        f"{live}?hud=0": (live, 0, other),
        f"{live}?show=score,names": (f"{live}?show=names,score", 0, f"{other}?show=names,score"),
        f"{live}?show=names,combo,stage,score": (live, 0, other),
        f"{live}?show=": (f"{live}?show=", 0, f"{other}?show="),
        f"{live}?players=2,1&sizes=name:120%25,score:1": (
            f"{live}?players=1,2&sizes=name:1.2", 0, f"{other}?players=1,2&sizes=name:1.2"),
        f"{live}?delay=1500ms&hold=2m&scale=133.3%25": (
            f"{live}?delay=1500ms&scale=1.333&hold=120s", 0, f"{other}?delay=1500ms&scale=1.333&hold=120s"),
        f"{live}?css=a%2Fb.css&lang=ja": (f"{live}?lang=ja&css=a/b.css", 0, f"{other}?lang=ja&css=a/b.css"),
        f"{live}?token=s3cret": (f"{live}?token=s3cret", 0, other),
        f"{live}?colour=red&theme=pink&aspect=16:9": (f"{live}?aspect=16:9", 2, f"{other}?aspect=16:9"),
        f"{BASE}scenes/versus/main?layout=top&theme=neon": (
            f"{BASE}scenes/versus/main?theme=neon", 0, "http://h/scenes/versus/main?theme=neon"),
        f"{BASE}scenes/ticker?theme=light": (f"{BASE}scenes/ticker?theme=light", 0, "http://h/scenes/ticker?theme=light"),
        "https://example.org/prefix/scenes/live/a%2Fb%20c": (
            f"{BASE}scenes/live/a%2Fb%20c", 1, "http://h/scenes/live/a%2Fb%20c"),
        "/scenes/live/main": (live, 0, other),
        f"{BASE}scenes/nothing/main": None,
        f"{BASE}scenes/live": None,
        f"{BASE}scenes/ticker/main": None,
        f"{BASE}scenes/live/%E0%A4%A": None,
        f"{BASE}v1/stations": None,
        "javascript:alert(1)": None,
        "": None,
    }  # fmt: skip
    found = run(script, list(wanted))
    for given, (expected, read) in zip(wanted, zip(wanted.values(), found, strict=True), strict=True):
        assert read == (None if expected is None else list(expected)), given


@needs_node
def test_every_option_has_a_control_and_a_label() -> None:
    script = """
      const { OPTIONS } = await import("./scene_options.js");
      const { SCENES } = await import("./scene_names.js");
      const { optionsOf } = await import("./editor/address.js");
      const texts = (await import("./editor/texts/en.js")).default;
      const names = [...new Set(SCENES.flatMap(optionsOf))];
      const unlabelled = names.filter((name) => !(`editor.option.${name}` in texts));
      return [Object.keys(OPTIONS).filter((name) => !names.includes(name)), unlabelled];
    """
    assert run(script, None) == [["token"], []]


def test_controls_write_the_address(browser: Browser, empty_daemon: DaemonProcess) -> None:
    """Choosing a default removes the option from the address."""
    with editor(browser, empty_daemon, "#editor/station") as (_, page):
        field = address(page)
        live = f"{empty_daemon.url}/scenes/live/station"
        expect(field).to_have_value(live)
        steps = {"Neon": "?theme=neon", "Top": "?theme=neon&layout=top", "Dark": "?layout=top", "Sides": ""}
        for name, query in steps.items():
            choose(page, name)
            expect(field).to_have_value(live + query)
        choose(page, "16:9")
        page.get_by_label("Percents, stocks and timer too").check()
        expect(field).to_have_value(f"{live}?aspect=16:9&hud=1")
        page.get_by_label("Timer", exact=True).uncheck(force=True)
        page.get_by_label("Controllers", exact=True).last.check(force=True)
        show = "show=names,stocks,percent,combo,stage,score,controller"
        expect(field).to_have_value(f"{live}?{show}&aspect=16:9&hud=1")
        page.get_by_role("button", name="Reset all options").click()
        expect(field).to_have_value(live)
        page.get_by_label("Ports").check(force=True)
        page.get_by_label("Port 1").uncheck(force=True)
        expect(field).to_have_value(f"{live}?players=2")
        page.get_by_label("Port 2").click(force=True)
        expect(page.get_by_label("Port 2")).to_be_checked()  # the last one cannot be removed
        choose(page, "All")
        page.get_by_label("Whole scene").fill("125")
        page.get_by_label("Names").last.fill("80")
        expect(field).to_have_value(f"{live}?sizes=name:0.8&scale=1.25")
        page.get_by_role("button", name="Reset all options").click()
        page.get_by_label("Result of a game stays").fill("2.5")
        page.get_by_label("Delay").fill("61")
        expect(page.get_by_label("Delay")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Delay").fill("3")
        page.get_by_label("Animations").uncheck()
        expect(field).to_have_value(f"{live}?delay=3s&hold=2500ms&motion=0")
        page.get_by_role("button", name="Reset all options").click()
        page.get_by_text("Further options").click()
        page.get_by_label("Language").first.select_option("ja")
        page.get_by_label("Save traffic").check()
        page.get_by_label("Your own stylesheet").fill("../x")
        page.keyboard.press("Enter")
        expect(page.locator("[data-option=css] .problem")).to_contain_text("the path of a stylesheet")
        page.get_by_label("Your own stylesheet").fill("my.css")
        page.keyboard.press("Enter")
        expect(field).to_have_value(f"{live}?lang=ja&css=my.css&delta=1")
        page.get_by_label("Your own stylesheet").fill("")
        page.keyboard.press("Enter")
        page.get_by_role("combobox", name="Station").select_option("side")
        expect(field).to_have_value(f"{empty_daemon.url}/scenes/live/side?lang=ja&delta=1")
        choose(page, "Ticker")
        expect(field).to_have_value(f"{empty_daemon.url}/scenes/ticker?lang=ja&delta=1")
        expect(page.get_by_role("combobox", name="Station")).to_be_disabled()


def test_options_follow_the_scene(browser: Browser, empty_daemon: DaemonProcess) -> None:
    """Options of another scene are neither shown nor in the address, and return with that scene."""
    with editor(browser, empty_daemon, "#editor/station") as (_, page):
        choose(page, "Top")
        choose(page, "Set result")
        expect(page.get_by_role("group", name="Layout")).to_be_hidden()
        expect(page.get_by_role("group", name="Theme")).to_be_visible()
        page.reload()
        expect(address(page)).to_have_value(f"{empty_daemon.url}/scenes/set-result/station")
        choose(page, "Live")
        expect(page.get_by_role("radio", name="Top")).to_be_checked()
        expect(address(page)).to_have_value(f"{empty_daemon.url}/scenes/live/station?layout=top")


def test_controls_follow_a_pasted_address(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with editor(browser, empty_daemon) as (watched, page):
        field = address(page)
        field.fill(
            f"{empty_daemon.url}/overlay/station?theme=varsity&show=names,score&sizes=score:150%25&shoe=1&delay=9h"
        )
        expect(page.get_by_role("radio", name="HUD", exact=True)).to_be_checked()
        expect(page.get_by_role("radio", name="Varsity")).to_be_checked()
        expect(page.get_by_label("Score").last).to_have_value("150")
        expect(page.get_by_label("Combos")).not_to_be_checked()
        expect(page.locator(".left-out")).to_contain_text("unknown option: shoe")
        expect(page.locator(".left-out")).to_contain_text("delay=9h: expected a duration")
        expect(preview(page).locator(".score").first).to_be_visible()
        field.blur()
        query = "show=names,score&theme=varsity&layout=hud&sizes=score:1.5"
        expect(field).to_have_value(f"{empty_daemon.url}/scenes/live/station?{query}")
        expect(page.locator(".left-out")).to_contain_text("shoe")
        field.fill("https://example.org/")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".left-out")).to_have_text("This is not the address of a scene.")
        expect(page.get_by_role("radio", name="Varsity")).to_be_checked()
        field.blur()
        expect(field).to_have_value(f"{empty_daemon.url}/scenes/live/station?{query}")
        expect(field).to_have_attribute("aria-invalid", "false")
        watched.check(empty_daemon.url)


def test_preview_follows_options_size_and_data(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with editor(browser, empty_daemon, "#editor/station/versus") as (watched, page):
        root = preview(page).locator("html")
        expect(root).to_have_attribute("data-theme", "dark")
        choose(page, "Neon")
        expect(root).to_have_attribute("data-theme", "neon")
        assert page.locator(".preview-stage iframe").evaluate("frame => frame.clientWidth") == 1920
        page.get_by_role("combobox", name="Size").select_option("300 × 360")
        box = page.locator(".preview-stage").bounding_box()
        assert box is not None
        assert abs(box["width"] / box["height"] - 300 / 360) < 0.01
        assert page.locator(".preview-stage iframe").evaluate("frame => frame.clientWidth") == 300
        page.get_by_role("button", name="Play the entrance").click()
        expect(page.locator(".preview-stage iframe.coming")).to_have_count(0)
        expect(preview(page).locator(".plate .name").first).to_have_text("Vixen")
        page.get_by_role("combobox", name="Shows").select_option("the station now")
        expect(preview(page).locator(".scene[data-phase=waiting]")).to_be_attached()
        page.get_by_role("link", name="All stations").click()
        expect(page.locator(".preview-stage iframe")).to_have_count(0)
        expect(page.locator(".stations .station")).to_have_count(2)
        watched.check(empty_daemon.url)


@pytest.mark.parametrize("way", ["file", *release("drop", "paste")])
def test_own_picture_stays_in_the_browser(browser: Browser, empty_daemon: DaemonProcess, way: str) -> None:
    Image.new("RGB", (64, 48), "red").save(saved := BytesIO(), "PNG")
    with editor(browser, empty_daemon, "#editor/station/ticker") as (watched, page):
        expect(preview(page).locator(".items").first).to_be_visible()
        remove = page.get_by_role("button", name="Remove the picture")
        expect(remove).to_be_disabled()
        before = list(watched.requested)
        page.locator(".picture-file").set_input_files(FilePayload(name="notes.png", mimeType="image/png", buffer=b"no"))
        expect(page.locator(".left-out")).to_have_text("notes.png is not a picture that this browser can show.")
        if way == "file":
            with page.expect_file_chooser() as chooser:
                page.get_by_role("button", name="Choose a picture…").click()
            chooser.value.set_files(FilePayload(name="game.png", mimeType="image/png", buffer=saved.getvalue()))
        else:
            script = """([way, bytes]) => {
              const data = new DataTransfer();
              data.items.add(new File([new Uint8Array(bytes)], "game.png", { type: "image/png" }));
              const options = { dataTransfer: data, clipboardData: data, bubbles: true, cancelable: true };
              if (way === "paste") document.dispatchEvent(new ClipboardEvent("paste", options));
              else for (const type of ["dragenter", "dragover", "drop"]) {
                document.querySelector(".preview-stage").dispatchEvent(new DragEvent(type, options));
              }
            }"""
            page.evaluate(script, [way, list(saved.getvalue())])
        expect(remove).to_be_enabled()
        expect(page.get_by_role("combobox", name="Background")).to_have_value("own")
        assert colours_at(page, (0.05, 0.3), (0.5, 0.3)) == [(0, 0, 0), (255, 0, 0)], (
            "centred, with black on both sides"
        )
        remove.click()
        expect(remove).to_be_disabled()
        assert colours_at(page, (0.5, 0.3)) != [(255, 0, 0)]
        assert [url for url in watched.requested if url not in before and "/v1/" not in url] == []
        watched.check(empty_daemon.url)


def test_address_is_copied_with_the_token(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    with (
        running(tmp_path / "main", arguments=requiring_tokens(tmp_path)) as daemon,
        open_page(browser, viewport=WIDE, permissions=["clipboard-read", "clipboard-write"]) as watched,
    ):
        page = watched.page
        page.goto(f"{daemon.url}/?token=sesame#editor/main/versus?theme=light")
        wanted = f"{daemon.url}/scenes/versus/main?theme=light&token=sesame"
        expect(address(page)).to_have_value(wanted)
        copy = page.locator(".editor .copy")
        copy.click()
        expect(copy).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == wanted
        assert "token" not in page.url
        expect(page.get_by_role("link", name="Open the scene")).to_have_attribute("href", wanted)
        expect(preview(page).locator(".plate .name").first).to_have_text("Vixen")


def test_editor_is_loaded_only_when_opened(watched: WatchedPage, page: Page, empty_daemon: DaemonProcess) -> None:
    page.goto(f"{empty_daemon.url}/#station/side")
    link = page.locator(".detail").get_by_role("link", name="Adjust a scene…")
    expect(link).to_be_visible()
    early = [url for url in watched.requested if "/editor/" in url or "/scenes/" in url]
    assert early == []
    link.click()
    expect(address(page)).to_have_value(f"{empty_daemon.url}/scenes/live/side")
    page.goto(f"{empty_daemon.url}/#wall")
    page.get_by_role("button", name="Scenes of side").click()
    page.get_by_role("button", name="Adjust a scene…").click()
    expect(page.get_by_role("heading", name="Scene editor")).to_be_focused()
    page.get_by_role("link", name="All stations").click()
    expect(page.locator(".tile")).to_have_count(2)


def test_keyboard_alone(browser: Browser, empty_daemon: DaemonProcess) -> None:
    """The keyboard suffices from the dashboard to a copied address, and back."""
    with open_page(
        browser, viewport=WIDE, permissions=["clipboard-read", "clipboard-write"], color_scheme="light"
    ) as watched:
        page = watched.page
        page.goto(f"{empty_daemon.url}/")
        expect(page.locator(".stations .station")).to_have_count(2)
        page.get_by_role("link", name="Scene editor").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Scene editor")).to_be_focused()
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            name = page.evaluate(
                "() => { const { activeElement: element } = document;"
                " return element.name || element.id || element.className || element.tagName; }"
            )
            reached.append(name)
            if name == "editor-scene":
                for _ in range(4):
                    page.keyboard.press("ArrowRight")
                expect(page.get_by_role("radio", name="Game result")).to_be_checked()
            elif name == "editor-theme":
                page.keyboard.press("ArrowLeft")
                expect(page.get_by_role("radio", name="Varsity")).to_be_checked()
                break
        order = ["station-choice", "editor-scene", "editor-url", "copy", "size", "choose-picture", "editor-theme"]
        assert [name for name in reached if name in order] == order
        page.keyboard.press("Tab")
        expect(page.get_by_label("Whole scene")).to_be_focused()
        page.keyboard.press("ArrowRight")
        wanted = re.compile(r"/scenes/game-result/station\?theme=varsity&scale=1\.05$")
        expect(address(page)).to_have_value(wanted)
        page.locator(".editor .copy").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".editor .copy")).to_have_text("Copied")
        assert wanted.search(page.evaluate("navigator.clipboard.readText()"))
        page.get_by_role("link", name="All stations").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".stations .station")).to_have_count(2)
        watched.check(empty_daemon.url)


@pytest.mark.parametrize(
    ("language", "viewport"), [("ja", PHONE), *release(*product(("en", "ja", "es"), (WIDE, PHONE)))]
)
def test_texts_fit_in_every_language(
    browser: Browser, empty_daemon: DaemonProcess, viewport: ViewportSize, language: str
) -> None:
    fragment = "#editor/station/live?players=1,2"
    with editor(browser, empty_daemon, fragment, viewport=viewport, locale=language) as (_, page):
        page.locator("[data-group=more] summary").click()
        expect(preview(page).locator(".name").first).to_be_visible()
        assert page.evaluate(CUT) == []
        assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
