"""The bundled fonts: their characters, their stylesheet, and their licences."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from playwright.sync_api import Browser, Page

from slpstream.web.app import STATIC
from tests.browsers.pages import open_page
from tests.project import ROOT
from tests.web.static_site import BASE, serve_static

FONTS = STATIC / "fonts"
FILES = sorted(path.name for path in FONTS.glob("*.woff2"))
MAX_TOTAL_BYTES = 1_200_000
FAMILIES = ("slpstream Condensed", "slpstream Japanese")
STYLESHEET = '<link rel="stylesheet" href="/static/fonts/fonts.css">'
NAMES = (
    "Golden Guardians | Zain", "Hungrybox", "Polish: Łukasz Żółć", "Čeština: Jiří Škoda", "Ørsted Åse Þór Ðað",
    "Nguyễn Thị Phương", "José Muñoz ¡Olé!", "Ștefan Țurcanu", "İbrahim Şağ", "Дмитрий Ёжик Їжак",
    "Ελένη Παπαδοπούλου", "あかり", "アクシール", "ﾀﾏｺﾞ", "渡辺麻友", "髙﨑 龍之介", "鬱鷲麒麟",
    "ＡＭＳＡ　１２３", "「名前」・ー〜★☆♪", "“quoted” – dash… ’90s",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    with open_page(browser) as watched:
        serve_static(watched.page, STYLESHEET)
        yield watched.page
        watched.check(BASE)


@pytest.mark.parametrize("file", FILES)
def test_fonts_have_our_name_and_keep_their_copyright(file: str) -> None:
    names = TTFont(FONTS / file)["name"]
    assert names.getDebugName(1) in FAMILIES
    assert not [record for record in names.names if record.nameID not in (0, 5, 13, 14) and "Fira" in str(record)]
    licence = (FONTS / f"OFL-{file.partition('-')[0]}.txt").read_text(encoding="utf-8")
    assert names.getDebugName(0) in licence
    assert f" {names.getDebugName(5).removeprefix('Version ').partition(';')[0]}." in licence
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence


def test_kana_and_common_kanji_are_complete() -> None:
    fonts = [TTFont(FONTS / file) for file in FILES if file.startswith("japanese")]
    rows = [*range(0xA4, 0xA6), *range(0xB0, 0xD0)]  # hiragana, katakana and level 1 of JIS X 0208
    wanted = {
        ord(text)
        for row in rows
        for cell in range(0xA1, 0xFF)
        if len(text := bytes([row, cell]).decode("euc_jp", "ignore")) == 1
    }
    assert len(wanted) > 3100
    assert wanted <= {character for font in fonts for character in font.getBestCmap()}
    assert sum(path.stat().st_size for path in FONTS.iterdir()) < MAX_TOTAL_BYTES


DRAWN_WITH = """
    const { loadFonts } = await import("/static/fonts/fonts.js");
    document.body.innerHTML = `<p id="name" style="font: WEIGHT 40px var(--condensed)"></p>`;
    document.querySelector("#name").textContent = NAME;
    await loadFonts(NAME);
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);  // wait for layout and painting
"""


@pytest.mark.browser
@pytest.mark.parametrize("weight", [500, 700])
def test_names_are_drawn_by_our_fonts(page: Page, weight: int) -> None:
    devtools = page.context.new_cdp_session(page)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    others = {}
    for name in NAMES:
        script = DRAWN_WITH.replace("WEIGHT", str(weight)).replace("NAME", f"'{name}'")
        page.evaluate(f"async () => {{{script}}}")
        root = devtools.send("DOM.getDocument")["root"]["nodeId"]
        node = devtools.send("DOM.querySelector", {"nodeId": root, "selector": "#name"})["nodeId"]
        fonts = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        assert fonts, name
        if not all(font["isCustomFont"] and font["familyName"] in FAMILIES for font in fonts):
            others[name] = fonts
    assert others == {}


@pytest.mark.browser
def test_digits_have_one_width_and_japanese_letters_keep_the_height(page: Page) -> None:
    for weight in (500, 700):
        widths, heights = page.evaluate(
            """async (weight) => {
                const { loadFonts } = await import("/static/fonts/fonts.js");
                await loadFonts("0123456789% Zain あ渡★");
                document.body.innerHTML = [..."0123456789"]
                    .map((digit) => `<span class="tabular">${digit.repeat(20)}</span><br>`).join("")
                    + ["Zain", "Zain あ渡★"].map((name) => `<p>${name}</p>`).join("");
                document.body.style.font = `${weight} 40px var(--condensed)`;
                const boxes = (tag) => [...document.querySelectorAll(tag)].map((each) => each.getBoundingClientRect());
                return [boxes("span").map(({ width }) => width), boxes("p").map(({ height }) => height)];
            }""",
            weight,
        )
        assert len(set(widths)) == 1, "percents have a constant width"
        assert widths[0] < 20 * 40 * 0.6, "the digits are condensed"
        assert heights[0] == heights[1]


@pytest.mark.browser
def test_page_does_not_wait_forever_for_a_font(browser: Browser) -> None:
    with open_page(browser) as watched:
        watched.page.clock.install()
        serve_static(watched.page, STYLESHEET)
        watched.page.route("**/*.woff2", lambda route: None)
        watched.page.evaluate(
            """async () => {
                const { loadFonts } = await import("/static/fonts/fonts.js");
                globalThis.waited = loadFonts("Zain").then(() => (globalThis.done = true));
            }"""
        )
        assert watched.page.evaluate("() => globalThis.done") is None
        watched.page.clock.run_for(5000)
        watched.page.wait_for_function("() => globalThis.done")


@pytest.mark.release
@pytest.mark.process
def test_fonts_can_be_rebuilt(tmp_path: Path) -> None:
    if shutil.which("npm") is None or shutil.which("uv") is None:
        pytest.skip("no npm or no uv")
    done = subprocess.run([ROOT / "deploy/fonts/build", tmp_path], capture_output=True, text=True, check=False)
    if done.returncode and "not the package" not in done.stderr:
        pytest.skip(f"the packages cannot be fetched here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in FONTS.iterdir() if path.suffix != ".js"}
