"""`slpstream info` and `slpstream stats` show mode, scores and ties of games without stocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from slpstream.parts.info import cli as info
from slpstream.parts.stats import cli as stats
from tests.formats.slippi.timed_game import TimedGame


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """Player 0 has two KOs and one self-destruct; player 1 has two falls."""
    path = tmp_path / "Game.slp"
    path.write_bytes(TimedGame(stocks=0).fall(1, by=0).fall(0).fall(1, by=0).end(placements=(0, 1)))
    return path


def test_info(game: Path) -> None:
    shown = CliRunner().invoke(info.command, [str(game)]).output
    assert "Battlefield, time mode" in " ".join(shown.split())
    row = json.loads(CliRunner().invoke(info.command, ["--json", str(game)]).output)
    assert [(each["kos"], each["falls"], each["score"]) for each in row["scores"]] == [(2, 1, 1), (0, 2, -2)]
    assert "tied" not in row


def test_stats(game: Path) -> None:
    lines = [line.split() for line in CliRunner().invoke(stats.command, [str(game)]).output.splitlines()]
    for line in (["Score", "1", "-2"], ["KOs", "2", "0"], ["Falls", "1", "2"], ["Self-destructs", "1", "0"]):
        assert line in lines
    lives = [line for line in lines if line[1:2] == ["life"]]
    assert [line[0] for line in lives] == ["P2", "P1", "P2"]
    assert "self-destruct" in lives[1]


def test_tie(tmp_path: Path) -> None:
    path = tmp_path / "Game.slp"
    path.write_bytes(TimedGame().fall(0, by=1).fall(1, by=0).end(placements=(0, 1)))
    assert "\nTie\n" in CliRunner().invoke(stats.command, [str(path)]).output
    assert json.loads(CliRunner().invoke(info.command, ["--json", str(path)]).output)["tied"] is True
