"""The bundled matches of the demo: the recorder reproduces them, and each play of a match is another game."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.model import events
from slpstream.parts.demo.bundled import MATCHES, bundled_match
from tests.marks import slow
from tests.sets.games import CorrectedGames, Folder
from tests.synthetic import record_demo

MAX_BYTES = 400_000
STARTED_AT = datetime(2026, 11, 22, 16, 30, 5, tzinfo=UTC)
HEAD_BYTES = 2000
"""Enough to have Game Start."""


@cache
def recorded(name: str) -> bytes:
    return ReplayLog.of((record_demo.FOLDER / name).read_bytes()).unpack()


@cache
def played(play: int) -> bytes:
    return bundled_match(play, started_at=STARTED_AT)


def game_start_at(data: bytes) -> int:
    return HEADER_BYTES + 1 + data[HEADER_BYTES + 1]


FIRST_MATCH, *OTHER_MATCHES = record_demo.MATCHES
FIRST_MATCH_AND_SLOW_ONES = [FIRST_MATCH, *slow(*OTHER_MATCHES)]


def start_of(data: bytes) -> events.GameStart:
    (start,) = (event for event in SlippiReader().feed(data[:HEAD_BYTES]) if isinstance(event, events.GameStart))
    return start


def test_the_package_has_exactly_the_recorded_matches() -> None:
    logs = sorted(record_demo.FOLDER.iterdir())
    assert tuple(log.name for log in logs) == MATCHES == tuple(f"{name}.slplog" for name in record_demo.MATCHES)
    assert sum(log.stat().st_size for log in logs) <= MAX_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST_MATCH_AND_SLOW_ONES)
def test_recorder_reproduces_each_match(name: str) -> None:
    assert recorded(f"{name}.slplog") == record_demo.record(name)


@pytest.mark.parametrize("play", range(1, len(MATCHES) + 1))
def test_each_play_is_a_valid_replay(play: int) -> None:
    reader = SlippiReader()
    found = reader.feed(played(play))
    assert reader.stage == "done"
    assert reader.raw_length_bytes > 0
    assert not [event for event in found if isinstance(event, events.Diagnostic)]
    assert [event.reason for event in found if isinstance(event, events.GameEnd)] == ["game_end"]
    (metadata,) = (event.metadata for event in found if isinstance(event, events.Metadata))
    assert metadata["startAt"] == "2026-11-22T16:30:05Z"


@pytest.mark.parametrize("play", range(1, len(MATCHES) + 1))
def test_only_random_seed_and_start_time_change(play: int) -> None:
    before, after = recorded(MATCHES[play - 1]), played(play)
    seed_at = game_start_at(before) + 0x13D
    time_at = before.index(b"startAt") + len(b"startAtSU.")
    unchanged = (slice(0, seed_at), slice(seed_at + 4, time_at), slice(time_at + 20, None))
    assert all(before[part] == after[part] for part in unchanged)
    assert after[time_at : time_at + 20] == b"2026-11-22T16:30:05Z"


@pytest.mark.slow
def test_each_play_of_a_match_is_another_game() -> None:
    plays = [1, 1 + len(MATCHES), 1 + 2 * len(MATCHES), 1 - len(MATCHES)]
    starts = [start_of(played(play)) for play in plays]
    assert len({start.game_id for start in starts}) == len(plays)
    assert len({start.settings.random_seed for start in starts}) == len(plays)
    assert {start.settings.stage_id for start in starts} == {starts[0].settings.stage_id}


def test_the_same_play_is_the_same_game() -> None:
    later = bundled_match(2, started_at=STARTED_AT + timedelta(hours=1))
    assert later != played(2)
    assert start_of(later).game_id == start_of(played(2)).game_id


@pytest.mark.slow
def test_the_matches_make_two_sets_of_the_same_players(tmp_path: Path) -> None:
    folder, station = Folder(tmp_path / "demo"), CorrectedGames()
    for play in range(1, len(MATCHES) + 2):
        folder.add(5.0 * play, bundled_match(play, started_at=STARTED_AT + timedelta(minutes=5 * play)))
    station.games = folder.games()
    sets = station.sets()
    assert [[side.score for side in each.sides] for each in sets] == [[2, 1], [0, 2], [1, 0]]
    assert [each.over for each in sets] == [True, True, False]
    for each in sets:
        assert [member.netplay_name for member in each.members] == ["Vixen", "Altea"]
