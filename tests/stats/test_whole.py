"""Stats from columns equal those from the events read one by one."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.model.errors import FormatError
from slpstream.stats import SlippiStats
from slpstream.stats.whole import whole_stats
from tests.replays import needs_shared, replay, replays
from tests.stats.games import POST, PRE, game_of, run, without_event
from tests.synthetic.match import synthetic_match

MATCHES = {
    "two": {"seed": 31},
    "netplay": {"seed": 32, "rollbacks": True},
    "climbers": {"seed": 33, "followers": True, "items": True},
    "teams": {"seed": 34, "players": 4, "teams": True, "stocks": 1},
    "oldest": {"seed": 35, "version": (0, 1, 0)},
}
READ_ONE_BY_ONE = {"BTTDK", "corrupt", "geckoCodes", "incomplete", "not_slp_text"}
"""A target test, which needs items, and files without a Game End."""


@cache
def match(name: str) -> bytes:
    return synthetic_match(frames=500, **MATCHES[name])  # type: ignore[arg-type]


def encoded(stats: SlippiStats) -> bytes:
    return msgspec.json.encode([stats.stats(), stats.stadium()])


def compare(data: bytes, *, compat: bool = False, crew: bool = False) -> bool:
    """Whether the columns can be used. Asserts that their stats are the same then."""
    whole = whole_stats(WholeGame(data), compat=compat, crew=crew)
    if whole is None:
        return False
    assert encoded(whole) == encoded(run(game_of(data), compat=compat, crew=crew)[0])
    return True


@pytest.mark.parametrize(("compat", "crew"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("name", MATCHES)
def test_synthetic_match(name: str, compat: bool, crew: bool) -> None:
    assert compare(match(name), compat=compat, crew=crew)


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in READ_ONE_BY_ONE], ids=lambda p: p.stem)
def test_real_replay(path: object) -> None:
    assert compare(replay(path.stem))  # type: ignore[attr-defined]


@needs_shared
@pytest.mark.parametrize("name", sorted(READ_ONE_BY_ONE - {"not_slp_text"}))
def test_replays_that_are_read_event_by_event(name: str) -> None:
    assert not compare(replay(name))


@needs_shared
@pytest.mark.parametrize("command", [PRE, POST])
@pytest.mark.parametrize("name", ["game", "itemExport", "doubles"])
def test_frame_without_a_player(name: str, command: int) -> None:
    data = without_event(replay(name), command, 300, 0)
    assert compare(data)
    assert compare(data, compat=True)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(MATCHES)), st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), max_size=4))
def test_damaged_replays(name: str, flips: list[tuple[float, int]]) -> None:
    """Any bytes give the same stats, or are left to the reader."""
    data = bytearray(match(name))
    for where, value in flips:
        data[800 + int(where * (len(data) - 800))] = value
    try:
        compare(bytes(data))
    except FormatError:
        with pytest.raises((FormatError, AssertionError)):
            game_of(bytes(data))
