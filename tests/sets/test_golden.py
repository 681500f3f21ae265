"""Sets made from whole replays through the index, compared with reviewed golden files.

`SLPSTREAM_WRITE_GOLDEN=1 pytest tests/sets/test_golden.py` rewrites the golden files; review the difference.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slpstream.sets import Rules
from tests.replays import SLP, needs_shared
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
    replay,
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
        seats = {0: ANN, 1: BOB._replace(character=bob)}
        folder.add(5 * minute, replay(seats, left, seconds=80, minute=5 * minute, stage=stage))
    station.games = folder.games()


def best_of_five(folder: Folder, station: CorrectedGames) -> None:
    """From 0-2 to 3-2. The operator sets the best of five after the second game."""
    for game, winner in enumerate((1, 1, 0, 0, 0)):
        left = {winner: 1, 1 - winner: 0}
        folder.add(5 * game, replay({0: ANN, 1: BOB}, left, seconds=70, minute=5 * game))
        station.games = folder.games()
        if game == 1:
            assert station.set.over, "over by the rules, before the correction"
            station.correct(bestOf=5, names={"0": "Annabel"})


def port_swap(folder: Folder, station: CorrectedGames) -> None:
    """Players with online names, at other ports in each game."""
    for game, (seats, left) in enumerate(
        (({0: ANN, 1: BOB}, {0: 1, 1: 0}), ({0: BOB, 1: ANN}, {0: 1, 1: 0}), ({1: ANN, 3: BOB}, {1: 2, 3: 0}))
    ):
        folder.add(5 * game, replay(seats, left, seconds=70, minute=5 * game))
    station.games = folder.games()


def port_swap_by_tags(folder: Folder, station: CorrectedGames) -> None:
    """Players at a console, known only by their tags; Bob's is missing once."""
    ann, bob = Seat(tag="ANN"), Seat(tag="BOB", character=MARTH)
    for game, (seats, left) in enumerate(
        (({0: ann, 1: bob}, {0: 1, 1: 0}), ({0: bob, 1: ann}, {0: 1, 1: 0}), ({0: Seat(), 1: ann}, {0: 0, 1: 2}))
    ):
        folder.add(5 * game, replay(seats, left, seconds=70, minute=5 * game))
    station.games = folder.games()


def port_swap_by_the_operator(folder: Folder, station: CorrectedGames) -> None:
    """Players at a console without tags: the operator names them, and again after they change ports."""
    for game in range(3):
        folder.add(5 * game, replay({0: Seat(), 1: Seat()}, {0: 1, 1: 0}, seconds=70, minute=5 * game))
        station.games = folder.games()
        if game == 0:
            station.correct(names={"0": "Ann", "1": "Bob"})
        elif game == 1:
            station.correct(names={"0": "Bob", "1": "Ann"})


def no_names_at_all(folder: Folder, station: CorrectedGames) -> None:
    """Players without names keep their ports, then change to others: the lower port stays the first side."""
    for game, (ports, left) in enumerate((((0, 1), (1, 0)), ((0, 1), (0, 1)), ((2, 3), (1, 0)))):
        seats = {port: Seat() for port in ports}
        folder.add(5 * game, replay(seats, dict(zip(ports, left, strict=True)), seconds=70, minute=5 * game))
    station.games = folder.games()


def quits(folder: Folder, station: CorrectedGames) -> None:
    """Bob quits two stocks down. Then the power fails, both players stop a game in its first second, and Bob wins."""
    seats = {0: ANN, 1: BOB}
    folder.add(0, replay(seats, {0: 4, 1: 2}, seconds=95, minute=0, method=NO_CONTEST, quitter=1))
    folder.add(5, replay(seats, {0: 2, 1: 2}, seconds=60, minute=5, ended=False))
    folder.add(10, replay(seats, {0: 4, 1: 4}, seconds=1, minute=10, method=NO_CONTEST))
    folder.add(15, replay(seats, {0: 1, 1: 2}, seconds=100, minute=15, method=NO_CONTEST))
    station.games = folder.games()


