"""`slpstream import-pictures`: made-up folders of two stream tools, and other folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from slpstream.parts.pictures import own_pictures
from slpstream.parts.pictures.cli import command
from slpstream.parts.pictures.own_pictures import OwnPictures
from tests.cli.command_line import called, error_line


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def make(folder: Path, *names: str) -> None:
    """Make files whose content is their own path."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


@pytest.fixture
def stream_tool(tmp_path: Path) -> Path:
    below = "Stream Tool/Resources/Characters"
    make(
        tmp_path / "mst",
        f"{below}/CSS/Fox.png",
        f"{below}/Stock Icons/Captain Falcon/Default.png",
        f"{below}/Stock Icons/Captain Falcon/Blue.png",
        f"{below}/Stock Icons/Dr Mario/Black.png",
        f"{below}/Stock Icons/Zelda/Purple.png",
        f"{below}/Stock Icons/Zelda/Sheik Purple.png",
        f"{below}/Stock Icons/Random/P1.png",
        f"{below}/Portraits/Mr Game & Watch/Green.png",
        f"{below}/Portraits/Fox/HD/Red.png",
        f"{below}/Portraits/Fox/Neutral.png",
    )
    return tmp_path / "mst"


@pytest.fixture
def helper(tmp_path: Path) -> Path:
    root = tmp_path / "tsh"
    game = root / "user_data/games/ssbm"
    packs = {
        "base_files/icon": {"prefix": "chara_2_", "postfix": "_", "type": ["icon"]},
        "portrait": {"prefix": "", "postfix": "_", "type": ["portrait"]},
        "full": {"prefix": "", "postfix": "-", "type": ["full"]},
        "second": {"prefix": "", "postfix": "-", "type": ["full"]},
        "stage_icon": {"prefix": "", "postfix": "", "type": ["stage_icon"]},
        "unfinished": {},
    }
    for name, pack in packs.items():
        (game / name).mkdir(parents=True)
        (game / name / "config.json").write_text(json.dumps({"name": name, **pack}))
    names = {
        "Fox": "fox",
        "Link": "link",
        "Young Link": "young_link",
        "Mr. Game & Watch": "game_&_watch",
        "Wolf": "wolf",
    }
    codenames = {name: {"codename": codename, "locale": {}} for name, codename in names.items()}
    (game / "base_files/config.json").write_text(json.dumps({"character_to_codename": codenames}))
    make(
        game,
        "base_files/icon/chara_2_fox_00.png",
        "base_files/icon/chara_2_fox_03.png",
        "base_files/icon/chara_2_young_link_01.png",
        "base_files/icon/chara_2_link_01.png",
        "base_files/icon/chara_2_game_&_watch_02.webp",
        "base_files/icon/chara_2_wolf_00.png",
        "base_files/icon/README.md",
        "portrait/fox_0.png",
        "full/fox-0.png",
        "second/fox-0.png",
        "second/fox-10.png",
        "stage_icon/final_destination.png",
        "stage_icon/brinstar_depths.png",
        "stage_icon/unknown.png",
    )
    return root


@pytest.mark.parametrize("place", ["", "Stream Tool", "Stream Tool/Resources"])
def test_pictures_of_melee_stream_tool(stream_tool: Path, tmp_path: Path, place: str) -> None:
    into = tmp_path / "overlays"
    done = called(command, stream_tool / place, "--into", into)
    assert (done.exit_code, done.output) == (0, f"5 icons, 1 portraits, 0 stages copied to {into}\n")
    below = "Stream Tool/Resources/Characters"
    assert files(into) == {
        "icons/0/0.png": f"{below}/Stock Icons/Captain Falcon/Default.png",
        "icons/0/5.png": f"{below}/Stock Icons/Captain Falcon/Blue.png",
        "icons/18/4.png": f"{below}/Stock Icons/Zelda/Purple.png",
        "icons/19/4.png": f"{below}/Stock Icons/Zelda/Sheik Purple.png",
        "icons/22/4.png": f"{below}/Stock Icons/Dr Mario/Black.png",
        "portraits/3/3.png": f"{below}/Portraits/Mr Game & Watch/Green.png",
    }
    assert own_pictures.own_pictures(into).icons["0"] == {"0": "icons/0/0.png", "5": "icons/0/5.png"}


