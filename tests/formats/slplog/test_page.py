"""The documentation of the format is complete: a reader made from it alone can read our logs."""

from __future__ import annotations

from functools import cache

import pytest

from slpstream.formats.slplog.writer import pack
from tests.formats.slippi.built import varied_replay
from tests.formats.slplog.logs import synthetic
from tests.formats.slplog.page_reader import unpack
from tests.replays import SLP, replay
from tests.synthetic.match import synthetic_match

REAL = ("v3.18", "rollbackFrameTest", "items", "game", "ics", "FodPlatforms", "v2.0")


@cache
def cases() -> dict[str, bytes]:
    """Parts of built replays, and of real ones with other kinds of events."""
    built = {
        "varied": varied_replay(),
        "match": synthetic()[:120_000],
        "version 0.1": synthetic_match(seed=2, frames=200, version=(0, 1, 0)),
    }
    return built | {name: replay(name)[:100_000] for name in REAL if (SLP / f"{name}.slp").is_file()}


@pytest.mark.parametrize("name", cases())
def test_reader_of_the_page_reads_logs(name: str) -> None:
    data = cases()[name]
    assert unpack(pack(data, "slippi", "Game_1.slp")) == data
