"""The dashboard in a real browser, with a tournament of 16 setups that play simultaneously.

Determinism: the matches are synthetic. Tests wait for the page's contents, with a deadline, and compare the final
display with the logs of the files, so speed does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.game.described import DescribedGame
from slpstream.web import schemas
from tests.browsers.held import Held
from tests.browsers.pages import LONG_MS, PHONE, WIDE, WatchedPage, open_page
from tests.daemons.demo import Demo, demo
from tests.daemons.process import DaemonProcess, configured, running
from tests.formats.slippi.renumbered import renumbered
from tests.synthetic.match import synthetic_match
from tests.web import setups

pytestmark = pytest.mark.parts("demo", "editor", "scenes", "wall")

NAMES = ("Vixen", "Altea")


SEEN = """() => {
    const view = document.querySelector("stage-view");
    const canvas = view?.querySelector("canvas");
    return [view?.dataset.describedFrame, canvas?.getAttribute("aria-label"), canvas?.toDataURL()];
}"""
"""The frame, the text and the picture of the stage view."""


@pytest.fixture(scope="module")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo(log=tmp_path_factory.mktemp("demo") / "stderr") as playing:
        yield playing


def shown_values(row_of: Any) -> dict[int, tuple[str, str]]:
    """Percent and stocks by player index, as displayed."""
    rows = row_of.locator(".player").all()
    return {
        int(row.get_attribute("data-index") or -1): (
            row.locator(".percent").text_content() or "",
            row.locator(".stocks .hidden").text_content() or "",
        )
        for row in rows
    }


def written(values: dict[int, tuple[float, int]]) -> dict[int, tuple[str, str]]:
    """The values of a log, formatted like on the page."""
    return {
        index: ("out" if stocks == 0 else f"{int(percent)}%", "1 stock" if stocks == 1 else f"{stocks} stocks")
        for index, (percent, stocks) in values.items()
    }


def test_sixteen_simultaneous_setups(browser: Browser, tmp_path: Path) -> None:
    with (
        running(*setups.folders(tmp_path)) as daemon,
        open_page(browser, viewport=WIDE, color_scheme="dark") as wide,
        open_page(browser, viewport=PHONE, color_scheme="dark", has_touch=True) as phone,
    ):
        daemon.wait_ready()
        page, small = wide.page, phone.page
        for each in (page, small):
            each.goto(f"{daemon.url}/")
            expect(each.locator(".station")).to_have_count(setups.COUNT)
        with setups.written(tmp_path) as let_end:
            expect(page.locator(".state[data-state=playing]")).to_have_count(setups.COUNT)
            page.get_by_role("link", name="setup02").click()
            small.get_by_role("link", name="setup07").tap()
            for each in (page, small):
                each.wait_for_selector("stage-view[data-described-frame]:not([data-described-frame=''])")
                assert each.evaluate("document.documentElement.scrollWidth") == each.evaluate("innerWidth")
            assert "Port Town, Captain Falcon" in small.evaluate(SEEN)[1]
            texts = watch_stage(page)

            for each in (page, small):
                each.get_by_role("link", name="All stations").click()
                expect(
                    each.locator(".station .percent").filter(has_text=re.compile(r"[1-9]\d%")).nth(3)
                ).to_be_visible()
                expect(each.locator(".station .lag").filter(has_text="lag").nth(3)).to_be_visible()
                assert each.evaluate("document.documentElement.scrollWidth") == each.evaluate("innerWidth")
                expect(each.locator(".count")).to_have_text("16 of 16 playing")

            small.get_by_role("link", name="setup07").tap()
            let_end()
            expect(page.locator(".station[data-ended=true]")).to_have_count(setups.COUNT, timeout=LONG_MS)
        endings = [setups.ending(setups.path_of(tmp_path, i)) for i in range(setups.COUNT)]
        check_endings(page, endings)
        check_words(texts, setups.path_of(tmp_path, 1))
        page.get_by_role("link", name="setup02").click()
        check_summary(page, endings[1])
        expect(small.locator(".panel")).to_have_attribute("data-ended", "true")
        assert shown_values(small.locator(".panel")) == written(endings[6].values)
        wide.check(daemon.url)
        phone.check(daemon.url)


def watch_stage(page: Page) -> dict[int, str]:
    """Wait until the picture and its text have changed; return the texts by frame number."""
    pictures: set[str] = set()
    texts: dict[int, str] = {}
    while len(texts) < 2 or len(pictures) < 3:
        frame, words, picture = page.evaluate(SEEN)
        assert words is not None, "the game ended before the page showed it"
        pictures.add(picture)
        texts[int(frame)] = words
        page.wait_for_timeout(100)
    return texts


def check_endings(page: Page, endings: list[setups.Ending]) -> None:
    """Check that every card has the values of the last frame, and the winner."""
    for i, ending in enumerate(endings):
        card = page.locator(f".station[data-station={setups.NAMES[i]}]")
        assert card.get_attribute("data-game") == ending.game_id
        for index, (percent, _) in written(
            ending.values
        ).items():  # cards without the last frame wait for the list of games
            expect(card.locator(f".player[data-index='{index}'] .percent")).to_have_text(percent)
        assert shown_values(card) == written(ending.values), setups.NAMES[i]
        won = card.locator(".player.won")
        assert sorted(int(row.get_attribute("data-index") or -1) for row in won.all()) == sorted(ending.winners)
    assert any(percent > 0 for ending in endings for percent, _ in ending.values.values())


def check_words(texts: dict[int, str], path: Path) -> None:
    """Check the text of the stage view against the log of its frame."""
    frames = {line["frame"]["frame"]: line["frame"] for line in setups.lines(path, "frame")}
    names = {0: "Vixen, Ice Climbers", 1: "Altea, Marth"}
    for number, words in texts.items():
        stage, *players = words.removeprefix("Stage view: ").removesuffix(".").split(". ")
        assert stage == "Fountain of Dreams"
        assert len(players) == len(names)
        for index, name in names.items():
            post = frames[number]["players"][str(index)]["post"]
            facing = "right" if post["facingDirection"] > 0 else "left"
            begin = f"{name}, {int(post['percent'])} percent, 1 stock, "
            assert players[index].startswith(begin), (number, words)
            assert players[index].endswith((f"facing {facing}", "losing a stock")), (number, words)


def check_summary(page: Page, ending: setups.Ending) -> None:
    """Check the card after the game against the last stats."""
    panel = page.locator(".panel")
    expect(panel).to_have_attribute("data-ended", "true")
    expect(panel.locator(".result")).to_have_text(re.compile("wins$"))
    expect(panel.locator("stage-view")).to_be_hidden()
    stats = ending.stats
    overall = {each["playerIndex"]: each for each in stats["overall"]}
    expect(table_row(page, "Kills")).to_have_text([str(overall[i]["killCount"]) for i in (0, 1)])
    expect(table_row(page, "Damage dealt")).to_have_text([f"{overall[i]['totalDamage']:.0f}%" for i in (0, 1)])
    counts = {each["playerIndex"]: each["lCancelCount"] for each in stats["actionCounts"]}
    landed = [f"{counts[i]['success']}/{counts[i]['success'] + counts[i]['fail']}" for i in (0, 1)]
    expect(table_row(page, "L-cancels")).to_have_text([re.compile(f"^{text} ·|^–$") for text in landed])
    won = [
        sum(c["openingType"] == "neutral-win" and c["moves"][0]["playerIndex"] == i for c in stats["conversions"])
        for i in (0, 1)
    ]
    expect(table_row(page, "Neutral wins")).to_have_text([str(count) for count in won])
    expect(panel.locator("percent-plot canvas")).to_have_attribute("aria-label", re.compile("^Percent over 0:"))


def table_row(page: Page, name: str) -> Any:
    """The cells of a row of the summary."""
    return (
        page.locator(".numbers tbody tr").filter(has=page.get_by_role("rowheader", name=name, exact=True)).locator("td")
    )


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_reduced_motion(browser: Browser, playing: Demo, motion: Literal["reduce", "no-preference"]) -> None:
    """Users who prefer reduced motion get only a few pictures per second."""
    gaps = """async () => {
        const view = document.querySelector("stage-view");
        const shown = [];
        const look = () => shown.push(Number(view.dataset.frame));
        new MutationObserver(look).observe(view, { attributeFilter: ["data-frame"] });
        while (shown.length < 5) await new Promise((resolve) => setTimeout(resolve, 50));
        return shown.slice(1).map((frame, i) => frame - shown[i]);
    }"""
    with open_page(browser, viewport=PHONE, reduced_motion=motion) as watched:
        watched.page.goto(f"{playing.url}/")
        watched.page.wait_for_selector("stage-view[data-described-frame]:not([data-described-frame=''])")
        between = watched.page.evaluate(gaps)
    assert min(between) >= 8 if motion == "reduce" else min(between) < 8, between


def test_game_that_ended_before_page_load_is_complete(watched: WatchedPage, page: Page, folder: Path) -> None:
    """The card of the game is complete, with a plot from the first frame."""
    with running(folder) as daemon:
        daemon.wait_ready()
        path = folder / "Game_1.slp"
        path.write_bytes(synthetic_match(seed=3, stocks=1, stage_id=2))
        daemon.until(lambda: daemon.get("/v1/stations")["stations"][0].get("game", {}).get("inProgress") is False)
        page.goto(f"{daemon.url}/")
        ending = setups.ending(path)
        expect(page.locator(".panel")).to_have_attribute("data-ended", "true")
        widths = page.locator(".panel .player .who").evaluate_all("all => all.map((who) => who.clientWidth)")
        assert len(set(widths)) == 1, "the winner's name has the same width"
        check_summary(page, ending)
        expect(page.locator(".panel .kills li")).to_have_count(1)
        lost = next(stock for stock in ending.stats["stocks"] if "endPercent" in stock)
        expect(page.locator(".panel .kills")).to_contain_text(
            f"{NAMES[lost['playerIndex']]} at {int(lost['endPercent'])}%"
        )
        game = page.locator(".games .game")
        expect(game).to_contain_text(f"{NAMES[ending.winners[0]]} wins")
        game.get_by_role("link", name="Vixen vs Altea").click()
        expect(page.locator("#detail-title")).to_have_text("Vixen vs Altea")
        expect(table_row(page, "Kills")).to_have_text(
            [str(int(index in ending.winners)) for index in range(len(NAMES))]
        )
        assert shown_values(page.locator(".panel")) == written(ending.values)
        watched.check(daemon.url)


def test_shared_game_is_shown_at_the_station_where_it_ended(page: Page, tmp_path: Path) -> None:
    """The other station has the beginning of the same replay, which may still grow."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    data = synthetic_match(seed=3, stocks=1, stage_id=2)
    (whole / "Game_1.slp").write_bytes(data)
    (cut / "Game_1.slp").write_bytes(data[: len(data) // 2])
    with running(whole, cut) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get("/v1/games?station=whole")["games"])
        winner = f"{NAMES[setups.ending(whole / 'Game_1.slp').winners[0]]} wins"
        page.goto(f"{daemon.url}/")
        expect(page.locator("[data-station=whole]").first).to_contain_text(winner)
        page.goto(f"{daemon.url}/scenes/game-result/whole")
        expect(page.locator(".outcome")).to_have_text(winner)


def test_game_with_high_frame_numbers_starts_at_its_first_frame(page: Page, tmp_path: Path) -> None:
    """Slo-Mo Melee: the first frame is known from the stats, which arrive after the list.

    No frame is shown before that frame has arrived.
    """
    first = 262_433
    game = renumbered(synthetic_match(seed=3, stocks=1, stage_id=2), lambda number: number + 123 + first)
    (tmp_path / "Game_1.slp").write_bytes(game)
    with running(tmp_path) as daemon:
        daemon.wait_ready()
        page.goto(f"{daemon.url}/")
        held = Held(page, "**/frames?*")
        with page.expect_response("**/stats"):
            page.locator(".games .game .open").click()
        page.wait_for_timeout(300)
        expect(page.locator(".panel.loading")).to_have_count(1, timeout=1000)
        held.release()
        expect(page.locator(".panel stage-view")).to_be_visible(timeout=LONG_MS)
        bar = page.locator(".panel replay-bar")
        expect(bar).to_have_attribute("data-waiting", "false")
        expect(bar.locator("[type=range]")).to_have_value(str(first))


def test_operators_names_and_order_are_shown_everywhere(page: Page, tmp_path: Path) -> None:
    folder, other = tmp_path / "setup-1", tmp_path / "setup-2"
    stations = ""
    for each, name in ((folder, "Main stage"), (other, "Side stage")):
        each.mkdir()
        stations += f"[[stations]]\nid = '{each.name}'\nname = '{name}'\nfolder = '{each}'\n"
    with configured(tmp_path, stations) as daemon:
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, stocks=1, stage_id=2))
        daemon.until(lambda: any(game.get("reason") for game in daemon.get("/v1/games")["games"]))
        [game] = daemon.get("/v1/games")["games"]
        first, second = (player["index"] for player in game["players"])
        patch = {"names": {str(first): "Annabel", str(second): "Bobby"}, "swapped": True}
        assert daemon.request("PATCH", "/v1/stations/setup-1/set", patch)[0] == 200
        page.goto(f"{daemon.url}/")
        shown = ["Bobby", "Annabel"]
        expect(page.locator("[data-station=setup-1]").first.locator(".players .name")).to_have_text(shown)
        expect(page.locator(".games .game .open")).to_have_text("Annabel vs Bobby")
        page.goto(f"{daemon.url}/#game/{game['gameId']}")
        expect(page.locator("#detail-title")).to_have_text("Annabel vs Bobby")
        page.goto(f"{daemon.url}/#station/setup-1")
        expect(page.locator(".panel .players .name")).to_have_text(shown)
        expect(page.locator(".panel .highlights .what").first).to_contain_text(re.compile("Annabel|Bobby"))
        page.goto(f"{daemon.url}/scenes/ticker")
        expect(page.locator(".items .station").first).to_have_text("Main stage")
        page.goto(f"{daemon.url}/scenes/up-next/setup-2")
        expect(page.locator(".queue .station").first).to_have_text("Main stage")


