"""The pages in Japanese and Spanish, in a real browser: nothing is left in English but names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.parts.registry import static_folders
from tests.browsers.pages import WIDE, WatchedPage, open_page
from tests.daemons.demo import demo
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("dashboard", "demo")

QUERY = "fox>marth stage:fd duration:>3m"
"""The example in the search field. Queries are the same in every language."""
PROPER_NAMES = {
    "slpstream", "API", "zip", "OBS", "Slippi", "Launcher", "Game", "L", "N", "KO", "MiB", "WebSocket", "ms", "v1",
    "stations",
}  # fmt: skip
"""Words of Latin letters that stay in every language, in addition to the names of the game."""
LANGUAGE_NAMES = ("English", "日本語", "Español")
READ = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
        if (element.closest("script, style, code, noscript, bdi") || !element.checkVisibility()) {
            continue;
        }
        if (node.nodeType === Node.TEXT_NODE) {
            found.push(node.data);
        } else {
            for (const name of ["aria-label", "aria-valuetext", "title", "placeholder", "alt"]) {
                found.push(node.getAttribute(name) ?? "");
            }
        }
    }
    return found.map((text) => text.trim()).filter(Boolean);
}"""
"""All visible texts, and the texts of attributes."""
WORD = re.compile(r"[A-Za-zÀ-ÿ]+")


def texts(page: Page) -> list[str]:
    """The texts of the page."""
    read: list[str] = page.evaluate(READ)
    return read


def check_japanese(page: Page, names: set[str]) -> None:
    """Check that no text has words of Latin letters except proper names."""
    known = PROPER_NAMES | {word for name in names for word in WORD.findall(name)}
    left = [
        text
        for text in texts(page)
        if text not in (*LANGUAGE_NAMES, QUERY) and not {word for word in WORD.findall(text) if len(word) > 1} <= known
    ]
    assert left == []


def check_spanish(page: Page) -> None:
    """Check that no text is in the English table and missing in the Spanish one."""
    english, spanish = page.evaluate(
        "async (folders) => Promise.all(['en', 'es'].map(async (each) => (await Promise.all(folders.map("
        "async (folder) => Object.values((await import(`/static${folder}/texts/${each}.js`)).default)))).flat()"
        ".filter((text) => typeof text === 'string')))",
        ["", *(f"/{name}" for name, folder in static_folders().items() if (folder / "texts").is_dir())],
    )
    assert [text for text in texts(page) if text in {*english} - {*spanish}] == []


@pytest.mark.parametrize("language", ["ja", "es"])
def test_running_and_finished_games(watched: WatchedPage, page: Page, tmp_path: Path, language: str) -> None:
    folder = tmp_path / "Slippi"
    folder.mkdir()
    (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=900))
    with running(folder) as daemon:
        daemon.until(lambda: daemon.get("/v1/games")["games"] != [])
        game = daemon.get("/v1/games")["games"][0]
        names = {player["name"] or f"P{player['port']}" for player in game["players"]} | {"Slippi"}

        def check() -> None:
            if language == "ja":
                check_japanese(page, names)
            else:
                check_spanish(page)

        page.goto(f"{daemon.url}/?lang={language}#first-run")
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator(".first-run .demo")).to_be_visible()
        check()
        page.goto(f"{daemon.url}/?lang={language}#login")
        expect(page.locator(".login")).to_be_visible()
        check()
        page.goto(f"{daemon.url}/?lang={language}#game/{game['gameId']}")
        expect(page.locator(".panel .numbers td").first).to_be_visible()
        check()
        page.goto(f"{daemon.url}/?lang={language}#station/Slippi")
        (folder / "Game_2.slp").write_bytes(synthetic_match(seed=4, frames=900, ended=False))
        expect(page.locator(".panel .state")).to_have_text({"ja": "対戦中", "es": "en juego"}[language])
        expect(page.locator(".panel .numbers td").first).to_be_visible()
        check()
        watched.check(daemon.url)


def test_language_is_chosen_on_the_dashboard(browser: Browser, tmp_path: Path) -> None:
    with demo(log=tmp_path / "stderr") as playing, open_page(browser, viewport=WIDE, locale="es-MX") as watched:
        page = watched.page
        page.goto(f"{playing.url}/")
        expect(page.locator("html")).to_have_attribute("lang", "es")
        choice = page.locator(".language select")
        expect(choice.locator("option")).to_have_text(["Idioma del navegador", *LANGUAGE_NAMES])
        choice.select_option("ja")
        expect(page.locator("html")).to_have_attribute("lang", "ja")
        expect(page.locator(".panel .character").first).to_have_text(re.compile("^[ァ-ヶー・]+$"))
        page.goto(f"{playing.url}/?lang=en")
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(choice).to_have_value("en")
        choice.select_option("")
        expect(page.locator("html")).to_have_attribute("lang", "es")
        assert "lang=" not in page.url
        assert page.evaluate("localStorage.length") == 0
        script = """async () => {
            const { date, list, number, text } = await import("/static/texts/texts.js");
            const moment = date(new Date(Date.UTC(2026, 10, 3, 14, 5)), { dateStyle: "short", timeZone: "UTC" });
            return [number(12345.5), moment, list(["1", "2"]), text("game.stocks", { count: 1 })];
        }"""
        for language, shown in {
            "en": ["12,345.5", "11/3/26", "1 and 2", "1 stock"],
            "es": ["12.345,5", "3/11/26", "1 y 2", "1 vida"],
            "ja": ["12,345.5", "2026/11/03", "1、2", "残り 1 ストック"],
        }.items():
            page.goto(f"{playing.url}/?lang={language}")
            assert page.evaluate(script) == shown
