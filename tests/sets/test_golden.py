"""Sets made from whole replays through the index, compared with reviewed golden files.

`SLPSTREAM_WRITE_GOLDEN=1 pytest tests/sets/test_golden.py` rewrites the golden files; review the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from slpstream.sets import Rules
from tests.sets.games import (
    BATTLEFIELD,
    DREAM_LAND,
    FOX,
    MARTH,
    NO_CONTEST,
    SHEIK,
    TIME,
    CorrectedGames,
    Folder,
    Seat,
)

GOLDEN = Path(__file__).parent / "golden"
ANN = Seat("Ann", "ANN#1", "ANN", FOX)
BOB = Seat("Bob", "BOB#2", "BOB", MARTH, 2)


def best_of_three(folder: Folder, station: CorrectedGames) -> None:
    """2-1 with a counterpick each. The next game begins another set."""
    for minute, (left, stage, bob) in enumerate(
        (
            ({0: 2, 1: 0}, BATTLEFIELD, MARTH),
            ({0: 0, 1: 1}, DREAM_LAND, SHEIK),
            ({0: 1, 1: 0}, BATTLEFIELD, SHEIK),
            ({0: 0, 1: 3}, BATTLEFIELD, MARTH),
        )
    ):
        seats = {0: ANN, 1: replace(BOB, character=bob)}
        folder.play(5 * minute, seats, left, seconds=80, stage=stage)


def best_of_five(folder: Folder, station: CorrectedGames) -> None:
    """From 0-2 to 3-2. The operator sets the best of five after the second game."""
    for game, winner in enumerate((1, 1, 0, 0, 0)):
        left = {winner: 1, 1 - winner: 0}
        folder.play(5 * game, {0: ANN, 1: BOB}, left)
        station.games = folder.games()
        if game == 1:
            assert station.set.over, "over by the rules, before the correction"
            station.correct(bestOf=5, names={"0": "Annabel"})


def port_swap(folder: Folder, station: CorrectedGames) -> None:
    """Players with online names, at other ports in each game."""
    for game, (seats, left) in enumerate(
        (({0: ANN, 1: BOB}, {0: 1, 1: 0}), ({0: BOB, 1: ANN}, {0: 1, 1: 0}), ({1: ANN, 3: BOB}, {1: 2, 3: 0}))
    ):
        folder.play(5 * game, seats, left)


def port_swap_by_tags(folder: Folder, station: CorrectedGames) -> None:
    """Players at a console, known only by their tags; Bob's is missing once."""
    ann, bob = Seat(tag="ANN"), Seat(tag="BOB", character=MARTH)
    for game, (seats, left) in enumerate(
        (({0: ann, 1: bob}, {0: 1, 1: 0}), ({0: bob, 1: ann}, {0: 1, 1: 0}), ({0: Seat(), 1: ann}, {0: 0, 1: 2}))
    ):
        folder.play(5 * game, seats, left)


def port_swap_by_the_operator(folder: Folder, station: CorrectedGames) -> None:
    """Players at a console without tags: the operator names them, and again after they change ports."""
    for game in range(3):
        folder.play(5 * game, {0: Seat(), 1: Seat()}, {0: 1, 1: 0})
        station.games = folder.games()
        if game == 0:
            station.correct(names={"0": "Ann", "1": "Bob"})
        elif game == 1:
            station.correct(names={"0": "Bob", "1": "Ann"})


def no_names_at_all(folder: Folder, station: CorrectedGames) -> None:
    """Players without names keep their ports, then change to others: the lower port stays the first side."""
    for game, (ports, left) in enumerate((((0, 1), (1, 0)), ((0, 1), (0, 1)), ((2, 3), (1, 0)))):
        seats = {port: Seat() for port in ports}
        folder.play(5 * game, seats, dict(zip(ports, left, strict=True)))


def quits(folder: Folder, station: CorrectedGames) -> None:
    """Bob quits two stocks down. Then the power fails, both players stop a game in its first second, and Bob wins."""
    seats = {0: ANN, 1: BOB}
    folder.play(0, seats, {0: 4, 1: 2}, seconds=95, method=NO_CONTEST, quitter=1)
    folder.play(5, seats, {0: 2, 1: 2}, seconds=60, ended=False)
    folder.play(10, seats, {0: 4, 1: 4}, seconds=1, method=NO_CONTEST)
    folder.play(15, seats, {0: 1, 1: 2}, seconds=100, method=NO_CONTEST)


def handwarmers(folder: Folder, station: CorrectedGames) -> None:
    """Quits that are early by time and by stocks, a game against a CPU, a game that counts, and a timeout."""
    seats = {0: ANN, 1: BOB}
    folder.play(0, seats, {0: 2, 1: 4}, seconds=25, method=NO_CONTEST, quitter=0)
    folder.play(2, seats, {0: 3, 1: 3}, seconds=75, method=NO_CONTEST, quitter=1)
    cpu = {0: ANN, 1: replace(BOB, cpu=True)}
    folder.play(5, cpu, {0: 4, 1: 0}, seconds=60)
    folder.play(8, seats, {0: 0, 1: 1})
    percent = {0: 31.0, 1: 30.0}
    folder.play(12, seats, {0: 1, 1: 1}, seconds=90, method=TIME, percent=percent)


