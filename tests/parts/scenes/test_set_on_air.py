"""A set of five games from its announcement to its end, with the dashboard of an operator and every scene open.

Each game, of one stock, is written to the folder of a real daemon in two parts: first in progress, then to its end.
Every page records the texts that it has shown, so that a wrong text is found even if it appears only for a moment.

A correction must be on every page within a second of the daemon's answer. A timer in each page counts the second; it
fires late when the machine stalls, so a correction that was late somewhere is repeated, up to five times. A page that
waits for one of its own timers is late every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import playwright.sync_api
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsers.pages import LONG_MS, WatchedPage, open_page
from tests.daemons.process import DaemonProcess
from tests.parts.scenes.on_air import scene_address
from tests.replays.in_progress import begun
from tests.sets.bundled_set import GAMES, SCORES, STAGES, WINNERS, best_of_five, short_game_of_the_set

pytestmark = pytest.mark.parts("dashboard", "on_air")

MAX_ATTEMPTS = 5
TICK_MS = 50
SECOND_TICKS = 1000 // TICK_MS
DURATIONS = ("0:10", "0:11", "0:10", "0:13", "0:07")
LAST_STOCKS = (
    "Vixen: Up Air at 81%",
    "Altea: Forward Smash at 103%",
    "Vixen: Forward Smash at 88%",
    "Altea: Forward Smash at 111%",
    "Altea: Forward Smash at 97%",
)
DECISIVE = f"{LAST_STOCKS[-1]} on {STAGES[-1]}"
READ: Mapping[str, Mapping[str, str]] = {
    "live": {
        "names": ".player .name",
        "scores": ".player .score",
        "stage": ".match .stage",
        "outcome": ".result .outcome",
        "line": ".best-of",
        "champion": ".champion-name, .champion-score",
        "round": ".round",
    },
    "versus": {"names": ".side .name", "scores": ".score", "stage": ".foot .stage", "round": ".heading .round"},
    "game-result": {"outcome": ".outcome", "which": ".heading .detail", "names": ".column .name", "won": ".won .name"},
    "set-result": {
        "title": "h1",
        "names": ".side .name",
        "won": ".side.won .name",
        "scores": ".side .score",
        "stages": ".set-game .stage",
        "winners": ".set-game .name",
        "running": ".set-game .running",
        "decisive": ".decisive .words",
    },
    "up-next": {"kicker": ".kicker", "names": ".side .name", "round": ".heading .round"},
    "replay": {"caption": ".caption"},
    "controller": {"names": ".pad .name"},
    "ticker": {"items": ".items[aria-hidden=false] .item"},
    "operator": {
        "names": ".detail .players .name",
        "points": ".detail .points",
        "games": ".set-game .what",
        "result": ".panel .result",
        "won": ".detail .players .won .name",
    },
}
"""The texts that are read from each page, by selector."""
WATCH = """([selectors, tick]) => {
    const texts = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility())
        .map((each) => each.innerText.replaceAll(/\\s+/g, " ").trim()).filter(Boolean);
    const read = () => Object.fromEntries(Object.entries(selectors).map(([name, selector]) => [name, texts(selector)]));
    window.shown = [];
    window.ticks = [];
    const note = () => {
        const now = read();
        if (JSON.stringify(now) !== JSON.stringify(window.shown.at(-1)?.[1])) {
            window.shown.push([Date.now(), now]);
        }
    };
    const everything = { attributes: true, childList: true, characterData: true, subtree: true };
    new MutationObserver(note).observe(document.body, everything);
    setInterval(() => window.ticks.push(Date.now()), tick);
    note();
}"""

Shown = dict[str, list[str]]


class Broadcast:
    """All pages, open simultaneously."""

    def __init__(self, first: WatchedPage, daemon: DaemonProcess) -> None:
        self.pages: dict[str, Page] = {}
        for name, selectors in READ.items():
            page = first.page if not self.pages else first.page.context.new_page()
            self.pages[name] = page
            is_scene = name != "operator"
            scene = scene_address(daemon, name, "?hold=10m" if name == "live" else "")
            page.goto(scene if is_scene else f"{daemon.url}/#station/station")
            page.locator("[data-phase]" if is_scene else ".detail .set .side").first.wait_for()
            page.evaluate(WATCH, [selectors, TICK_MS])

    def record(self, name: str) -> list[tuple[float, Shown]]:
        """All texts that a page has shown, each with its time in milliseconds."""
        shown: list[tuple[float, Shown]] = self.pages[name].evaluate("window.shown")
        return shown

    def now(self) -> dict[str, Shown]:
        """The current texts of all pages."""
        return {name: self.record(name)[-1][1] for name in self.pages}

    def show(self, **expected: Mapping[str, list[str]]) -> None:
        """Wait until pages show these texts."""
        for name, texts in expected.items():
            self.shows(name.replace("_", "-"), texts)

    def shows(self, name: str, texts: Mapping[str, list[str]]) -> None:
        """Wait until a page shows these texts, besides others."""
        try:
            self.pages[name].wait_for_function(
                "wanted => Object.entries(wanted).every(([name, texts]) =>"
                " JSON.stringify(window.shown.at(-1)[1][name]) === JSON.stringify(texts))",
                arg=dict(texts),
                timeout=LONG_MS,
            )
        except playwright.sync_api.TimeoutError:
            got = {key: value for key, value in self.record(name)[-1][1].items() if key in texts}
            raise AssertionError(f"{name}: {got} is not {dict(texts)}") from None

    def ticks_until(self, name: str, answered_ms: float, texts: Mapping[str, list[str]]) -> int:
        """The ticks of a page from the daemon's answer until it started to show these texts."""
        record = self.record(name)
        since = len(record)
        while since > 0 and all(record[since - 1][1][key] == value for key, value in texts.items()):
            since -= 1
        ticks: list[float] = self.pages[name].evaluate("window.ticks")
        return sum(answered_ms < tick <= record[since][0] for tick in ticks)


