"""What is no file is not waited for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from slpstream.api import open_file
from slpstream.errors import CursorGone, Unreadable
from slpstream.messages import START
from slpstream.regular_file import open_regular
from slpstream.replay import archived_game, peek_game_id

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")


@pytest.mark.trio
@pytest.mark.parametrize("name", ["a.slp", "a.gci"])
async def test_a_named_pipe_in_the_place_of_a_replay(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(path)
    with pytest.raises(Unreadable, match="not a regular file"):
        open_file(path)
    assert peek_game_id(path) is None
    game = archived_game(path, 0, "0" * 32, trio.CapacityLimiter(1))
    with pytest.raises(CursorGone):
        await game.replay("live", START)


def test_a_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(b"replay")
    with open_regular(path) as file:
        assert file.read() == b"replay"
