"""The matchup, the odds and the turning points of a set of five simulated games between players who have met before.

They are compared with plain calculations from the list of earlier games below, and from the stocks and percents in the
bytes of the simulated games.
"""

from __future__ import annotations

import json
import math
import os
import struct
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

from slpstream.formats.slippi.edited import as_another_game
from slpstream.model.messages import timestamp
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.parts.chat.discord_double import valid
from tests.parts.http_server import Response, serving
from tests.replays.in_progress import begun
from tests.sets.games import DAY, Seat, replay
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("chat", "deliveries", "odds")

FOX, MARTH = 2, 9
STAGES = {31: "Battlefield", 28: "Dream Land N64", 32: "Final Destination"}
HOUR = 3600
POST_FRAME = 0x38
ROUNDED = 0.005
"""The page about odds rounds the numbers of the formula."""
SEEDS = (10, 5, 6, 4, 9)
"""The seeds of simulated games with two stocks. The players win them in turns."""


class Earlier(NamedTuple):
    """An earlier set: how long ago it began, its players, and the stage and the winner of each game."""

    seconds_ago: int
    names: tuple[str, str]
    games: Sequence[tuple[int, str]]


EARLIER = (
    Earlier(120 * HOUR, ("Ann", "Bob"), ((31, "Ann"), (31, "Bob"), (28, "Ann"), (31, "Ann"))),
    Earlier(50 * HOUR, ("Bob", "Ann"), ((28, "Ann"), (31, "Bob"), (28, "Bob"), (32, "Ann"), (28, "Bob"))),
    Earlier(7 * HOUR, ("Ann", "Cem"), ((31, "Ann"), (32, "Ann"), (31, "Ann"))),
    Earlier(5 * HOUR, ("Cem", "Bob"), ((28, "Bob"), (31, "Cem"), (28, "Bob"), (28, "Bob"))),
    Earlier(3 * HOUR, ("Ann", "Bob"), ((31, "Ann"), (28, "Bob"), (31, "Ann"), (32, "Ann"))),
)
GAME_SECONDS = 60
PAUSE_SECONDS = 240
CODES = {"Ann": "ANN#1", "Bob": "BOB#2", "Cem": "CEM#3"}


