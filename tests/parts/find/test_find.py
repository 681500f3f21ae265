"""`slpstream find`: games in folders and in the index of a daemon."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from slpstream import api
from slpstream.game.described import DescribedGame
from tests.cli.command_line import exit_code
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match

run = partial(exit_code, "find")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    replays = tmp_path / "replays"
    replays.mkdir()
    (replays / "Game_A.slp").write_bytes(synthetic_match(frames=300))
    shutil.copy(replays / "Game_A.slp", replays / "Other\n.slp")
    return replays


def test_games_of_a_folder_are_listed_by_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "game_a", "duration:<1m") == 0
    output = capfd.readouterr().out
    assert output.startswith("Game_A.slp  ")
    assert len(output.splitlines()) == 1
    assert run(folder, "duration:>1h") == 1
    assert capfd.readouterr() == ("", "slpstream: no games found\n")
    assert run(folder, "marth") == 1
    assert capfd.readouterr().err == (
        "slpstream: no games found; 'marth' is taken for the name of a player, the character is char:marth\n"
    )
    assert run(folder, "--json", "game_a") == 0
    game = json.loads(capfd.readouterr().out)
    assert (game["file"], game["format"], len(game["players"])) == (str(folder / "Game_A.slp"), "slippi", 2)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_games_in_archives_are_found(folder: Path, jobs: str, capfd: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(folder / "games.zip", "w") as zip_archive:
        zip_archive.write(folder / "Game_A.slp", "day 1/Game_B.slp")
        zip_archive.writestr("broken.slp", b"nothing")
    with tarfile.open(folder / "games.tar.gz", "w:gz") as tar_archive:
        tar_archive.add(folder / "Game_A.slp", "Game_C.slp")
    assert run(folder, "--jobs", jobs, "game_") == 1, "a member cannot be read"
    captured = capfd.readouterr()
    names = ["Game_A.slp", "games.tar.gz::Game_C.slp", "games.zip::day 1/Game_B.slp"]
    assert [line.split("  ", 1)[0] for line in captured.out.splitlines()] == names
    assert "games.zip::broken.slp" in captured.err
    assert run(folder / "games.tar.gz", "--paths") == 0
    assert capfd.readouterr().out == f"{folder / 'games.tar.gz'}::Game_C.slp\n"


def test_paths_can_be_piped_to_other_programs(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(folder, "-0") == 0
    assert capfdbinary.readouterr().out == b"".join(
        bytes(folder / name) + b"\0" for name in ("Game_A.slp", "Other\n.slp")
    )


def test_errors_in_a_query_are_marked(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "char:fox stge:fd") == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[1:] == ["  char:fox stge:fd", "           ^^^^"]


@pytest.mark.parametrize("form", [(), ("--paths",), ("--json",)])
@pytest.mark.parametrize("query", ["game_a", "nosuch"])
def test_input_output_errors_have_their_own_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...], query: str
) -> None:
    read = api.read_game

    def read_game(source: Any) -> DescribedGame:
        game = read(source)
        (folder / "Other\n.slp").unlink(missing_ok=True)  # after it has been listed
        return game

    monkeypatch.setattr(api, "read_game", read_game)
    assert run(folder, *form, query) == 74


@pytest.mark.parametrize("place", ["http://127.0.0.1:9", "."])
def test_query_that_is_not_utf_8_is_refused(place: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(place, "a\udcff") == 2
    assert capfd.readouterr().err == "slpstream: the query is not UTF-8\n"


def test_me_is_given_or_configured(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "@me") == 2
    assert "[search]" in capfd.readouterr().err
    assert run(folder, "--me", "NO#1", "--", "-@me") == 0
    config = tmp_path / "slpstream.toml"
    config.write_text('[search]\nme = ["NO#1"]\n')
    assert run(folder, "--config", config, "@me") == 1


@pytest.mark.process
def test_games_of_a_daemon_are_listed(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with running(folder, state=tmp_path / "state") as daemon:
        daemon.wait_ready()
        daemon.until(lambda: bool(daemon.get("/v1/games")["games"]))
        assert run(daemon.url, "duration:<1m") == 0
        assert len(capfd.readouterr().out.splitlines()) == 1, "both files have the same game"
        assert run(daemon.url, "duration:>1h") == 1
        assert run(daemon.url, "duration:3") == 2
        assert capfd.readouterr().err.splitlines()[-1] == "           ^"
        assert run(daemon.url, "--paths", "x") == 2
        words = daemon.get("/v1/search")["keys"]
        assert "Fox" in words["char"]
        assert "FoD" in words["stage"]
        assert "ranked" in words["is"]
