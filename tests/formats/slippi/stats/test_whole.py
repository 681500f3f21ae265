"""Stats from columns equal those from the events read one by one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.whole import whole_stats
from slpstream.formats.slippi.whole_game import WholeGame
from tests.formats.slippi.stats.games import POST, PRE, SHORT, game_of, run, without_event
from tests.replays import NOT_REPLAYS, existing, replay, replays

READ_ONE_BY_ONE = {
    "crashed_2.1", "crashed_3.18", "in_progress_2.2", "in_progress_3.18", "lost_game_end_3.6", "lost_game_end_3.18",
    "rollbacks_3.0", "BTTDK", "corrupt", "geckoCodes", "incomplete", *NOT_REPLAYS,
    "Slippipedia__replays__fox-pika-crashing", "slippc__corrupt__corrupt-commandbytes",
    "slippc__corrupt__corrupt-no-game-end-event", "slippi-js__test__test_e8309d", "slippi-js__timer_increasing",
}  # fmt: skip
"""Files without a Game End or with frames that come again once they are final, and a target test, which needs items."""


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


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in READ_ONE_BY_ONE], ids=lambda p: p.stem)
def test_stats_from_columns(path: Path) -> None:
    assert compare(path.read_bytes())


@pytest.mark.parametrize("options", [{"compat": True}, {"crew": True}], ids=str)
@pytest.mark.parametrize("name", [name for name in SHORT if name not in READ_ONE_BY_ONE])
def test_other_modes(name: str, options: dict[str, bool]) -> None:
    assert compare(replay(name), **options)


@pytest.mark.parametrize("name", existing(*sorted(READ_ONE_BY_ONE - NOT_REPLAYS)))
def test_replays_that_are_read_event_by_event(name: str) -> None:
    assert not compare(replay(name))


@pytest.mark.parametrize("command", [PRE, POST])
@pytest.mark.parametrize("name", ["singles_0.1", "items_3.18", "doubles_3.18", *existing("itemExport")])
def test_frame_without_a_player(name: str, command: int) -> None:
    data = without_event(replay(name), command, 200, 0)
    assert compare(data)
    assert compare(data, compat=True)


CHANGES = st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=4))


@settings(max_examples=60)
@given(st.sampled_from(SHORT), st.lists(CHANGES, max_size=20), st.floats(0, 1), st.booleans(), st.booleans())
def test_damaged_replays(name: str, changes: list[tuple[float, bytes]], end: float, cut: bool, compat: bool) -> None:
    """Any bytes give the same stats in both ways, from the frames that exist."""
    damaged = bytearray(replay(name))
    first = HEADER_BYTES + damaged[HEADER_BYTES + 1]
    for where, octets in changes:
        at = first + int(where * (len(damaged) - first))
        damaged[at : at + len(octets)] = octets
    data = bytes(damaged[: int(end * len(damaged))] if cut else damaged)
    reader = SlippiReader()
    reader.feed(data)
    if reader.settings is not None:
        compare(data, compat=compat)
