"""The replays that Dolphin can play."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from slpstream.game.dolphin_queue import replay_path
from slpstream.store import StoredGame


@pytest.mark.parametrize(("path", "playable"), [(b"/replays/Game_1.slp", True), (b"/replays/Spiel_\xfc.slp", False)])
def test_dolphin_cannot_play_a_replay_whose_name_is_not_utf_8(path: bytes, playable: bool) -> None:
    game = SimpleNamespace(row=SimpleNamespace(format="slippi"), files=[SimpleNamespace(path=path)])
    assert (replay_path(cast(StoredGame, game)) is not None) == playable
