"""Compatible stats compared with slippi-js 9.1.2 `getStats`: every field, counts exactly, floats to 1e-6.

On every real replay, and on real ones that are cut off or lack an event.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.marks import slow
from tests.oracles.slippi_js import SlippiJs, needs_slippi_js, slippi_js
from tests.replays import needs_shared, replay, replays
from tests.stats.games import (
    POST,
    PRE,
    Json,
    cut_after,
    differences,
    events_in,
    game_of,
    real,
    run,
    shown,
    without_event,
)
from tests.synthetic.match import synthetic_match

pytestmark = needs_slippi_js

NOT_REPLAYS = {"not_slp_text"}
FRAME_START, BOOKEND = 0x3A, 0x3C


@pytest.fixture(scope="module")
def oracle() -> Iterator[SlippiJs]:
    with slippi_js("stats") as running:
        yield running


@pytest.fixture
def ask(oracle: SlippiJs, tmp_path: Path) -> Callable[[bytes], Json]:
    """Runs slippi-js on the bytes of a replay."""

    def run_slippi_js(data: bytes) -> Json:
        path = tmp_path / "built.slp"
        path.write_bytes(data)
        result = oracle.ask(path)
        assert "error" not in result, result
        return result

    return run_slippi_js


def compare(theirs: Json, data: bytes) -> None:
    stats, _ = run(game_of(data), compat=True)
    assert list(differences(theirs["stats"], shown(stats))) == []
    stadium = stats.stadium()
    ours = None if stadium is None else msgspec.to_builtins(stadium)
    assert list(differences(theirs.get("stadiumStats"), ours)) == []


@pytest.mark.parametrize("path", [path for path in replays() if path.stem not in NOT_REPLAYS], ids=lambda p: p.stem)
def test_real_replay(path: Path, oracle: SlippiJs) -> None:
    theirs, ours = oracle.ask(path), real(path.stem)
    assert list(differences(theirs["stats"], ours.compat)) == []
    assert list(differences(theirs.get("stadiumStats"), ours.stadium)) == []


@needs_shared
@pytest.mark.parametrize("more", [0, 40])
@pytest.mark.parametrize(
    ("name", "command", "frame"),
    [
        ("game", POST, 1021),  # before 3.0: the frame before is final
        ("game", PRE, 1022),
        ("v2.0", POST, 1016),
        ("itemExport", BOOKEND, 1000),  # bookends, not online: the frame seven frames back is final
        ("itemExport", PRE, 1003),
        ("geckoCodes", BOOKEND, 100),
        ("FodPlatforms", BOOKEND, 2000),  # online: the bookend decides
        ("FodPlatforms", FRAME_START, 2001),
        ("rollbackFrameTest", BOOKEND, 1400),
        ("rollbackFrameTest", PRE, 1403),
    ],
)
def test_cut_replay(name: str, command: int, frame: int, more: int, ask: Callable[[bytes], Json]) -> None:
    """Without a Game End slippi-js counts up to the finalized frame."""
    data = cut_after(replay(name), frame, command, more)
    compare(ask(data), data)


@needs_shared
@pytest.mark.parametrize(("name", "frame", "player"), [("game", 3000, 0), ("itemExport", 500, 0), ("v3.18", 500, 1)])
def test_replay_without_an_event(name: str, frame: int, player: int, ask: Callable[[bytes], Json]) -> None:
    data = without_event(replay(name), POST, frame, player)
    compare(ask(data), data)


@needs_shared
@pytest.mark.parametrize("language", [0, 1])
@pytest.mark.parametrize("x", [None, 312.5, 2000.25, -50.0])
def test_home_run_in_feet_and_metres(language: int, x: float | None, ask: Callable[[bytes], Json]) -> None:
    data = with_language_and_distance(replay("homeRun_jp"), language, x)
    theirs = ask(data)
    assert theirs["stadiumStats"]["units"] == ("feet" if language else "meters")
    compare(theirs, data)


def with_language_and_distance(data: bytes, language: int, x: float | None) -> bytes:
    """The replay with another language, and another position of Sandbag in its last frame."""
    changed = bytearray(data)
    for at, _ in events_in(data):
        if data[at] == 0x36:
            changed[at + 0x2BD] = language
        if data[at] == POST and data[at + 7] == 32:
            last = at
    if x is not None:
        changed[last + 0xA : last + 0xE] = struct.pack(">f", x)
    return bytes(changed)


@pytest.mark.slow
@pytest.mark.parametrize("version", [(0, 1, 0), (2, 2, 0), (3, 3, 0), (3, 18, 0)])
@pytest.mark.parametrize("ended", [True, *slow(False)])
def test_synthetic_match(version: tuple[int, int, int], ended: bool, ask: Callable[[bytes], Json]) -> None:
    rollbacks = version == (3, 18, 0)
    data = synthetic_match(version=version, seed=5, frames=2500, rollbacks=rollbacks, ended=ended)
    compare(ask(data), data)
