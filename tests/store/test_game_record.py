"""What the index keeps of a game."""

from __future__ import annotations

import msgspec
import pytest

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.described import DescribedGame
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.store import GameRecord
from slpstream.store.game_record import folded, search_terms
from tests.store import made
from tests.synthetic.match import synthetic_match


def test_a_slippi_game() -> None:
    events = SlippiReader().feed(synthetic_match(seed=3, frames=100))
    start = next(event for event in events if isinstance(event, GameStart))
    record = made.record(*events)
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


def test_the_end_is_that_of_the_message_and_the_stats_are_cut_down() -> None:
    record = made.record(made.start(1), made.stats(), made.end())
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


def test_stats_before_the_end_are_not_kept() -> None:
    assert made.record(made.start(1), made.stats()).stats is None


def test_an_end_with_few_values() -> None:
    record = made.record(made.start(1), GameEnd(1, "file_end", values={"finished": "likely"}))
    assert msgspec.json.decode(record.game_end or b"") == {"reason": "file_end", "winners": [], "finished": "likely"}


def test_events_without_a_game_start_describe_no_game() -> None:
    assert DescribedGame.of([made.stats(), made.end(), made.metadata()]) is None


def test_games_are_found_by_names_codes_and_tags() -> None:
    players = [
        PlayerSummary(index=0, name=" Ann ", code="ANN#9"),
        PlayerSummary(index=1, tag="BOB"),
        PlayerSummary(index=2),
    ]
    assert search_terms(players) == {"ann", "ann#9", "bob"}


def test_names_are_compared_without_regard_to_case_and_edges() -> None:
    assert folded(" Straße ") == folded("STRASSE")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-11-14T22:13:20Z", made.DAY_ONE * 1000),
        ("2023-11-14T23:13:20+01:00", made.DAY_ONE * 1000),
        ("2023-11-14T22:13:20", made.DAY_ONE * 1000),
        ("1970-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("9999-12-31T23:59:59-23:00", 253402383599000),
        ("yesterday", None),
        ("", None),
    ],
)
def test_when_it_began(text: str, expected: int | None) -> None:
    assert GameRecord.of(made.start(1), None, None, GameSummary(started_at=text)).said_at_ms == expected


def test_a_later_read_adds_to_what_is_known() -> None:
    events = (made.start(1), made.end(), made.metadata())
    first = made.entry(1, events=events[:1])
    later = made.entry(1, at=made.DAY_ONE + 500, events=events)
    both = first.updated(later)
    assert both.mtime_ns == later.mtime_ns
    assert both.record == later.record
    again = later.updated(first)
    assert again.mtime_ns == first.mtime_ns
    assert again.record == later.record, "a file that is read again from its beginning takes nothing back"
    other = made.entry(2)
    assert first.updated(other) is other
