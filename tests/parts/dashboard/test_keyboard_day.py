"""An operator's day on the dashboard without a mouse. The focus is always visible, and never lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsers.pages import WIDE, open_page
from tests.daemons.configuration import requiring_tokens
from tests.daemons.process import DaemonProcess, running
from tests.sets.unfinished_set import write_unfinished_set
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("crews", "scenes")

MAX_TABS = 150
FOCUS = """() => {
    const focused = document.activeElement;
    if (focused === null || focused === document.body) {
        return "lost";
    }
    // A link in a card is outlined by the card.
    for (let each = focused; each !== null && each !== document.body; each = each.parentElement) {
        const { outlineStyle, outlineWidth } = getComputedStyle(each);
        if (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) {
            const { width, height, bottom, right } = each.getBoundingClientRect();
            const isVisible = each.checkVisibility({ checkOpacity: true });
            const isOnPage = width > 4 && height > 4 && bottom > 0 && right > 0;
            return isVisible && isOnPage ? "" : `not visible: ${focused.outerHTML.slice(0, 200)}`;
        }
        if (each.matches("li, section, dialog")) {
            break;
        }
    }
    return `without an outline: ${focused.outerHTML.slice(0, 200)}`;
}"""


class Keyboard:
    """The only way in which this test controls a page. After each key, the focus must be visible on the page."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self._page.keyboard.press(key)
            self._check(key)

    def type(self, text: str) -> None:
        self._page.keyboard.type(text)
        self._check(text)

    def tab_to(self, wanted: Locator, key: str = "Tab") -> None:
        """Press Tab, or another key, until a control has the focus."""
        expect(wanted).to_be_visible()
        for _ in range(MAX_TABS):
            if wanted.evaluate("element => element === document.activeElement"):
                return
            self.press(key)
        raise AssertionError(f"{key} does not reach {wanted}")

    def go_to(self, wanted: Locator, key: str = "Enter") -> None:
        """Go to a control, and press a key on it."""
        self.tab_to(wanted)
        self.press(key)

    def _check(self, key: str) -> None:
        # A control that has disappeared keeps the focus until the next redraw.
        self._page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        problem = self._page.evaluate(FOCUS)
        assert problem == "", f"after {key}: {problem}"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon that requires tokens, with two stations. On one of them the third game of a set is running."""
    folders = [tmp_path / name for name in ("main", "side")]
    for folder in folders:
        folder.mkdir()
    (folders[1] / "Game_9.slp").write_bytes(synthetic_match(seed=9, frames=300))
    write_unfinished_set(folders[0])
    with running(*folders, arguments=requiring_tokens(tmp_path)) as daemon:
        yield daemon


def test_operators_day(browser: Browser, daemon: DaemonProcess) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with open_page(browser, viewport=WIDE, permissions=permissions) as watched:
        page = watched.page
        keyboard = Keyboard(page)
        page.goto(f"{daemon.url}/")
        log_in(page, keyboard)
        find_the_station(page, keyboard)
        correct_the_set(page, keyboard)
        decide_the_games(page, keyboard)
        copy_the_address(page, keyboard, daemon)
        watch_a_replay(page, keyboard)
        begin_a_new_set(page, keyboard)
        leave(page, keyboard)


def log_in(page: Page, keyboard: Keyboard) -> None:
    """The form has the focus. Afterwards the page restarts, with the skip link."""
    token = page.get_by_label("Access token")
    expect(token).to_be_focused()
    keyboard.type("guess")
    keyboard.press("Enter")
    expect(page.locator(".login .problem")).to_have_text("The token is wrong.")
    expect(token).to_be_focused()
    keyboard.type("open")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator(".station")).to_have_count(2)
    keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    keyboard.press("Enter")
    expect(page.locator("#stations")).to_be_focused()


def find_the_station(page: Page, keyboard: Keyboard) -> None:
    for link in ("Scene editor", "Setups", "Venue wall"):
        keyboard.press("Shift+Tab")
        expect(page.get_by_role("link", name=link)).to_be_focused()
    keyboard.press("Enter")
    expect(page.locator(".tile")).to_have_count(2)
    keyboard.tab_to(page.get_by_role("searchbox"))
    keyboard.type("main")
    expect(page.locator(".tile")).to_have_count(1)
    keyboard.go_to(page.get_by_role("link", name="main", exact=True))
    expect(page.locator("#detail-title")).to_have_text("main")
    expect(page.locator("#detail-title")).to_be_focused()


def correct_the_set(page: Page, keyboard: Keyboard) -> None:
    """Enter names, round, length and score, and undo two changes in a row."""
    panel = page.locator(".detail .set")
    expect(panel.locator(".set-game")).to_have_count(3)
    keyboard.tab_to(panel.get_by_label("Name of the player on port 1"))
    keyboard.type("Nobody")
    keyboard.press("Escape")
    expect(panel.get_by_label("Name of the player on port 1")).to_have_value("")
    keyboard.type("Ann")
    keyboard.press("Enter")
    expect(page.locator(".panel .players .name").first).to_have_text("Ann")
    keyboard.go_to(panel.get_by_role("button", name="Add a game to Ann"))
    expect(panel.locator(".points").first).to_have_text("2")
    keyboard.tab_to(panel.get_by_label("Best of"))
    keyboard.type("5")
    expect(panel.locator(".change .what").first).to_have_text("Best of: 3 → 5")
    keyboard.tab_to(panel.get_by_role("textbox", name="Round"))
    keyboard.type("Winners Final")
    keyboard.press("Enter")
    expect(panel.locator(".change")).to_have_count(4)
    keyboard.go_to(panel.get_by_role("button", name="Undo: Best of: 3 → 5"))
    expect(panel.locator(".change .what").first).to_have_text("Undone: Best of: 5 → 3")
    keyboard.go_to(panel.get_by_role("button", name="Undo: Score of Ann: 1 → 2"))
    expect(panel.locator(".points").first).to_have_text("1")
    keyboard.press("Shift+Tab", "Tab")
    expect(panel.get_by_role("textbox", name="Round")).to_have_value("Winners Final")


def decide_the_games(page: Page, keyboard: Keyboard) -> None:
    """Swap the sides, exclude a game, and change the winner of another."""
    panel = page.locator(".detail .set")
    keyboard.tab_to(panel.get_by_role("button", name="Swap left and right"), "Shift+Tab")
    keyboard.press("Space")
    expect(panel.locator(".place")).to_have_text(["Right", "Left"])
    dont_count = panel.get_by_role("button", name="Don't count game 1")
    keyboard.go_to(dont_count)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(dont_count).to_be_focused()
    keyboard.press("Enter", "Tab")
    expect(dialog.get_by_role("button", name="Don't count")).to_be_focused()
    keyboard.press("Enter")
    expect(panel.locator(".set-game").first).to_have_attribute("data-counts", "false")
    expect(panel.get_by_role("button", name="Count game 1")).to_be_focused()
    keyboard.tab_to(panel.get_by_label("Winner of game 2"))
    keyboard.type("Ann" if won_by(panel, 1) == "Altea" else "Alt")
    expect(panel.locator(".change .what").first).to_contain_text("Winner of game 2: Automatic → ")


def won_by(panel: Locator, game: int) -> str:
    """The name of the winner of a game, counted from 0."""
    text = panel.locator(".set-game .what").nth(game).text_content() or ""
    return text.rpartition(" · ")[2].removesuffix(" won")


def copy_the_address(page: Page, keyboard: Keyboard, daemon: DaemonProcess) -> None:
    copy = page.locator(".address .copy")
    keyboard.go_to(copy)
    expect(copy).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{daemon.url}/overlay/main?token=open"


def watch_a_replay(page: Page, keyboard: Keyboard) -> None:
    """Go back ten seconds, step a frame with the arrow keys on the slider, pause, and return to the live game."""
    bar = page.locator(".panel replay-bar")
    keyboard.tab_to(bar.locator(".back-ten"), "Shift+Tab")
    keyboard.press("Enter")
    expect(bar).to_have_attribute("data-live", "false")
    keyboard.go_to(bar.locator(".play"))
    slider = bar.get_by_role("slider")
    keyboard.tab_to(slider)
    before = int(slider.input_value())
    keyboard.press("ArrowLeft")
    expect(slider).not_to_have_value(str(before))
    keyboard.go_to(bar.locator(".live"))
    expect(bar).to_have_attribute("data-live", "true")


def begin_a_new_set(page: Page, keyboard: Keyboard) -> None:
    panel = page.locator(".detail .set")
    new_set = panel.get_by_role("button", name="New set", exact=True)
    keyboard.go_to(new_set)
    expect(page.get_by_role("dialog")).to_contain_text("Start a new set?")
    keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(new_set).to_be_focused()
    keyboard.press("Enter", "Tab", "Enter")
    expect(panel.locator(".set-game")).to_have_count(1)
    expect(new_set).to_be_focused()


def leave(page: Page, keyboard: Keyboard) -> None:
    """Return to the wall, which has kept its filter, and log out."""
    keyboard.press("Escape")
    expect(page.get_by_role("link", name="main", exact=True)).to_be_focused()
    expect(page.locator(".tile")).to_have_count(1)
    keyboard.tab_to(page.get_by_role("searchbox"), "Shift+Tab")
    keyboard.press("Escape")
    expect(page.locator(".tile")).to_have_count(2)
    keyboard.tab_to(page.get_by_role("button", name="Log out"))
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_label("Access token")).to_be_focused()