def test_recent_games_show_both_times_if_they_differ(page: Page, empty_daemon: DaemonProcess) -> None:
    described = msgspec.to_builtins(schemas.described(DescribedGame.of_payloads("0", {}, None).summary()))
    item = {
        "format": "gci",
        "station": "main",
        "stations": ["main"],
        "inProgress": False,
        "reason": "game_end",
        **described,
    }
    times = {
        "0" * 32: {"arrivedAt": "2025-02-03T14:05:06Z", "startedAt": "2001-12-24T03:04:05Z"},
        "1" * 32: {"arrivedAt": "2025-02-03T14:05:06Z", "startedAt": "2025-02-03T14:05:00Z"},
        "2" * 32: {"startedAt": "2001-12-24T03:04:05Z"},
    }
    games = [{"gameId": game_id, **item, **moments} for game_id, moments in times.items()]
    page.route("**/v1/games?*", lambda route: route.fulfill(json={"games": games}))
    page.goto(f"{empty_daemon.url}/")
    shown, details = page.locator(".games .game time"), page.locator(".games .details")
    expect(shown).to_have_count(3)
    expect(shown.nth(0)).to_contain_text("2025")
    expect(details.nth(0)).to_contain_text(re.compile(r"own clock: .*2001"))
    for place in (1, 2):
        expect(details.nth(place)).not_to_contain_text("own clock")
    expect(shown.nth(2)).to_contain_text("2001")
    expect(details.nth(0)).to_be_hidden()
    page.locator("#game-query").focus()
    page.keyboard.press("Tab")
    expect(details.nth(0)).to_be_visible()
    page.keyboard.press("Escape")
    expect(details.nth(0)).to_be_hidden()


def test_links_to_missing_parts_are_hidden(watched: WatchedPage, page: Page, empty_daemon: DaemonProcess) -> None:
    links = page.locator(".to-wall, .to-audit, .to-editor, .links a[href=docs]")
    page.goto(empty_daemon.url)
    expect(links.filter(visible=True)).to_have_count(4)
    page.route("**/v1/pages", lambda route: route.fulfill(json={"pages": [], "parts": []}))
    for path in ("seats", "bracket", "audit"):
        page.route(f"**/v1/{path}", lambda route: route.fulfill(status=404, json={"detail": "Not Found"}))
    page.reload()
    expect(links.filter(visible=True)).to_have_count(0)
    expect(page.get_by_role("heading", name="slpstream")).to_be_visible()