def answered(page: Page, act: Callable[[], object]) -> float:
    """The time, in milliseconds, at which the daemon answered the operator's request."""
    with page.expect_response(lambda response: response.request.method in ("PATCH", "POST")) as waiting:
        act()
    response = waiting.value
    assert response.status == 200, response.text()
    response.finished()
    timing = response.request.timing
    return timing["startTime"] + timing["responseEnd"]


def late(air: Broadcast, answered_ms: float, expected: Mapping[str, Mapping[str, list[str]]]) -> set[str]:
    """The pages that do not show these texts within a second of the answer. All pages must show them in the end."""
    for name, texts in expected.items():
        air.shows(name, texts)
    return {name for name, texts in expected.items() if air.ticks_until(name, answered_ms, texts) > SECOND_TICKS}


def correct_and_undo(air: Broadcast, act: Callable[[Locator], object], what: str, changed: dict[str, Any]) -> None:
    """Check that an operator's correction, and then its undo, is on every page within a second."""
    before = air.now()
    operator = air.pages["operator"]
    assert all(before[name][key] != value for name, texts in changed.items() for key, value in texts.items())
    always_late = {*changed, *before}
    for _ in range(MAX_ATTEMPTS):
        at = answered(operator, lambda: act(operator.locator(".detail .set")))
        late_now = late(air, at, changed)
        newest = operator.locator(".change").first
        expect(newest.locator(".what")).to_have_text(what)
        at = answered(operator, newest.get_by_role("button", name="Undo").click)
        always_late &= late_now | late(air, at, before)
        expect(operator.locator(".change .what").first).to_contain_text("Undone: ")
        if not always_late:
            return
    raise AssertionError(f"{what}: late on {always_late}")


def test_a_set_of_five_games_on_air(browser: Browser, tmp_path: Path) -> None:
    with best_of_five(tmp_path) as (daemon, folder), open_page(browser, reduced_motion="reduce") as watched:
        air = Broadcast(watched, daemon)
        announce(air)
        for play in range(1, GAMES + 1):
            end = begun(folder / f"Game_{play}.slp", short_game_of_the_set(play))
            during(air, play)
            if play == 3:
                corrections_in_mid_game(air)
            end()
            after(air, play)
        decided(air)
        titles = [shown["title"] for _, shown in air.record("set-result")]
        assert titles[0] == []
        winners = [f"{name} wins the set 3–2" for name in ("Altea", "Vixen")]  # one by a correction
        assert {title for each in titles for title in each} == {"The set so far", *winners}
        assert all(len(shown["outcome"]) <= 1 for _, shown in air.record("game-result"))
        assert all(len(shown["items"]) == 1 for _, shown in air.record("ticker")[1:])
        watched.check(daemon.url)


def announce(air: Broadcast) -> None:
    """Enter names and round before the first game."""
    panel = air.pages["operator"].locator(".detail .set")
    for label, words in (
        ("Name of the player on port 1", "Vixen"),
        ("Name of the player on port 2", "Altea"),
        ("Round", "Grand Final"),
    ):
        field = panel.get_by_role("textbox", name=label)
        field.fill(words)
        field.press("Enter")
    both = ["Vixen", "Altea"]
    air.show(
        live={"names": both, "scores": ["0", "0"], "line": ["Best of 5"], "round": ["Grand Final"], "outcome": []},
        versus={"names": both, "scores": [], "stage": [], "round": ["Grand Final"]},
        up_next={"kicker": ["Up next"], "names": both, "round": ["Grand Final"]},
        ticker={"items": ["station Vixen 0 Altea 0 Up next · Grand Final"]},
        set_result={"title": [], "scores": []},
        game_result={"outcome": []},
        replay={"caption": []},
    )


def scores_before(play: int) -> list[str]:
    return ["0", "0"] if play == 1 else SCORES[play - 2].split("–")


def games_over(count: int) -> list[str]:
    """The first games of the set as shown to the operator."""
    return [f"Game {n + 1} · {STAGES[n]} · {WINNERS[n]} won" for n in range(count)]


