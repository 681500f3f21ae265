"""The mapping from files to games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream.daemon.station.followed_files import FollowedFiles
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity
from slpstream.stream.game import Game
from tests.daemons.station import new_context


@pytest.mark.parametrize("inodes", [(1, 2), (0, 0)], ids=["inodes", "no inodes"])
def test_changed_file_loses_its_own_games_only(inodes: tuple[int, int]) -> None:
    """File systems without inodes give all files the same identity."""
    nothing: Any = None
    followed = FollowedFiles(new_context(Path()), nothing, nothing)
    files = [TailedFile(Path(f"{inode}{i}.slp"), FileIdentity(7, inode), 0, 0) for i, inode in enumerate(inodes)]
    held = [Game(str(number), nothing, ring_bytes=1, order=(number, 0, "")) for number in range(3)]
    followed.put_game(files[0], held[0])
    followed.put_game(files[0], held[1])
    followed.put_game(files[1], held[2])
    again = TailedFile(files[0].path, files[0].identity, 0, 0)
    followed.forget_games(again)
    assert [followed.can_continue(game) for game in held] == [False, False, True]
