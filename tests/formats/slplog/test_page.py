"""The page of the format is enough to write a reader: one that was made from it reads what we write."""

from __future__ import annotations

import pytest

from slpstream.formats.slplog.writer import pack
from tests.formats.slplog.logs import synthetic, varied_replay
from tests.formats.slplog.page_reader import unpack
from tests.shared_data import needs_shared, replay
from tests.synthetic.match import synthetic_match


def read_by_the_page(data: bytes) -> None:
    assert unpack(pack(data, "slippi", "Game_1.slp")) == data


def test_made_replays() -> None:
    read_by_the_page(varied_replay())
    read_by_the_page(synthetic()[:120_000])
    read_by_the_page(synthetic_match(seed=2, frames=200, version=(0, 1, 0)))


@needs_shared
@pytest.mark.parametrize("name", ["v3.18", "rollbackFrameTest", "items", "game", "ics", "FodPlatforms", "v2.0"])
def test_real_replays(name: str) -> None:
    read_by_the_page(replay(name)[:100_000])
