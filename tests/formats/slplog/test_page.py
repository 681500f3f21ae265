"""The documentation of the format is complete: a reader made from it alone can read our logs."""

from __future__ import annotations

import pytest

from slpstream.formats.slplog.writer import pack
from tests.formats.slplog.logs import synthetic, varied_replay
from tests.formats.slplog.page_reader import unpack
from tests.replays import needs_shared, replay
from tests.synthetic.match import synthetic_match


def check(data: bytes) -> None:
    assert unpack(pack(data, "slippi", "Game_1.slp")) == data


def test_reader_of_the_page_reads_synthetic_replays() -> None:
    check(varied_replay())
    check(synthetic()[:120_000])
    check(synthetic_match(seed=2, frames=200, version=(0, 1, 0)))


@needs_shared
@pytest.mark.parametrize("name", ["v3.18", "rollbackFrameTest", "items", "game", "ics", "FodPlatforms", "v2.0"])
def test_reader_of_the_page_reads_real_replays(name: str) -> None:
    check(replay(name)[:100_000])
