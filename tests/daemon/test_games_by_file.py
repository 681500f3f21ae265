"""The mapping from files to games."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream.daemon.station.followed_files import GamesByFile
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity
from slpstream.stream.game import Game


@pytest.mark.parametrize("inodes", [(1, 2), (0, 0)], ids=["inodes", "no inodes"])
def test_changed_file_loses_its_own_games_only(inodes: tuple[int, int]) -> None:
    """File systems without inodes give all files the same identity."""
    reader: Any = None
    games = GamesByFile()
    files = [TailedFile(Path(f"{inode}{i}.slp"), FileIdentity(7, inode), 0, 0) for i, inode in enumerate(inodes)]
    held = [Game(str(number), reader, ring_bytes=1, order=(number, 0, "")) for number in range(3)]
    games.put(files[0], held[0])
    games.put(files[0], held[1])
    games.put(files[1], held[2])
    again = TailedFile(files[0].path, files[0].identity, 0, 0)
    games.forget_file(again)
    assert [games.can_continue(game) for game in held] == [False, False, True]