def quits_that_do_not_count(folder: Folder, station: CorrectedGames) -> None:
    """The same games where quits do not count."""
    station.rules = Rules(quit_counts=False)
    quits(folder, station)


def handwarmers(folder: Folder, station: CorrectedGames) -> None:
    """Quits that are early by time and by stocks, a game against a CPU, one that counts, and one decided by time."""
    seats = {0: ANN, 1: BOB}
    folder.add(0, replay(seats, {0: 2, 1: 4}, seconds=25, minute=0, method=NO_CONTEST, quitter=0))
    folder.add(2, replay(seats, {0: 3, 1: 3}, seconds=75, minute=2, method=NO_CONTEST, quitter=1))
    cpu = {0: ANN, 1: BOB._replace(cpu=True)}
    folder.add(5, replay(cpu, {0: 4, 1: 0}, seconds=60, minute=5))
    folder.add(8, replay(seats, {0: 0, 1: 1}, seconds=70, minute=8))
    percent = {0: 31.0, 1: 30.0}
    folder.add(12, replay(seats, {0: 1, 1: 1}, seconds=90, minute=12, method=TIME, percent=percent))
    station.games = folder.games()


def doubles(folder: Folder, station: CorrectedGames) -> None:
    """Players change ports and teams change colours. The operator then excludes a game, and the set goes on."""
    cyd, dee = Seat("Cyd", "CYD#3", character=SHEIK), Seat("Dee", "DEE#4", character=FOX, colour=3)
    red, blue = 0, 1
    first = {
        0: ANN._replace(team=red),
        1: BOB._replace(team=red),
        2: cyd._replace(team=blue),
        3: dee._replace(team=blue),
    }
    second = {
        0: dee._replace(team=red), 1: BOB._replace(team=blue), 2: ANN._replace(team=blue), 3: cyd._replace(team=red),
    }  # fmt: skip
    folder.add(0, replay(first, {0: 1, 1: 0, 2: 0, 3: 0}, seconds=90, minute=0))
    folder.add(5, replay(second, {0: 0, 1: 1, 2: 1, 3: 0}, seconds=90, minute=5))
    station.games = folder.games()
    assert station.set.over
    station.correct(names={"1": "Bobby"}, games={station.games[0].game_id: {"counts": False}})
    folder.add(10, replay(second, {0: 0, 1: 0, 2: 0, 3: 2}, seconds=90, minute=10))
    others = {
        0: ANN._replace(team=red),
        1: cyd._replace(team=red),
        2: BOB._replace(team=blue),
        3: dee._replace(team=blue),
    }
    folder.add(15, replay(others, {0: 1, 1: 0, 2: 0, 3: 0}, seconds=90, minute=15))
    station.games = folder.games()


def sudden_death(folder: Folder, station: CorrectedGames) -> None:
    """A game goes to sudden death twice, because the first ends in a tie. In the third game, the sudden death is quit,
    so the operator decides the game."""
    seats = {0: ANN, 1: BOB}
    percent = {0: 31.0, 1: 30.0}
    folder.add(0, replay(seats, {0: 1, 1: 1}, seconds=90, minute=0, method=TIME, percent=percent))
    folder.add(2, replay(seats, {0: 0, 1: 0}, seconds=4, minute=2, sudden_death=True))
    folder.add(3, replay(seats, {0: 1, 1: 0}, seconds=5, minute=3, sudden_death=True))
    station.games = folder.games()
    assert [len(each.games) for each in station.sets()] == [1]
    folder.add(5, replay(seats, {0: 0, 1: 2}, seconds=80, minute=5))
    folder.add(10, replay(seats, {0: 1, 1: 1}, seconds=90, minute=10, method=TIME, percent=percent))
    folder.add(12, replay(seats, {0: 1, 1: 1}, seconds=2, minute=12, method=NO_CONTEST, quitter=1, sudden_death=True))
    station.games = folder.games()
    assert [side.score for side in station.set.sides] == [1, 1]
    quit_id = station.games[-1].sudden_deaths[-1].game_id
    station.correct(games={quit_id: {"winner": 0}})


