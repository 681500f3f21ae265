"""Every scene, layout and language, at every moment of a set, with real and hostile names: no two texts overlap.

The messages of one set are recorded here with placeholders for everything that people write. `drawing.js` replaces the
clock and the daemon of a page, so that it draws the set with one pair of names after another, without waiting. Requests
to the API are answered as for the example of the scenes. A new scene is drawn as soon as `STATION_SCENES` has it.
The scene of the director gets the messages as those of each of its stations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from slpstream.parts.scenes.pages import STATION_SCENES
from tests.browsers.pages import open_page
from tests.daemons.process import DaemonProcess
from tests.marks import release
from tests.parts.scenes.on_air import (
    CROWDED,
    CUT,
    FIGURES,
    GAME,
    LAYOUTS,
    LEFT_THEIR_BOX,
    NAMES,
    OVERLAPS,
    THEMES,
    TIMER,
    Messages,
    scene_address,
)

DRAWING = Path(__file__).with_name("drawing.js")
SCENES = (*STATION_SCENES, "ticker")
LANGUAGES = ("en", "ja", "es")
HOLD_MS = 10_000
EVENTS = (
    "The Big Field 12",
    "Super Battle Opera Melee Singles 2026 presented by ACME",
    "全国スマッシュブラザーズ大会",
    "",
)
ROUNDS = ("Winners Final", "Losers Quarterfinal, Top 8 Bracket of Pool B", "勝者側決勝", "")
CASTERS = ("Toph", "N" * 40, "実況のひと", "Fly Amanita")
BOTH = ("@left@", "@right@")
FOUR = ("@left@", "@right@", "@left2@", "@right2@")
STAGES = (31, 2, 3, 32, 28)
WINNERS = (0, 1, 0, 1, 0)
"""The sides that win the games of the set."""
DETAILS = {0: {"pronouns": "they/them", "seed": 12}, 1: {"seed": 3}}
NEVER_MET: Mapping[str, Any] = {"opponents": (), "headToHead": {"sets": [0, 0], "games": [0, 0]}}
MET_OFTEN: Mapping[str, Any] = {
    "opponents": FOUR,
    "headToHead": {"sets": [14, 12], "games": [33, 27], "limited": True}
    | {"last": {"at": "2026-11-12T20:15:00Z", "score": [2, 3]}},
}
"""Values of the matchup before and after the first game of the set."""
WRITTEN = {"round": "@round@", "event": "@event@", "casters": ["@caster@", "Scar"], "details": DETAILS}


class Recording(Messages):
    """The messages of one moment after another. The ids of their games are placeholders, too."""

    def __init__(self) -> None:
        self.moments: dict[str, list[Any]] = {}
        self.pauses: dict[str, int] = {}
        self.game = 0
        self._messages: list[Any] = []

    def send(self, message: Mapping[str, Any]) -> None:
        self._messages.append(json.loads(json.dumps(message).replace(GAME, f"@game{self.game}@")))

    def moment(self, name: str, pause_ms: int = 0) -> None:
        """Give a name to the page after the messages so far, and a pause."""
        self.moments[name], self.pauses[name] = self._messages, pause_ms
        self._messages = []

    def score(self, played: int, names: Sequence[str] = BOTH, **values: Any) -> None:
        """The set after some games."""
        score = [0, 0]
        games = []
        for number, winner in enumerate(WINNERS[:played], 1):
            score[winner] += 1
            players = [
                {"playerIndex": i, "port": i + 1, "side": i % 2, "characterId": (2, 9, 20, 0)[i], "characterColor": 1,
                 "stocks": 2 if i % 2 == winner else 0}
                for i in range(len(names))
            ]  # fmt: skip
            games.append(
                {"gameId": f"@game{number}@", "stageId": STAGES[number - 1], "winner": winner, "score": [*score],
                 "players": players, "verdict": "counted", "counts": True, "reason": "", "durationSeconds": 207}
            )  # fmt: skip
        self.set(names, score, **(WRITTEN | {"games": games} | values))
        if len(names) == 2:
            self.matchup(names, **(NEVER_MET if played == 0 else MET_OFTEN))

    def begin(self, number: int, names: Sequence[str] = BOTH, **values: Any) -> None:
        self.game = number
        self.station("playing", GAME)
        self.start(*names, stage=STAGES[number - 1], **values)
        self.frame(1200, *(134, 999, 88, 0)[: len(names)], stocks=(2, 3, 4, 1))

    def others(self) -> None:
        """The sets of other stations."""
        for number in range(1, 4):
            self.set(
                ("@right@", "@left@"), (1, number), station=f"setup{number}", round="@round@",
                **({"state": "over", "winner": 1, "setId": "1" * 32} if number == 3 else {}),
            )  # fmt: skip


def recorded_set() -> Recording:
    """A set of five games on a station, from before its players are known until the next set, and one of doubles."""
    set = Recording()
    set.send({"type": "restart"})
    set.station("idle")
    set.score(0, ("", ""), state="upcoming")
    set.moment("nobody yet")
    set.score(0, state="upcoming")
    set.others()
    set.moment("before the first game")
    set.begin(1)
    set.score(0)
    set.odds(1170, 0.5)
    set.odds(1200, 0.3)
    set.moment("in game")
    set.combo(1200, 10, 4, 7.5, 12, 12)
    set.ko(1201, 0, 1, 187)
    set.moment("stock taken")
    set.end(0)
    set.station("idle")
    set.score(1)
    set.moment("game over")
    set.moment("between games", HOLD_MS)
    set.send({"type": "restart"})
    set.station("idle")
    set.score(1)
    set.moment("daemon restarted")
    set.begin(5)
    set.score(4)
    set.frame(1300, 134, 47, stocks=(1, 1))
    set.odds(1290, 0.0031)
    set.moment("match point")
    set.start(*BOTH, stage=28, summary={"suddenDeath": True})
    set.frame(1400, 300, 300, stocks=(1, 1))
    set.moment("sudden death")
    set.end(0)
    set.station("idle")
    set.score(5, state="over", winner=0)
    set.moment("set over")
    set.moment("after the set", HOLD_MS)
    set.station("offline")
    set.moment("station idle")
    set.station("idle")
    set.score(0, ("@right2@", "@left2@"), state="upcoming")
    set.moment("next set called")
    set.score(1, FOUR)
    set.begin(2, FOUR, teams=True)
    set.moment("doubles")
    set.combo(1200, 10, 4, 7.5)
    set.ko(1201, 0, 1, 87)
    set.moment("stock taken in doubles")
    set.end(0, 2)
    set.station("idle")
    set.score(5, FOUR, state="over", winner=0)
    set.moment("doubles over")
    set.moment("after doubles", HOLD_MS)
    return set


SET = recorded_set()
DRAW = f"""async ([root, moments, pauses, sets, themes, display, person, stations]) => {{
  const {{ answerExample }} = await import(`${{root}}/static/scenes/example.js`);
  await drawing.ready();
  const problems = {{}};
  const named = new Set();
  for (const [i, words] of sets.entries()) {{
    const games = (key) => key.replace("game", String(i)).padStart(32, "0");
    const quoted = (key) => JSON.stringify(words[key] ?? games(key)).slice(1, -1);
    const filled = (json) => json.replaceAll(/@(\\w+)@/g, (_, key) => quoted(key));
    const ofEach = (message) =>
      message.station === "station" ? stations.map((station) => ({{ ...message, station }})) : [message];
    const later = (messages) => JSON.parse(filled(JSON.stringify(messages))).flatMap(ofEach);
    drawing.answer = async (path) => {{
      const {{ status, body }} = await answerExample(path);
      const gameId = /games\\/(\\w+)/.exec(path)?.[1] ?? games("game5");
      const json = JSON.stringify(body).replaceAll("e".repeat(32), gameId);
      return {{ status, body: JSON.parse(filled(json.replaceAll("Vixen", "@left@").replaceAll("Altea", "@right@"))) }};
    }};
    document.documentElement.dataset.theme = themes[i % themes.length];
    dispatchEvent(new Event("resize"));
    for (const [moment, messages] of Object.entries(moments)) {{
      await drawing.play(later(messages), pauses[moment]);
      const isLive = document.querySelector(".overlay:not([data-layout=hud])") !== null;
      const over = isLive ? display.flatMap({OVERLAPS}).map((each) => `over the game's own display: ${{each}}`) : [];
      const found = [...({CUT})(), ...({CROWDED})(), ...({LEFT_THEIR_BOX})(), ...over];
      if (found.length > 0) {{
        problems[`${{moment}}: ${{words.left}} against ${{words.right}}`] = [...new Set(found)];
      }}
      const tag = words[person].split(" | ").pop();
      if (document.body.textContent.includes(tag)) named.add(i);
    }}
  }}
  return [problems, named.size];
}}"""
"""Draws the set with each pair of names. Returns the problems by moment, and in how many sets a name was shown."""

STATIONS = ("station", *(f"setup-{number}" for number in range(2, 9)))
STATION_NAMES = ("Setup 1, next to the main stage and the door", "配信台", "WWWWWWWWWWWWWWWWWWWWWWWW", "4")
ANSWER_DIRECTOR = """((stations, names) => {
  const listed = stations.map((id, i) => ({ id, name: names[i % names.length] }));
  drawing.answer = async (path) =>
    ({ status: 200, body: path === "v1/director" ? { station: stations[1], stations } : { stations: listed } });
})"""
"""The stations of the director, of which the second one is large."""


def sets(names: Sequence[str]) -> list[dict[str, str]]:
    """The values of the placeholders, for one set after another."""
    found = []
    for i in range(0, len(names), 2):
        left2, right2 = names[(i + 7) % len(names)], names[(i + 12) % len(names)]
        found.append(
            {"left": names[i], "right": names[i + 1], "left2": left2, "right2": right2, "event": EVENTS[i // 2 % 4],
             "round": ROUNDS[i // 4 % 4], "caster": CASTERS[i // 2 % 4]}
        )  # fmt: skip
    return found


def problems(
    page: Page,
    daemon: DaemonProcess,
    scene: str,
    query: str,
    names: Sequence[str],
    stations: Sequence[str] = STATIONS[:1],
) -> Mapping[str, Any]:
    """Open a scene and draw the set on it with each pair of names. Returns the problems by moment and names."""
    page.goto(scene_address(daemon, scene, f"?{query}&motion=0&hold={HOLD_MS}ms"))
    written = sets(names)
    person = "caster" if scene == "casters" else "left"
    found, named = page.evaluate(
        DRAW, [daemon.url, SET.moments, SET.pauses, written, THEMES, [FIGURES, TIMER], person, stations]
    )
    assert named == len(written), "the scene shows the names"
    assert isinstance(found, dict)
    return found


FEW = tuple(name for i in (10, 36, 40) for name in NAMES[i : i + 2])
"""The names that the gate draws."""
GATE = [(scene, LANGUAGES[i % 3], FEW) for i, scene in enumerate(SCENES)]
ALL = [(scene, language, NAMES) for scene, language in product(SCENES, LANGUAGES)]


@pytest.mark.parametrize(("scene", "language", "names"), [*GATE, *release(*ALL)])
def test_no_text_overlaps_another(
    browser: Browser, empty_daemon: DaemonProcess, scene: str, language: str, names: Sequence[str]
) -> None:
    """Nor does one leave its box or the page, or the live scene cover the display of the game."""
    with open_page(browser) as watched:
        watched.page.add_init_script(path=DRAWING)
        for layout in LAYOUTS if scene == "live" else ("",):
            odds = "&odds=1" if layout in ("sides", "top") or scene == "game-result" else ""
            query = f"lang={language}{odds}" + (f"&layout={layout}" if layout else "")
            assert problems(watched.page, empty_daemon, scene, query, names) == {}, layout or scene
        watched.check(empty_daemon.url)


@pytest.mark.parts("director")
@pytest.mark.parametrize(
    ("count", "query", "language", "names"),
    [
        (8, "odds=1", "ja", FEW), (4, "layout=quad", "es", FEW),
        *release(*(
            (count, query, language, NAMES)
            for (count, query), language in product(
                [*((count, "odds=1") for count in range(2, 9)), (3, "layout=quad"), (4, "layout=quad")], LANGUAGES
            )
        )),
    ],
)  # fmt: skip
def test_no_text_of_the_director_overlaps_another(
    browser: Browser, empty_daemon: DaemonProcess, count: int, query: str, language: str, names: Sequence[str]
) -> None:
    with open_page(browser) as watched:
        stations = STATIONS[:count]
        watched.page.add_init_script(path=DRAWING)
        watched.page.add_init_script(f"{ANSWER_DIRECTOR}({json.dumps([stations, STATION_NAMES])[1:-1]})")
        found = problems(watched.page, empty_daemon, "director", f"{query}&lang={language}", names, stations)
        assert found == {}
        watched.check(empty_daemon.url)


WRONG = {
    "overlap": (".event { position: absolute; }", "event: "),
    "covered": (
        ".match { position: absolute; left: -40rem; padding: 1rem; background: black; z-index: 9; }",
        "covered: ",
    ),
    "cut": (".player .name { margin-left: 30rem; }", "cut: "),
    "covering": (".players { bottom: 6rem !important; }", "over the game's own display: "),
}
"""Stylesheets with a fault, and how the problems begin that must be found."""


def test_overlaps_are_found(browser: Browser, empty_daemon: DaemonProcess) -> None:
    def fulfil(route: Route) -> None:
        name = Path(route.request.url).stem
        route.fulfill(content_type="text/css", body=WRONG[name][0])

    with open_page(browser) as watched:
        page = watched.page
        page.add_init_script(path=DRAWING)
        page.route("**/custom/*.css", fulfil)
        for name, (_, kind) in WRONG.items():
            found = problems(page, empty_daemon, "live", f"layout=bottom&css={name}.css", NAMES[:2])
            assert any(each.startswith(kind) for texts in found.values() for each in texts), (name, found)