def doubles(folder: Folder, station: CorrectedGames) -> None:
    """Players change ports and teams change colours. The operator then excludes a game, and the set continues."""
    cyd, dee = Seat("Cyd", "CYD#3", character=SHEIK), Seat("Dee", "DEE#4", character=FOX, colour=3)
    red, blue = 0, 1
    first = {
        0: replace(ANN, team=red),
        1: replace(BOB, team=red),
        2: replace(cyd, team=blue),
        3: replace(dee, team=blue),
    }
    second = {
        0: replace(dee, team=red), 1: replace(BOB, team=blue), 2: replace(ANN, team=blue), 3: replace(cyd, team=red),
    }  # fmt: skip
    folder.play(0, first, {0: 1, 1: 0, 2: 0, 3: 0}, seconds=90)
    folder.play(5, second, {0: 0, 1: 1, 2: 1, 3: 0}, seconds=90)
    station.games = folder.games()
    assert station.set.over
    station.correct(names={"1": "Bobby"}, games={station.games[0].game_id: {"counts": False}})
    folder.play(10, second, {0: 0, 1: 0, 2: 0, 3: 2}, seconds=90)
    others = {
        0: replace(ANN, team=red),
        1: replace(cyd, team=red),
        2: replace(BOB, team=blue),
        3: replace(dee, team=blue),
    }
    folder.play(15, others, {0: 1, 1: 0, 2: 0, 3: 0}, seconds=90)


def sudden_death(folder: Folder, station: CorrectedGames) -> None:
    """A game goes to sudden death twice, because the first ends in a tie. In the third game, the sudden death is quit,
    so the operator decides the game."""
    seats = {0: ANN, 1: BOB}
    percent = {0: 31.0, 1: 30.0}
    folder.play(0, seats, {0: 1, 1: 1}, seconds=90, method=TIME, percent=percent)
    folder.play(2, seats, {0: 0, 1: 0}, seconds=4, sudden_death=True)
    folder.play(3, seats, {0: 1, 1: 0}, seconds=5, sudden_death=True)
    station.games = folder.games()
    assert [len(each.games) for each in station.sets()] == [1]
    folder.play(5, seats, {0: 0, 1: 2}, seconds=80)
    folder.play(10, seats, {0: 1, 1: 1}, seconds=90, method=TIME, percent=percent)
    folder.play(12, seats, {0: 1, 1: 1}, seconds=2, method=NO_CONTEST, quitter=1, sudden_death=True)
    station.games = folder.games()
    assert [side.score for side in station.set.sides] == [1, 1]
    quit_id = station.games[-1].sudden_deaths[-1].game_id
    station.correct(games={quit_id: {"winner": 0}})


def late_quits(folder: Folder, station: CorrectedGames) -> None:
    """Quits with few stocks lost, which are not handwarmers because of damage or time. Then a team quits, and the other
    team wins."""
    seats = {0: ANN, 1: BOB}
    folder.play(0, seats, {0: 3, 1: 3}, seconds=75, method=NO_CONTEST, quitter=1, percent={0: 120.0, 1: 154.0})
    folder.play(5, seats, {0: 4, 1: 4}, seconds=167, method=NO_CONTEST, quitter=0)
    teams = {0: replace(ANN, team=0), 1: replace(BOB, team=1), 2: Seat("Cyd", team=0), 3: Seat("Dee", team=1)}
    folder.play(10, teams, {0: 2, 1: 2, 2: 0, 3: 2}, seconds=90, method=NO_CONTEST, quitter=2)


def ranked_quits(folder: Folder, station: CorrectedGames) -> None:
    """Two games are quit in their first seconds. The game of a ranked match counts, the other one does not."""
    seats, quit_at_once = {0: ANN, 1: BOB}, {"method": NO_CONTEST, "quitter": 1}
    for minute, mode in ((0, "ranked"), (600, "unranked")):
        session = f"mode.{mode}-2022-12-20T05:37:31.00-{minute}"
        folder.play(minute, seats, {0: 4, 1: 4}, seconds=3, session=session, **quit_at_once)
    # 0 disables only the time limit: without a lost stock, the game is still a handwarmer.
    station.rules = Rules(handwarmer_seconds=0, handwarmer_stocks=0)


def lost_game_end(folder: Folder, station: CorrectedGames) -> None:
    """The recorder loses Game End: the last frame decides one game, but not the other."""
    seats = {0: ANN, 1: BOB}
    folder.play(0, seats, {0: 0, 1: 2}, seconds=80, method=None)
    folder.play(5, seats, {0: 1, 1: 2}, seconds=80, method=None)


def others_sit_down(folder: Folder, station: CorrectedGames) -> None:
    """The winner stays and plays another opponent. After a long break, the same two begin another set."""
    eve = Seat("Eve", "EVE#5", "EVE")
    folder.play(0, {0: ANN, 1: BOB}, {0: 1, 1: 0})
    folder.play(5, {0: ANN, 1: eve}, {0: 1, 1: 0})
    folder.play(60, {0: ANN, 1: eve}, {0: 1, 1: 0})


SCENES: Mapping[str, Callable[[Folder, CorrectedGames], None]] = {
    scene.__name__: scene
    for scene in (
        best_of_three, best_of_five, port_swap, port_swap_by_tags, port_swap_by_the_operator, no_names_at_all, quits,
        handwarmers, sudden_death, late_quits, ranked_quits, lost_game_end, doubles,
        others_sit_down,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_sets(name: str, tmp_path: Path) -> None:
    station, folder = CorrectedGames(), Folder(tmp_path / "main")
    SCENES[name](folder, station)
    station.games = folder.games()
    payloads = station.payloads()
    path = GOLDEN / f"{name}.json"
    if os.environ.get("SLPSTREAM_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(json.dumps(payloads, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert payloads == json.loads(path.read_text(encoding="utf-8"))
