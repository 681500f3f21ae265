"""The record of a game in the index."""

from __future__ import annotations

import msgspec
import pytest

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.described import DescribedGame
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.store import GameRecord
from slpstream.store.game_record import folded, search_terms
from tests.store import samples
from tests.synthetic.match import synthetic_match


def test_record_of_a_slippi_game() -> None:
    events = SlippiReader().feed(synthetic_match(seed=3, frames=100))
    start = next(event for event in events if isinstance(event, GameStart))
    record = samples.record(*events)
    assert record.game_id == start.game_id
    assert record.format == "slippi"
    assert record.rate == b"[60,1]"
    assert record.settings == msgspec.json.encode(start.settings)
    assert [(player.index, player.port, player.name) for player in record.summary.players] == [
        (player.player_index, player.port, player.display_name) for player in start.settings.players
    ]
    assert record.reason == "game_end"
    assert record.said_at_ms is not None
    standings = msgspec.json.decode(record.standings or b"")
    assert {index: standing["stocks"] for index, standing in standings.items()} == {"0": 4, "1": 4}


def test_record_has_the_game_end_message_and_reduced_stats() -> None:
    record = samples.record(samples.start(1), samples.stats(), samples.end())
    assert msgspec.json.decode(record.game_end or b"") == {
        "reason": "game_end",
        "winners": [{"playerIndex": 1, "position": 0}],
        "lastFrame": 1676,
        "durationSeconds": 30.0,
    }
    assert record.summary.winners == [1]
    assert msgspec.json.decode(record.stats or b"") == {
        "gameComplete": True,
        "lastFrame": 1676,
        "overall": [{"killCount": 4}],
    }


def test_stats_before_the_end_are_dropped() -> None:
    assert samples.record(samples.start(1), samples.stats()).stats is None


def test_game_end_without_optional_values() -> None:
    record = samples.record(samples.start(1), GameEnd(1, "file_end", values={"finished": "likely"}))
    assert msgspec.json.decode(record.game_end or b"") == {"reason": "file_end", "winners": [], "finished": "likely"}


def test_events_without_a_game_start_describe_no_game() -> None:
    assert DescribedGame.of([samples.stats(), samples.end(), samples.metadata()]) is None


def test_games_are_found_by_names_codes_and_tags() -> None:
    players = [
        PlayerSummary(index=0, name=" Ann ", code="ANN#9"),
        PlayerSummary(index=1, tag="BOB"),
        PlayerSummary(index=2),
    ]
    assert search_terms(players) == {"ann", "ann#9", "bob"}


def test_names_are_compared_without_case_and_surrounding_spaces() -> None:
    assert folded(" Straße ") == folded("STRASSE")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-11-14T22:13:20Z", samples.DAY_ONE * 1000),
        ("2023-11-14T23:13:20+01:00", samples.DAY_ONE * 1000),
        ("2023-11-14T22:13:20", samples.DAY_ONE * 1000),
        ("1970-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("9999-12-31T23:59:59Z", 253402300799000),
        ("9999-12-31T23:59:59-23:59", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_start_time_from_metadata(text: str, expected: int | None) -> None:
    assert GameRecord.of(samples.start(1), None, None, GameSummary(started_at=text)).said_at_ms == expected


def test_later_read_of_a_file_adds_to_its_record() -> None:
    events = (samples.start(1), samples.end(), samples.metadata())
    first = samples.entry(1, events=events[:1])
    later = samples.entry(1, at=samples.DAY_ONE + 500, events=events)
    both = first.updated(later)
    assert both.mtime_ns == later.mtime_ns
    assert both.record == later.record
    again = later.updated(first)
    assert again.mtime_ns == first.mtime_ns
    assert again.record == later.record, "reading the file again from its beginning removes nothing"
    other = samples.entry(2)
    assert first.updated(other) is other
