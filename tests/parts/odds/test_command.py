"""`slpstream odds`: show a game, score a model by a table, and fit one to replays."""

from __future__ import annotations

import csv
import json
import math
import random
import zipfile
from collections import defaultdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
import pytest

from slpstream.api import open_replay
from slpstream.formats.slippi.edited import as_another_game
from slpstream.parts.odds.cli import command
from slpstream.parts.odds.model import PACKAGED, read_model
from slpstream.parts.odds.played_games import COLUMNS, NotCounted, game_of, read_table
from tests.cli.command_line import CONFIG, INPUT_OUTPUT, NO, USAGE, called, error_line, exit_code
from tests.marks import slow
from tests.replays import SHARED, needs_shared, replay_path
from tests.synthetic.match import synthetic_match

TABLE = SHARED / "odds" / "seconds.csv"


BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def match(seed: int) -> bytes:
    return synthetic_match(seed=seed)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty games, in each of which one player deals more damage each second."""
    rng = random.Random(1)
    path = tmp_path_factory.mktemp("table") / "seconds.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow((*COLUMNS, "stage"))
        for game in range(30):
            stocks, percents = [4, 4], [0.0, 0.0]
            rows: list[tuple[int, int, float, int, float]] = []
            share = rng.uniform(0.2, 0.8)
            while min(stocks):
                rows.append((60 * len(rows), stocks[0], round(percents[0], 1), stocks[1], round(percents[1], 1)))
                hit = int(rng.random() < share)
                percents[hit] += rng.uniform(0, 20)
                if rng.random() < percents[hit] / 600:
                    stocks[hit] -= 1
                    percents[hit] = 0.0
            writer.writerows((game, *row, int(stocks[0] == 0), 2) for row in rows)
    return path


def test_figures_equal_a_plain_calculation(table: Path) -> None:
    found = json.loads(called(command, "score", "--json", table).stdout)
    model = read_model(PACKAGED)
    losses: list[float] = []
    bins: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for game in read_table(table):
        odds = [model.win(state) for state in game.states()]
        losses.append(-sum(math.log(o if game.winner == 0 else 1 - o) for o in odds) / len(odds))
        for o in odds:
            bins[math.floor(10 * o)][0] += o / len(odds) / 30
            bins[math.floor(10 * o)][1] += (game.winner == 0) / len(odds) / 30
    assert found["games"] == len(losses) == 30
    assert found["logLoss"] == pytest.approx(sum(losses) / 30, abs=1e-4)
    assert found["calibrationError"] == pytest.approx(sum(abs(a - b) for a, b in bins.values()), abs=1e-4)
    low, high = found["interval"]
    assert low < found["logLoss"] < high
    given = json.loads(called(command, "score", "--json", "--model", PACKAGED, table).stdout)
    assert given == {**found, "model": str(PACKAGED)}


def test_cross_validation_beats_a_coin_on_games_that_it_has_not_seen(table: Path) -> None:
    pytest.importorskip("numpy")
    found = json.loads(called(command, "score", "--json", "--fit", table).stdout)
    assert 0.1 < found["logLoss"] < 0.6
    shown = called(command, "score", "--fit", table).stdout.splitlines()
    assert shown[0] == "fitted, cross-validated: 30 games"
    assert shown[1].split()[:3] == ["log", "loss", f"{found['logLoss']:.3f},"]


@needs_shared
def test_figures_of_the_shared_table() -> None:
    """The figures on the page, and the limits that the model was made for."""
    pytest.importorskip("numpy")
    found = json.loads(called(command, "score", "--json", "--fit", TABLE).stdout)
    assert found["games"] == 69
    assert found["logLoss"] == pytest.approx(0.502, abs=0.0005), "as on the page"
    assert found["logLoss"] <= 0.53
    assert found["calibrationError"] < 0.06
    from slpstream.parts.odds.fitting import fit

    fitted, packaged = (msgspec.structs.astuple(model) for model in (fit(read_table(TABLE)), read_model(PACKAGED)))
    assert fitted == pytest.approx(packaged, rel=1e-3), "the packaged model is the one fitted to this table"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "game,frame\n1,0\n",
        ",".join(COLUMNS) + "\n",
        ",".join(COLUMNS) + "\n1,0,4,0,4,zero,1\n",
        ",".join(COLUMNS) + "\n1,0,4,0,4,nan,1\n",
        ",".join(COLUMNS) + "\n1,0,4,0,4,0,2\n",
        ",".join(COLUMNS) + "\n1,60,4,0,4,0,1\n1,0,4,0,4,0,1\n",
        ",".join(COLUMNS) + "\n1,0,4,0,4,0,1\n1,60,4,0,4,0,0\n",
        ",".join(COLUMNS) + "\n1,0,4\n",
        "\xff",
    ],
)
def test_damaged_table_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode("latin-1"))
    refused = called(command, "score", path)
    assert refused.exit_code == NO
    assert error_line(refused).startswith(f"slpstream: {path}: ")


def test_damaged_model_is_one_line(tmp_path: Path, table: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"games": 1}')
    for arguments in (("score", table), ("show", replay_path("full_match_3.18"))):
        refused = called(command, *arguments, "--model", path)
        assert refused.exit_code == NO
        assert "not a model of odds" in error_line(refused)
    assert called(command, "score", "--model", tmp_path / "none.json", table).exit_code == INPUT_OUTPUT
    configuration = tmp_path / "slpstream.toml"
    for model, code in ((path, CONFIG), (tmp_path / "none.json", CONFIG), (tmp_path, CONFIG), (PACKAGED, 0)):
        configuration.write_text(f"[odds]\nmodel = '{model}'\n")
        assert exit_code("check-config", configuration) == code


def test_fewer_seconds_of_very_many_games_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitting = pytest.importorskip("slpstream.parts.odds.fitting")
    for i in range(10):
        path = tmp_path / f"Game_{i}.slp"
        path.write_bytes(as_another_game(match((5, 4)[i % 2]), random_seed=i, started_at=BEGAN))
    whole = json.loads(called(command, "fit", "--json", tmp_path).stdout)
    monkeypatch.setattr(fitting, "MAX_ROWS", 300)
    thinned = json.loads(called(command, "fit", "--json", tmp_path).stdout)
    assert thinned["games"] == whole["games"] == 10
    assert thinned["logLoss"] != whole["logLoss"]
    assert thinned["logLoss"] == pytest.approx(whole["logLoss"], abs=0.05)


@pytest.mark.parts("archives")
@pytest.mark.parametrize("jobs", [1, *slow(2)])
def test_model_is_fitted_to_replays_in_folders_and_archives(tmp_path: Path, jobs: int) -> None:
    pytest.importorskip("numpy")
    folder = tmp_path / "replays"
    folder.mkdir()
    games = [as_another_game(match((5, 4)[i % 2]), random_seed=i, started_at=BEGAN) for i in range(12)]
    with zipfile.ZipFile(folder / "games.zip", "w") as archive:
        for number, data in enumerate(games):
            archive.writestr(f"Game_{number}.slp", data)
    (folder / "copy.slp").write_bytes(games[0])
    (folder / "teams.slp").write_bytes(replay_path("doubles_3.18").read_bytes())
    (folder / "broken.slp").write_bytes(b"nothing")
    out = tmp_path / "model.json"
    found = called(command, "fit", "--jobs", jobs, "--out", out, folder)
    assert found.exit_code == NO, "a file cannot be read"
    assert "broken.slp" in error_line(found)
    count = read_model(out).games
    assert count == len(games) == 12
    assert f"fitted, cross-validated: {count} games" in found.stdout
    assert f"packaged model: {count} games" in found.stdout
    assert found.stdout.endswith("\n2 other replays\n")
    few = called(command, "fit", folder / "copy.slp")
    assert few.exit_code == NO
    assert "10 are needed" in error_line(few)


def test_odds_of_a_replay(tmp_path: Path) -> None:
    path = tmp_path / "Game_1.slp"
    path.write_bytes(match(5))
    found = json.loads(called(command, "show", "--json", path).stdout)
    assert found["players"] == [0, 1]
    assert found["points"][0] == {"frame": 0, "odds": 0.5, "stocks": [4, 4]}
    assert found["points"][-1]["odds"] == 0
    assert called(command, "--json", path).stdout == called(command, "show", path, "--json").stdout
    shown = called(command, path).stdout.splitlines()
    assert shown[0].startswith("P1 Fox")
    stocks = [line for line in shown if " - " in line]
    assert len(stocks) == 7, "the beginning and six lost stocks"
    assert stocks[-1].endswith(" 0%")
    assert "Turning points:" in shown
    assert len(called(command, "show", "--seconds", path).stdout.splitlines()) > len(shown) + 90
    of_set = called(command, "show", "--score", "1-0", path).stdout.splitlines()
    assert [line.split()[-1] for line in of_set if " - " in line][::6] == ["75%", "50%"]


def test_replays_without_odds_and_wrong_usage(tmp_path: Path) -> None:
    refused = called(command, replay_path("doubles_3.18"))
    assert refused.exit_code == NO
    assert error_line(refused).endswith("no odds: a game of teams")
    assert called(command, tmp_path / "nothing.slp").exit_code == INPUT_OUTPUT
    path = replay_path("full_match_3.18")
    for wrong in (["--score", "2-0"], ["--score", "x"], ["--best-of", "0"]):
        assert called(command, "show", *wrong, path).exit_code == USAGE


@needs_shared
def test_games_against_the_computer_are_not_counted() -> None:
    with pytest.raises(NotCounted, match="computer"):
        game_of(open_replay(SHARED / "slp" / "v3.18.slp"))
