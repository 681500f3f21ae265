"""The page `/commentary/STATION` in a real browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browsers.axe import check_with_axe, needs_axe
from tests.browsers.pages import PHONE, open_page
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import configured
from tests.synthetic.match import synthetic_match


@needs_axe
def test_sentences_appear(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with (
        configured(tmp_path, "", folder) as daemon,
        open_page(browser, viewport=PHONE, bypass_csp=True) as watched,
    ):
        page = watched.page
        with page.expect_response("**/commentary?*"):
            page.goto(f"{daemon.url}/commentary/main?lang=es")
        game = PlayedGame(folder / "Game_1.slp", synthetic_match(seed=5))
        game.write(100_000)
        sentences = page.get_by_role("log").get_by_role("listitem")
        expect(sentences).to_have_text(["Vixen con Fox contra Altea con Marth, en Battlefield."])
        expect(page.get_by_role("heading")).to_have_text("main en palabras")
        check_with_axe(page)
        watched.check(daemon.url)