class Played(NamedTuple):
    """The daemon after the set, its matchup in the first game and after the last one, and the games."""

    daemon: DaemonProcess
    folder: Path
    now: int
    at_first: Any
    at_last: Any
    posted: list[str]
    replays: list[bytes]
    game_ids: list[str]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("five_games")
    side, main = folder / "side", folder / "main"
    side.mkdir()
    main.mkdir()
    now = int(time.time())
    write_earlier_sets(side, now)
    posted: list[str] = []

    def discord(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        message = json.loads(body)
        assert valid(message)
        posted.append(message["content"])
        return Response(204)

    with serving(discord) as address:
        (folder / "url").write_text(f"{address}/api/webhooks/1/secret\n")
        text = f"[sets]\nbest_of = 5\n[[chat]]\nurl_file = '{folder / 'url'}'\nevents = ['set_start']\n"
        with running(side, main, arguments=configuration(folder, text)) as daemon:
            daemon.wait_ready()
            daemon.until(
                lambda: len(daemon.get("/v1/games?station=side")["games"]) == sum(len(e.games) for e in EARLIER)
            )
            replays, at_first = [], None
            for number, seed in enumerate(SEEDS, 1):
                names = [(name, code, "") for name, code in CODES.items()]
                data = synthetic_match(seed=seed, stocks=2, names=names)
                replays.append(as_another_game(data, random_seed=seed, started_at=datetime.now(UTC)))
                finish = begun(main / f"Game_{number}.slp", replays[-1])
                verdicts = ["counted"] * (number - 1)
                until_verdicts(daemon, [*verdicts, "playing"])
                if number == 1:
                    daemon.until(lambda: posted)
                    at_first = daemon.get("/v1/stations/main/matchup")
                finish()
                until_verdicts(daemon, [*verdicts, "counted"])
            game_ids = [game["gameId"] for game in daemon.get("/v1/stations/main/set")["games"]]
            at_last = daemon.get("/v1/stations/main/matchup")
            yield Played(daemon, main, now, at_first, at_last, posted, replays, game_ids)


def write_earlier_sets(folder: Path, now: int) -> None:
    for each in EARLIER:
        for place, (stage, winner) in enumerate(each.games):
            began = now - each.seconds_ago + place * PAUSE_SECONDS
            seats = {i: Seat(name, CODES[name], character=(FOX, MARTH)[i]) for i, name in enumerate(each.names)}
            left = {i: 2 if name == winner else 0 for i, name in enumerate(each.names)}
            data = replay(seats, left, seconds=GAME_SECONDS, minute=(began - DAY) / 60, stage=stage)
            path = folder / f"Game_{began}.slp"
            path.write_bytes(data)
            os.utime(path, (began + GAME_SECONDS, began + GAME_SECONDS))


def until_verdicts(daemon: DaemonProcess, verdicts: list[str]) -> None:
    daemon.until(lambda: [game["verdict"] for game in daemon.get("/v1/stations/main/set")["games"]] == verdicts)


def wins(each: Earlier, name: str) -> int:
    return sum(winner == name for _, winner in each.games)


def test_matchup_is_that_of_the_earlier_games(played: Played) -> None:
    both = [each for each in EARLIER if set(each.names) == {"Ann", "Bob"}]
    found = played.at_first
    assert found["setId"] == played.game_ids[0]
    against = found["headToHead"]
    assert against["sets"] == [sum(wins(each, name) > len(each.games) / 2 for each in both) for name in ("Ann", "Bob")]
    assert against["games"] == [sum(wins(each, name) for each in both) for name in ("Ann", "Bob")]
    assert against["last"]["score"] == [wins(both[-1], name) for name in ("Ann", "Bob")]
    assert against["last"]["at"] == timestamp(played.now - both[-1].seconds_ago)
    assert {row["stage"]["name"]: row["won"] for row in against["stages"]} == {
        stage: [sum(game == (id, name) for each in both for game in each.games) for name in ("Ann", "Bob")]
        for id, stage in STAGES.items()
    }
    for name, player in zip(("Ann", "Bob"), found["players"], strict=True):
        own = [each for each in EARLIER if name in each.names]
        games = [game for each in own for game in each.games]
        assert (player["name"], player["code"], player["games"]) == (name, CODES[name], len(games))
        assert player["averageSeconds"] == GAME_SECONDS
        today = [each for each in own if each.seconds_ago < 12 * HOUR][::-1]
        others = [next(other for other in each.names if other != name) for each in today]
        assert [result["opponent"] for result in player["results"]] == others
        scores = [[wins(each, name), wins(each, other)] for each, other in zip(today, others, strict=True)]
        assert [result["score"] for result in player["results"]] == scores
        counts = Counter(STAGES[stage] for stage, _ in games)
        assert {row["stage"]["name"]: row["games"] for row in player["stages"]} == counts
        characters = {True: "Fox", False: "Marth"}
        ways = Counter(
            (characters[each.names[0] == name], STAGES[stage])
            for each in both
            for stage, who in each.games
            if who == name
        )
        worked = player["worked"]
        [(best, won)] = ways.most_common(1)
        assert ((worked["character"]["name"], worked["stage"]["name"]), worked["won"]) == (best, won)
    assert played.at_last == found  # the games of this set do not count


def test_chat_has_a_line_about_the_earlier_games(played: Played) -> None:
    day = datetime.fromtimestamp(played.now - 3 * HOUR).astimezone().date().isoformat()
    assert played.posted == [f"**Ann** – **Bob**: 2–1 in sets, 8–5 in games; last: Ann 3–1, {day}"]


class State(NamedTuple):
    """Both players in a frame. After a stock was lost, the percent is 0, although the game shows it for a while."""

    percents: tuple[float, float]
    stocks: tuple[int, int]


def states_of(data: bytes) -> dict[int, State]:
    """The states in the bytes of a replay, by frame."""
    at = 15
    count = data[at + 1]
    sizes = {data[i]: int.from_bytes(data[i + 1 : i + 3], "big") for i in range(at + 2, at + 1 + count, 3)}
    at += 1 + count
    shown: dict[int, list[tuple[float, int]]] = {}
    while data[at] in sizes:
        if data[at] == POST_FRAME:
            (frame,), (percent,) = struct.unpack_from(">i", data, at + 1), struct.unpack_from(">f", data, at + 0x16)
            shown.setdefault(frame, []).append((percent, data[at + 0x21]))
        at += 1 + sizes[data[at]]
    found = {}
    stocks, dead = [2, 2], [False, False]
    for frame, players in shown.items():
        for i, (percent, left) in enumerate(players):
            dead[i] = (dead[i] or left < stocks[i]) and percent > 0
            stocks[i] = left
        percents = [0.0 if dead[i] else percent for i, (percent, _) in enumerate(players)]
        found[frame] = State((percents[0], percents[1]), (stocks[0], stocks[1]))
    return found


def plain_odds(states: Mapping[int, State]) -> dict[int, float]:
    """The odds of the first player in each frame, as the page about odds describes them."""
    found = {}
    dealt_by_second, last = [0.0, 0.0], [0.0, 0.0]
    for frame, state in states.items():
        # Damage counts in whole seconds, and damage since the last one is added.
        taken = [dealt_by_second[i] + max(0.0, state.percents[i] - last[i]) for i in (0, 1)]
        if frame >= 0 and frame % 60 == 0:
            dealt_by_second, last = taken, list(state.percents)
        found[frame] = chance(state, dealt=taken[1], opponent_dealt=taken[0])
    return found


def plain_points(states: Mapping[int, State]) -> list[int]:
    """The frames with a point: two in a second, and each lost stock."""
    lost = [frame for (_, before), (frame, after) in pairwise(states.items()) if before.stocks != after.stocks]
    return sorted({*lost, *(frame for frame in states if frame >= 0 and frame % 30 == 0)})


def chance(state: State, *, dealt: float, opponent_dealt: float) -> float:
    """The formula of the page about odds, for every order in which stocks can be lost."""
    s = 2.25 * (dealt - opponent_dealt) / (170 + dealt + opponent_dealt)
    (p, q), (own, other) = state.percents, state.stocks

    def weight(percent: float) -> float:
        return 1 - math.exp(-percent / 80)

    def takes(p: float, q: float) -> float:
        return 1 / (1 + math.exp(-s - 2.52 * (weight(q) - weight(p))))

    def later(own: int, other: int, p: float, q: float) -> float:
        if own == 0 or other == 0:
            return float(other == 0)
        now = takes(p, q)
        return now * later(own, other - 1, 0, 0) + (1 - now) * later(own - 1, other, 0, 0)

    if own == 0 or other == 0:
        return float(other == 0)
    now = takes(p, q)
    won = later(own, other - 1, p + max(0, 43 - 0.27 * q), 0)
    lost = later(own - 1, other, 0, q + max(0, 43 - 0.27 * p))
    return now * won + (1 - now) * lost


@pytest.mark.parametrize("place", range(len(SEEDS)))
def test_odds_and_turning_points_are_those_of_the_simulated_states(played: Played, place: int) -> None:
    daemon, game_id = played.daemon, played.game_ids[place]
    states = states_of(played.replays[place])
    odds, points = plain_odds(states), plain_points(states)
    daemon.until(lambda: daemon.get(f"/v1/games/{game_id}/odds")["final"])
    found = daemon.get(f"/v1/games/{game_id}/odds")
    assert found["players"] == [0, 1]
    assert [point["frame"] for point in found["points"]] == points
    assert [point["odds"] for point in found["points"]] == pytest.approx([odds[frame] for frame in points], abs=ROUNDED)
    assert [tuple(point["stocks"]) for point in found["points"]] == [states[frame].stocks for frame in points]
    assert found["points"][-1]["odds"] == (1, 0)[place % 2]

    swings = plain_swings(odds, daemon.get(f"/v1/games/{game_id}/stats"))
    turns = found["turningPoints"]
    assert [(turn["startFrame"], turn["endFrame"], turn["playerIndex"]) for turn in turns] == list(swings)[:5]
    for turn, (before, after) in zip(turns, swings.values(), strict=False):
        assert (turn["before"], turn["after"]) == pytest.approx((before, after), abs=ROUNDED)


def plain_swings(odds: Mapping[int, float], stats: Any) -> dict[tuple[int, int, int], tuple[float, float]]:
    """The odds before and after each conversion, and each stock that was lost without one, the largest swing first."""
    kills = {(each["endFrame"], each["playerIndex"]) for each in stats["conversions"] if each["didKill"]}
    lost = [(each["endFrame"], each["endFrame"], each["playerIndex"]) for each in stats["stocks"] if "endFrame" in each]
    moments = [(each["startFrame"], each["endFrame"], each["playerIndex"]) for each in stats["conversions"]]
    found = {}
    for start, end, victim in [*moments, *(each for each in lost if each[1:] not in kills)]:
        before, after = (odds[frame] if victim == 1 else 1 - odds[frame] for frame in (start - 1, end))
        if after - before > 0.01:
            found[start, end, 1 - victim] = (before, after)
    return dict(sorted(found.items(), key=lambda item: item[1][0] - item[1][1]))


@pytest.mark.parts("scenes")
def test_scene_shows_the_matchup_of_the_next_set(played: Played, page: Page) -> None:
    page.goto(f"{played.daemon.url}/scenes/matchup/main?motion=0&lang=en")
    page.locator(".scene[data-phase=waiting]").wait_for()  # the set is over
    again = as_another_game(played.replays[0], random_seed=99, started_at=datetime.now(UTC))
    begun(played.folder / "Game_6.slp", again)
    expect(page.locator(".plate .name")).to_have_text(["Ann", "Bob"])
    expect(page.locator(".totals")).to_have_text("3–1")
    expect(page.locator(".meetings .unit")).to_have_text("in sets, 11–7 in games")
    expect(page.locator(".tape-row").first.locator("dd.left .points")).to_have_text(["3–2", "3–1", "3–0"])