def during(air: Broadcast, play: int) -> None:
    """The texts during a game: names and score, and the results of the previous games."""
    scores, both = scores_before(play), ["Vixen", "Altea"]
    air.show(
        live={"names": both, "scores": scores, "stage": [STAGES[play - 1]], "outcome": [], "line": ["Best of 5"]},
        versus={"names": both, "scores": [] if play == 1 else scores, "stage": [STAGES[play - 1]]},
        controller={"names": both},
        up_next={"kicker": [], "names": []},
        ticker={"items": [f"station Vixen {scores[0]} Altea {scores[1]} Live · Grand Final"]},
        operator={
            "names": both,
            "points": scores,
            "games": [*games_over(play - 1), f"Game {play} · {STAGES[play - 1]}"],
        },
    )
    if play > 1:
        air.show(
            set_result={"title": ["The set so far"], "running": SCORES[: play - 1], "won": [], "decisive": []},
            game_result={"outcome": [f"{WINNERS[play - 2]} wins"]},
        )


def after(air: Broadcast, play: int) -> None:
    """The texts after a game: its result everywhere, and the score."""
    winner, scores, won = WINNERS[play - 1], SCORES[play - 1].split("–"), play == GAMES
    title = ["Altea wins the set 3–2"] if won else ["The set so far"]
    state = "Finished" if won else "Live"
    air.show(
        live={
            "outcome": [] if won else [f"{winner} wins"],
            "scores": scores,
            "line": [] if won else ["Best of 5"],
            "champion": ["Altea", "3–2"] if won else [],
        },
        versus={"scores": scores, "stage": []},
        game_result={
            "outcome": [f"{winner} wins"],
            "won": [winner],
            "names": ["Vixen", "Altea"],
            "which": [f"Game {play}", STAGES[play - 1], DURATIONS[play - 1]],
        },
        replay={"caption": [LAST_STOCKS[play - 1]]},
        set_result={
            "title": title,
            "scores": scores,
            "stages": STAGES[:play],
            "winners": WINNERS[:play],
            "running": SCORES[:play],
            "won": ["Altea"] if won else [],
            "decisive": [DECISIVE] if won else [],
        },
        ticker={"items": [f"station Vixen {scores[0]} Altea {scores[1]} {state} · Grand Final"]},
        operator={"points": scores, "games": games_over(play), "result": [f"{winner} wins"], "won": [winner]},
    )


def same_texts(pages: Iterable[str], texts: Shown) -> dict[str, Shown]:
    """The same texts for several pages."""
    return {name: dict(texts) for name in pages}


def corrections_in_mid_game(air: Broadcast) -> None:
    """Correct a name, the winner of game 2, and left and right in game 3, at 1-1."""

    def rename(panel: Locator) -> None:
        field = panel.get_by_role("textbox", name="Name of the player on port 2")
        field.fill("Alto")
        field.press("Enter")

    renamed = {"names": ["Vixen", "Alto"]}
    swapped = {"names": ["Altea", "Vixen"]}
    correct_and_undo(
        air,
        rename,
        "Name of Altea: Altea → Alto",
        {
            **same_texts(("live", "versus", "controller", "operator"), renamed),
            "game-result": {**renamed, "outcome": ["Alto wins"]},
            "set-result": {**renamed, "winners": ["Vixen", "Alto"]},
            "ticker": {"items": ["station Vixen 1 Alto 1 Live · Grand Final"]},
        },
    )
    correct_and_undo(
        air,
        lambda panel: panel.get_by_label("Winner of game 2").select_option("Vixen"),
        "Winner of game 2: Automatic → Vixen",
        {
            **same_texts(("live", "versus"), {"scores": ["2", "0"]}),
            "set-result": {"scores": ["2", "0"], "winners": ["Vixen", "Vixen"], "running": ["1–0", "2–0"]},
            "game-result": {"outcome": ["Vixen wins"], "won": ["Vixen"]},
            "operator": {"points": ["2", "0"]},
            "ticker": {"items": ["station Vixen 2 Altea 0 Live · Grand Final"]},
        },
    )
    correct_and_undo(
        air,
        lambda panel: panel.get_by_role("button", name="Swap left and right").click(),
        "Left and right: as played → swapped",
        {
            **same_texts(("live", "versus", "controller", "game-result", "set-result"), swapped),
            "ticker": {"items": ["station Altea 1 Vixen 1 Live · Grand Final"]},
        },
    )


def decided(air: Broadcast) -> None:
    """After the set, give the last game to the other player, and undo that."""
    correct_and_undo(
        air,
        lambda panel: panel.get_by_label("Winner of game 5").select_option("Vixen"),
        "Winner of game 5: Automatic → Vixen",
        {
            "live": {"scores": ["3", "2"], "champion": ["Vixen", "3–2"]},
            "game-result": {"outcome": ["Vixen wins"], "won": ["Vixen"]},
            "set-result": {"title": ["Vixen wins the set 3–2"], "won": ["Vixen"], "scores": ["3", "2"]},
            "operator": {"points": ["3", "2"], "result": ["Vixen wins"], "won": ["Vixen"]},
            "ticker": {"items": ["station Vixen 3 Altea 2 Finished · Grand Final"]},
        },
    )
