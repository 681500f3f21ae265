"""The tables of `stats` and `info` show each figure next to its player, in terminals of different widths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from slpstream.api import open_replay
from slpstream.cli import terminal
from slpstream.parts.info import cli as info
from slpstream.parts.stats import cli as stats
from slpstream.parts.stats.rows import GameRow, PlayerRow, game_row
from slpstream.parts.stats.tables import percent_text, print_rows, ratio_text, share_text
from tests.cli.command_line import called
from tests.synthetic.match import synthetic_match

WIDTHS = [60, 80, 100, 140]
HOSTILE_NAMES = ["Golden Guardians | Zain", "ＷＷＷＷＷＷＷＷ", "あばだんごあばだんご", "🦊🦊🦊🦊", "x" * 40]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two games, one of them with four players."""
    folder = tmp_path_factory.mktemp("games")
    (folder / "Game_20261123T101010.slp").write_bytes(synthetic_match(seed=2, stocks=2, frames=3600))
    (folder / "Game_20261123T102010.slp").write_bytes(synthetic_match(seed=3, frames=1200, players=4, teams=True))
    return folder


def lines_of(command: Any, *arguments: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(terminal, "REDIRECTED_WIDTH", width)
    done = called(command, *arguments)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(cell_len, lines)) <= width
    return lines


def rows_of_players(lines: list[str]) -> list[list[str]]:
    """The cells of the rows for players in the table of games."""
    cells = r"(\d+) +([\d.]+|-) +([\d.]+|-) +(\d+ of \d+ \(\d+%\)|\d+%|-) +(\d+%|-) +(\d+|-) *$"
    return [list(found.groups()) for line in lines if (found := re.match(rf"  P\d .* {cells}", line))]


def expected_rows(games: list[GameRow], share: Any) -> list[list[str]]:
    return [
        [
            str(f.kills),
            ratio_text(f.openings, f.kills),
            ratio_text(f.damage, f.openings),
            share(f.neutral_wins, f.neutral_total),
            percent_text(f.l_cancels, f.landings),
            ratio_text(f.inputs, f.minutes, digits=0),
        ]
        for game in games
        for f in (player.figures for player in game.players)
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_are_in_the_row_of_their_player(games: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of(stats.command, games, width=width, monkeypatch=monkeypatch)
    rows = rows_of_players(lines)
    files = sorted(games.iterdir())
    expected = [game_row(open_replay(file)) for file in files]
    assert rows in (expected_rows(expected, share_text), expected_rows(expected, percent_text))
    [beginning] = [line for line in lines if line.startswith("  P4 Captain")]
    rest = lines[lines.index(beginning) + 1 :]
    assert "PORT#404 *" in beginning or [line.strip() for line in rest[:2]] == ["Falcon", "PORT#404 *"]
    for file in files:
        assert any(line.startswith(file.name) for line in lines)
    heads = [line for line in lines if line.startswith("player ")]
    assert len(heads) == (1 if width == 140 else 2), "of the summary"
    for code in ("VIXN#101", "ALTE#202", "CRNA#303", "PORT#404"):
        assert sum(line.startswith(code + " ") for line in lines) == len(heads)
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_game_has_a_column_for_each_player_and_info_names_them(
    games: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in games.iterdir():
        lines = lines_of(stats.command, file, width=width, monkeypatch=monkeypatch)
        overall = open_replay(file).stats().overall
        damage = next(line for line in lines if line.startswith("Damage "))
        assert damage.split()[1:] == [f"{player.total_damage:.1f}" for player in overall]
        assert all(any(f"P{player.player_index + 1} " in line for line in lines) for player in overall)
    lines = lines_of(info.command, games, width=width, monkeypatch=monkeypatch)
    for name in ("P1 Fox Vixen (VIXN#101)", "P4 Captain Falcon Port Town (PORT#404) *", "Game_20261123T102010.slp"):
        assert any(name in line for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_do_not_move_the_figures(
    games: Path, width: int, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = game_row(open_replay(games / "Game_20261123T102010.slp"))
    players = [
        PlayerRow(player.port, player.character, name, "", "", player.won, player.figures) for player in row.players
    ]
    renamed = GameRow(name * 8, *row[1:4], players)
    monkeypatch.setattr(terminal, "REDIRECTED_WIDTH", width)
    print_rows([renamed], "port")
    printed = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, printed)) <= width
    assert rows_of_players(printed) in (expected_rows([renamed], share_text), expected_rows([renamed], percent_text))
    if width > 60:
        assert "".join(name.split()) in "".join("".join(printed).split())
