"""Ids, turns and lines: what both ends of the broker agree on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import START, LogMessage, Position, parse_line
from slpstream.outputs.redis.streams import (
    MAX_TURNS,
    MODES,
    EventKeys,
    StationKeys,
    Turn,
    by_game,
    entry_id,
    ids_of_turn,
    just_before,
    pack,
    parse_id,
    parse_turns,
    superfluous,
    turn_record,
    unpack,
)
from tests.stream.fakes import FakeLog, game_id

PLACES = st.builds(Position, st.integers(0, (1 << 39) - 1), st.integers(0, (1 << 24) - 1))


@given(PLACES, PLACES)
def test_ids_sort_as_places_do(one: Position, other: Position) -> None:
    assert (one < other) == (pack(one) < pack(other))
    assert unpack(pack(one)) == one
    assert parse_id(entry_id(7, one)) == (7, pack(one))
    assert pack(one) < 1 << 64
    assert START <= just_before(one) < one
    assert not just_before(one) < other < one


def test_the_start_is_before_all() -> None:
    assert pack(START) == 0
    assert unpack(0) == START == just_before(START)
    assert pack(Position(0, 0)) > 0


@pytest.mark.parametrize("place", [Position(1 << 39, 0), Position(0, 1 << 24), Position(-2, 0)])
def test_a_place_that_has_no_id_is_refused(place: Position) -> None:
    with pytest.raises(ProtocolViolation):
        entry_id(1, place)


@given(st.integers(1, 1 << 50), PLACES)
def test_the_ids_of_a_turn_have_all_its_messages(ordinal: int, place: Position) -> None:
    first, last = map(parse_id, ids_of_turn(ordinal, pack(place)))
    assert first == (ordinal, pack(place) + 1)
    assert first <= last < (ordinal + 1, 0)


def test_turns_come_back_from_their_hash() -> None:
    turns = [Turn(5, game_id(1), START), Turn(9, game_id(2), Position(700, 2)), Turn(12, game_id(1), Position(9, 0))]
    hash_ = {
        str(turn.ordinal).encode(): turn_record(turn.game_id, "live", turn.behind).encode() for turn in reversed(turns)
    }
    hash_ |= {b"x": b"y", b"3": b"rubbish", b"4": b"\xff", b"6": f"{game_id(1)}/frame:7".encode()}
    assert parse_turns(hash_) == turns
    assert by_game(turns) == {game_id(2): [turns[1]], game_id(1): [turns[0], turns[2]]}
    assert list(by_game(turns)) == [game_id(2), game_id(1)]


def test_of_what_is_trimmed_each_game_keeps_one_turn() -> None:
    turns = [Turn(n, game_id(n % 3), START) for n in range(1, 10)]
    assert superfluous(turns, 0) == []
    assert superfluous(turns, 8) == [1, 2, 3, 4, 5, 6]
    assert superfluous(turns, 100) == [1, 2, 3, 4, 5, 6]
    many = [Turn(n, game_id(n % 2), START) for n in range(MAX_TURNS + 10)]
    assert superfluous(many, 0) == list(range(10))


def test_no_two_keys_of_an_event_are_the_same() -> None:
    stations = ["stations", "status", "state", "finalized", "turns", "ingest", "main"]
    keys = [EventKeys("e").stations, EventKeys("e").status, EventKeys("e").ingest("ab")]
    for station in stations:
        of_station = StationKeys("e", station)
        keys += [of_station.state, *(key(mode) for key in (of_station.stream, of_station.turns) for mode in MODES)]
    assert len(keys) == len(set(keys))
    assert StationKeys("e", "main").stream("live") == "slpstream:e:main"


@pytest.mark.parametrize("station", [None, "main", 'a"b\\c'])
def test_a_line_is_read_back(station: str | None) -> None:
    for mode in MODES:
        for message in FakeLog(3).whole(mode):
            assert parse_line(message.json(station)) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"type":"station","station":"main","state":"idle"}',
        LogMessage("diagnostic", None, "live", 0, 0, b'"code":"x"}', None).json("main"),
        LogMessage("frame", game_id(1), "live", 0, 0, b'"frame":{}}', None).json("main"),
    ],
)
def test_what_is_no_message_of_a_log_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        parse_line(line)
