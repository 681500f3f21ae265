"""What the index keeps of a game's events."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import GameEnd, GameStart, Metadata
from slpstream.store import facts_of
from slpstream.store.game_facts import folded, players_with_names, search_terms
from tests.store import made
from tests.synthetic.match import synthetic_match


def test_of_a_slippi_game() -> None:
    events = SlippiReader().feed(synthetic_match(seed=3, frames=100))
    began = next(event for event in events if isinstance(event, GameStart))
    facts = facts_of(began.game_id, events)
    assert facts.format == "slippi"
    assert facts.rate == b"[60,1]"
    assert facts.settings == msgspec.json.encode(began.settings)
    players = msgspec.json.decode(facts.players or b"")
    assert [(p["index"], p["port"], p["name"]) for p in players] == [
        (player.player_index, player.port, player.display_name) for player in began.settings.players
    ]
    assert msgspec.json.decode(facts.setup or b"")["stageId"] == began.settings.stage_id
    assert facts.reason == "game_end"
    assert facts.said_at_ms is not None
    standings = msgspec.json.decode(facts.standings or b"")
    assert {index: standing["stocks"] for index, standing in standings.items()} == {"0": 4, "1": 4}


def test_the_end_says_what_the_message_says_and_the_stats_are_cut_down() -> None:
    facts = facts_of(made.game_id(1), [made.start(1), made.stats(), made.end()])
    assert msgspec.json.decode(facts.game_end or b"") == {
        "reason": "game_end",
        "winners": [{"playerIndex": 1, "position": 0}],
        "lastFrame": 1676,
        "durationSeconds": 30.0,
    }
    assert facts.winners == b"[1]"
    assert msgspec.json.decode(facts.stats or b"") == {
        "gameComplete": True,
        "lastFrame": 1676,
        "overall": [{"killCount": 4}],
    }


def test_stats_before_the_end_are_not_kept() -> None:
    assert facts_of(made.game_id(1), [made.start(1), made.stats()]).stats is None


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"racers": [{"index": 4, "human": True, "machine": {"id": 1, "name": "Fox"}}]},
         [{"index": 4, "human": True, "character": {"id": 1, "name": "Fox"}}]),
        ({"player": {"car": "COUN", "color": 2}, "opponent": {"car": "PC04"}},
         [{"index": 0, "character": "COUN", "color": 2}, {"index": 1, "character": "PC04"}]),
        ({"player": {"name": "Lakitu", "country": 3}, "drivers": [1, 2]}, [{"index": 0, "name": "Lakitu"}]),
        ({"players": "none"}, []),
        ({"players": [None, 3]}, []),
        ({}, []),
        ([], []),
    ],
)  # fmt: skip
def test_who_played_in_other_formats(settings: Any, expected: list[dict[str, Any]]) -> None:
    facts = facts_of(made.game_id(1), [GameStart(1, "other", made.game_id(1), settings, (20, 1))])
    assert msgspec.json.decode(facts.players or b"") == expected


def test_names_of_the_metadata_stand_in_for_those_that_the_settings_do_not_have() -> None:
    players = b'[{"index":0},{"index":1,"name":"Bob","code":"BOB#1"},{"index":2}]'
    metadata = (
        b'{"players":{"0":{"names":{"netplay":"Ann","code":"ANN#9"}},"1":{"names":{"netplay":"x"}},"2":{"names":3}}}'
    )
    found = players_with_names(players, metadata)
    assert found == [
        {"index": 0, "name": "Ann", "code": "ANN#9"},
        {"index": 1, "name": "Bob", "code": "BOB#1"},
        {"index": 2},
    ]
    assert search_terms(found) == {"ann", "ann#9", "bob", "bob#1"}
    for odd in (None, b"null", b"[]", b'{"players":[]}', b'{"players":{"0":[]}}'):
        assert players_with_names(players, odd)[0] == {"index": 0}


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
        (17, None),
        (None, None),
    ],
)
def test_when_it_began(text: Any, expected: int | None) -> None:
    assert facts_of(made.game_id(1), [Metadata(1, {"startAt": text})]).said_at_ms == expected


def test_what_is_said_later_is_added() -> None:
    first = made.entry(1, events=(made.start(1),))
    later = made.entry(1, at=made.DAY_ONE + 500, events=(made.end(), made.metadata()))
    both = first.updated(later)
    assert both.mtime_ns == later.mtime_ns
    assert both.facts is not None
    assert both.facts.format == "slippi"
    assert both.facts.reason == "game_end"
    assert both.facts.metadata is not None
    other = made.entry(2)
    assert first.updated(other) is other


def test_an_end_that_says_little() -> None:
    facts = facts_of(made.game_id(1), [GameEnd(1, "file_end", values={"finished": "likely"})])
    assert msgspec.json.decode(facts.game_end or b"") == {"reason": "file_end", "winners": [], "finished": "likely"}