@pytest.mark.parametrize("place", ["", "user_data/games", "user_data/games/ssbm"])
def test_pictures_of_tournament_stream_helper(helper: Path, tmp_path: Path, place: str) -> None:
    into = tmp_path / "overlays"
    done = called(command, helper / place, "--into", into)
    assert (done.exit_code, done.output) == (0, f"5 icons, 2 portraits, 2 stages copied to {into}\n")
    assert files(into) == {
        "icons/2/0.png": "base_files/icon/chara_2_fox_00.png",
        "icons/2/3.png": "base_files/icon/chara_2_fox_03.png",
        "icons/21/1.png": "base_files/icon/chara_2_young_link_01.png",
        "icons/3/2.webp": "base_files/icon/chara_2_game_&_watch_02.webp",
        "icons/6/1.png": "base_files/icon/chara_2_link_01.png",
        "portraits/2/0.png": "second/fox-0.png",
        "portraits/2/10.png": "second/fox-10.png",
        "stages/15.png": "stage_icon/brinstar_depths.png",
        "stages/32.png": "stage_icon/final_destination.png",
    }
    assert own_pictures.own_pictures(into) != OwnPictures()


def test_existing_pictures_are_kept(stream_tool: Path, tmp_path: Path) -> None:
    make(tmp_path / "overlays", "icons/0/0.svg")
    done = called(command, stream_tool, "--into", tmp_path / "overlays")
    assert done.output == f"4 icons, 1 portraits, 0 stages copied to {tmp_path / 'overlays'}; 1 kept that were there\n"
    assert "icons/0/0.png" not in files(tmp_path / "overlays")
    done = called(command, stream_tool, "--into", tmp_path / "overlays", "--overwrite")
    assert done.output == f"5 icons, 1 portraits, 0 stages copied to {tmp_path / 'overlays'}\n"
    assert "icons/0/0.png" in files(tmp_path / "overlays")
    assert "icons/0/0.svg" not in files(tmp_path / "overlays"), "some browsers would show it instead"


def test_other_folders_are_one_line(tmp_path: Path, stream_tool: Path) -> None:
    (tmp_path / "photos").mkdir()
    into = ("--into", tmp_path / "overlays")
    for arguments, code, message in (
        ([tmp_path / "photos"], 1, "photos is not a folder of Melee Stream Tool or TournamentStreamHelper"),
        ([tmp_path / "none"], 74, "none is not a folder"),
        (
            [stream_tool, "--from", "tournament-stream-helper"],
            1,
            "mst has no pictures of Melee where tournament-stream-helper keeps them",
        ),
    ):
        done = called(command, *arguments, *into)
        assert done.exit_code == code
        assert error_line(done).endswith(message)
    assert not (tmp_path / "overlays").exists()


@pytest.mark.parametrize("text", ["{", '{"character_to_codename": 3}', "[]"])
def test_damaged_list_is_one_line(helper: Path, tmp_path: Path, text: str) -> None:
    (helper / "user_data/games/ssbm/base_files/config.json").write_text(text)
    done = called(command, helper, "--into", tmp_path / "overlays")
    assert done.exit_code == 74
    assert "cannot be read" in error_line(done)


@pytest.mark.skipif(os.name == "nt", reason="no FIFOs")
def test_only_regular_files_are_copied(stream_tool: Path, tmp_path: Path) -> None:
    os.mkfifo(stream_tool / "Stream Tool/Resources/Characters/Stock Icons/Captain Falcon/Red.png")
    assert called(command, stream_tool, "--into", tmp_path / "overlays").exit_code == 0
    assert "icons/0/2.png" not in files(tmp_path / "overlays")
