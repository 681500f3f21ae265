"""`slpstream situations`: all games, and games that match a query."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from slpstream.api import open_replay
from slpstream.parts.situations import cli
from tests.cli.command_line import called
from tests.synthetic.match import synthetic_match

QUERY = "frame:100"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, frames in (("short", 600), ("long", 2400)):
        (tmp_path / f"Game_{name}.slp").write_bytes(synthetic_match(seed=3, frames=frames))
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        archive.writestr("Game_packed.slp", synthetic_match(seed=4, frames=600))
    (tmp_path / "broken.slp").write_bytes(b"nothing")
    return tmp_path


def file_of(line: str) -> str:
    """The name of the replay in a line, without its folder or archive."""
    return Path(json.loads(line)["file"]).name.rpartition("::")[2]


def files(result: Result) -> list[str]:
    return sorted({file_of(line) for line in result.stdout.splitlines()})


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_only_in_games_that_match_a_query(folder: Path, jobs: int) -> None:
    everything = called(cli.command, "--json", "--jobs", jobs, folder, QUERY)
    assert files(everything) == ["Game_long.slp", "Game_packed.slp", "Game_short.slp"]
    assert len(everything.stderr.splitlines()) == 1
    for games, wanted in (
        ("duration:<15s", ["Game_packed.slp", "Game_short.slp"]),
        ("duration:>15s", ["Game_long.slp"]),
        ("-game_packed duration:<15s", ["Game_short.slp"]),
        ("nobody", []),
    ):
        found = called(cli.command, "--json", "--jobs", jobs, "--games", games, folder, QUERY)
        assert files(found) == wanted
        lines = [line for line in everything.stdout.splitlines() if file_of(line) in wanted]
        assert found.stdout.splitlines() == lines
        assert found.exit_code == everything.exit_code == 1, "a file cannot be read"
        assert found.stderr == everything.stderr
    path = folder / "Game_long.slp"
    found = called(cli.command, "--games", "duration:>15s", path, QUERY)
    name, *situations = found.stdout.splitlines()
    assert name == str(path)
    assert len(situations) == len(open_replay(path).situations(QUERY))
    assert all(line.startswith("  ") for line in situations)
    assert found.exit_code == 0


def test_error_in_the_game_query_is_marked(folder: Path) -> None:
    result = called(cli.command, "--games", "char:fox stge:fd", folder, QUERY)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-2:] == ["  char:fox stge:fd", "           ^^^^"]


def test_me_requires_a_game_query(folder: Path) -> None:
    assert called(cli.command, "--me", "ANN#1", folder, QUERY).exit_code == 2
    assert files(called(cli.command, "--json", "--games", "@me", "--me", "NOBODY#0", folder, QUERY)) == []


@pytest.mark.parts("odds")
@pytest.mark.parametrize(
    ("query", "wanted"),
    [("hit, swing:>2", lambda points: points > 2), ("hit, swing <= 2 %", lambda points: points <= 2)],
)
def test_only_situations_that_swing_the_odds(folder: Path, query: str, wanted: Callable[[float], bool]) -> None:
    from tests.parts.odds.plain_odds import plain_odds

    path = folder / "Game_long.slp"
    chances = plain_odds(path)
    found = open_replay(path).situations("hit")
    expected = []
    for each in found:
        gained = round(100 * (chances[each.known_frame] - chances[each.frames[0] - 1]), 2)
        if wanted(gained if each.player_index == 0 else -gained):
            expected.append(list(each.frames))
    assert 0 < len(expected) < len(found)
    lines = called(cli.command, "--json", path, query).stdout.splitlines()
    assert [json.loads(line)["frames"] for line in lines] == expected