def late_quits(folder: Folder, station: CorrectedGames) -> None:
    """Quits with few stocks lost: by damage and by time no handwarmers. Then a team quits; the other one wins."""
    seats = {0: ANN, 1: BOB}
    folder.add(
        0, replay(seats, {0: 3, 1: 3}, seconds=75, minute=0, method=NO_CONTEST, quitter=1, percent={0: 120.0, 1: 154.0})
    )
    folder.add(5, replay(seats, {0: 4, 1: 4}, seconds=167, minute=5, method=NO_CONTEST, quitter=0))
    teams = {0: ANN._replace(team=0), 1: BOB._replace(team=1), 2: Seat("Cyd", team=0), 3: Seat("Dee", team=1)}
    folder.add(10, replay(teams, {0: 2, 1: 2, 2: 0, 3: 2}, seconds=90, minute=10, method=NO_CONTEST, quitter=2))
    station.games = folder.games()


def lost_game_end(folder: Folder, station: CorrectedGames) -> None:
    """The recorder loses Game End: the last frame decides one game, and leaves another undecided."""
    seats = {0: ANN, 1: BOB}
    folder.add(0, replay(seats, {0: 0, 1: 2}, seconds=80, minute=0, method=None))
    folder.add(5, replay(seats, {0: 1, 1: 2}, seconds=80, minute=5, method=None))
    station.games = folder.games()


def others_sit_down(folder: Folder, station: CorrectedGames) -> None:
    """The winner stays and another opponent comes; after a long break the same two begin another set."""
    eve = Seat("Eve", "EVE#5", "EVE")
    folder.add(0, replay({0: ANN, 1: BOB}, {0: 1, 1: 0}, seconds=70, minute=0))
    folder.add(5, replay({0: ANN, 1: eve}, {0: 1, 1: 0}, seconds=70, minute=5))
    folder.add(60, replay({0: ANN, 1: eve}, {0: 1, 1: 0}, seconds=70, minute=60))
    station.games = folder.games()


SCENES: Mapping[str, Callable[[Folder, CorrectedGames], None]] = {
    scene.__name__: scene
    for scene in (
        best_of_three, best_of_five, port_swap, port_swap_by_tags, port_swap_by_the_operator, no_names_at_all, quits,
        quits_that_do_not_count, handwarmers, sudden_death, late_quits, lost_game_end, doubles, others_sit_down,
    )
}  # fmt: skip


def compare(name: str, station: CorrectedGames) -> None:
    """Compare all sets with the golden file."""
    payloads = station.payloads()
    path = GOLDEN / f"{name}.json"
    if os.environ.get("SLPSTREAM_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(json.dumps(payloads, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert payloads == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCENES)
def test_sets(name: str, tmp_path: Path) -> None:
    station = CorrectedGames()
    SCENES[name](Folder(tmp_path / "main"), station)
    compare(name, station)


@needs_shared
def test_real_games_that_were_quit_early_count_only_in_a_ranked_match(tmp_path: Path) -> None:
    """Two unranked games of one session and a ranked tiebreak from the day before."""
    folder = Folder(tmp_path / "main")
    for name, started in (
        ("ranked_game1_tiebreak", datetime(2022, 12, 20, 5, 37, 31, tzinfo=UTC)),
        ("unranked_game1", datetime(2022, 12, 21, 2, 26, 32, tzinfo=UTC)),
        ("unranked_game2", datetime(2022, 12, 21, 2, 26, 40, tzinfo=UTC)),
    ):
        path = folder.path / f"{name}.slp"
        shutil.copy(SLP / path.name, path)
        os.utime(path, (started.timestamp(), started.timestamp()))
    station = CorrectedGames()
    station.games = folder.games()
    assert len(station.games) == 3
    compare("real_quits", station)
    # 0 disables the time limit only: without a lost stock it is still a handwarmer.
    station.rules = Rules(handwarmer_seconds=0, handwarmer_stocks=0)
    judged = [entry.judgement for each in station.sets() for entry in each.entries]
    assert [judgement.verdict for judgement in judged] == ["counted", "handwarmer", "handwarmer"]
    assert judged[0].reason == "port 2 quit after 0:03, in a ranked match"
    assert judged[1].reason == "quit after 0:01, when nobody had lost a stock"
