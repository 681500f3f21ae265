"""Stats from columns equal those from the events read one by one."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.model.errors import FormatError
from slpstream.stats import SlippiStats
from slpstream.stats.whole import whole_stats
from tests.replays import needs_shared, replay, replays
from tests.stats.games import POST, PRE, SHORT, data_of, game_of, run, without_event

READ_ONE_BY_ONE = {"BTTDK", "corrupt", "geckoCodes", "incomplete", "not_slp_text"}
"""A target test, which needs items, and files without a Game End."""


def encoded(stats: SlippiStats) -> bytes:
    return msgspec.json.encode([stats.stats(), stats.stadium()])


def compare(data: bytes, *, compat: bool = False, crew: bool = False) -> bool:
    """Whether the columns can be used. Asserts that their stats are the same then."""
    stats, events = run(game_of(data), compat=compat, crew=crew)
    assert events
    expected = encoded(stats)
    whole = whole_stats(WholeGame(data), compat=compat, crew=crew)
    assert whole is None or encoded(whole) == expected
    return whole is not None


@pytest.mark.parametrize(("compat", "crew"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("name", SHORT)
def test_own_game(name: str, compat: bool, crew: bool) -> None:
    assert compare(data_of(name), compat=compat, crew=crew)


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


CHANGES = st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=4))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SHORT), st.lists(CHANGES, max_size=20), st.floats(0, 1), st.booleans(), st.booleans())
def test_damaged_replays(name: str, changes: list[tuple[float, bytes]], end: float, cut: bool, compat: bool) -> None:
    """Any bytes give the same stats either way, computed from whatever frames there are."""
    damaged = bytearray(data_of(name))
    first = HEADER_BYTES + damaged[HEADER_BYTES + 1]
    for where, octets in changes:
        at = first + int(where * (len(damaged) - first))
        damaged[at : at + len(octets)] = octets
    data = bytes(damaged[: int(end * len(damaged))] if cut else damaged)
    reader = SlippiReader()
    reader.feed(data)
    if reader.settings is not None:
        with suppress(FormatError):
            compare(data, compat=compat)
