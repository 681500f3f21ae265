"""Entry ids, turns and lines: the layout that ingests and gateways share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import START, Position
from slpstream.parts.fanout.streams import (
    MAX_TURNS,
    MODES,
    EventKeys,
    StationKeys,
    Turn,
    aside_field,
    by_game,
    entry_id,
    ids_of_turn,
    pack,
    parse_id,
    parse_turns,
    turn_record,
    turns_to_forget,
    unpack,
)
from tests.stream.fakes import game_id

POSITIONS = st.builds(Position, st.integers(0, (1 << 39) - 1), st.integers(0, (1 << 24) - 1))


@given(POSITIONS, POSITIONS)
def test_ids_have_the_order_of_positions(one: Position, other: Position) -> None:
    assert (one < other) == (pack(one) < pack(other))
    assert unpack(pack(one)) == one
    assert parse_id(entry_id(7, one)) == (7, pack(one))
    assert pack(one) < 1 << 64
    assert START <= one.before < one
    assert not one.before < other < one


def test_start_comes_first() -> None:
    assert pack(START) == 0
    assert unpack(0) == START == START.before
    assert pack(Position(0, 0)) > 0


@pytest.mark.parametrize("position", [Position(1 << 39, 0), Position(0, 1 << 24), Position(-2, 0)])
def test_position_beyond_the_range_of_ids_is_refused(position: Position) -> None:
    with pytest.raises(ProtocolViolation):
        entry_id(1, position)


@given(st.integers(1, 1 << 50), POSITIONS)
def test_ids_of_a_turn_span_all_its_messages(ordinal: int, position: Position) -> None:
    first, last = map(parse_id, ids_of_turn(ordinal, pack(position)))
    assert first == (ordinal, pack(position) + 1)
    assert first <= last < (ordinal + 1, 0)


def test_turns_are_read_back_from_their_records() -> None:
    turns = [Turn(5, game_id(1), START), Turn(9, game_id(2), Position(700, 2)), Turn(12, game_id(1), Position(9, 0))]
    records = {
        str(turn.ordinal).encode(): turn_record(turn.game_id, "live", turn.after).encode() for turn in reversed(turns)
    }
    records |= {b"x": b"y", b"3": b"rubbish", b"4": b"\xff", b"6": f"{game_id(1)}/frame:7".encode()}
    assert parse_turns(records) == turns
    assert by_game(turns) == {game_id(2): [turns[1]], game_id(1): [turns[0], turns[2]]}
    assert list(by_game(turns)) == [game_id(2), game_id(1)]


def test_turn_of_a_secondary_game_is_marked_by_a_separate_field() -> None:
    """Programs that do not know the mark read an ordinary record, and treat the additional field as invalid."""
    turns = [Turn(5, game_id(1), START), Turn(9, game_id(2), START, aside=True), Turn(12, game_id(2), Position(9, 0))]
    records = {str(turn.ordinal).encode(): turn_record(turn.game_id, "live", turn.after).encode() for turn in turns}
    records[aside_field(9).encode()] = b"1"
    assert parse_turns(records) == turns
    with pytest.raises(ValueError, match="invalid literal"):
        int(aside_field(9))


def test_trimmed_games_keep_their_newest_turn() -> None:
    turns = [Turn(n, game_id(n % 3), START) for n in range(1, 10)]
    assert turns_to_forget(turns, 0) == []
    assert turns_to_forget(turns, 8) == [1, 2, 3, 4, 5, 6]
    assert turns_to_forget(turns, 100) == [1, 2, 3, 4, 5, 6]
    many = [Turn(n, game_id(n % 2), START) for n in range(MAX_TURNS + 10)]
    assert turns_to_forget(many, 0) == list(range(10))


def test_keys_of_an_event_are_distinct() -> None:
    stations = ["stations", "status", "state", "finalized", "turns", "ingest", "main"]
    keys = [EventKeys("e").stations, EventKeys("e").status, EventKeys("e").ingest("ab")]
    for station in stations:
        station_keys = StationKeys("e", station)
        keys += [
            station_keys.state,
            *(key(mode) for key in (station_keys.stream, station_keys.turns) for mode in MODES),
        ]
    assert len(keys) == len(set(keys))
    assert StationKeys("e", "main").stream("live") == "slpstream:e:main"
