"""Comparing replays: a changed bit anywhere is found and named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.formats.slippi import container, game_start
from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    GAME_START,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
)
from slpstream.formats.slippi.framing import read_event_payloads
from slpstream.formats.slplog.compare import Found, first_difference
from slpstream.model.errors import FormatError
from tests.formats.slippi.built import Built, varied_replay

PREFIXES = {
    PRE_FRAME.command: "pre",
    POST_FRAME.command: "post",
    FRAME_START.command: "start",
    ITEM_UPDATE.command: "item",
    FRAME_BOOKEND.command: "bookend",
    GAME_END.command: "gameEnd",
} | STAGE_EVENT_KINDS
FRAME = -115
REPLAY = varied_replay()


def events(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(command, offset, width) of each event after Event Payloads."""
    start = container.HEADER_BYTES
    offset = start + 1 + data[start + 1]
    widths = read_event_payloads(data[start:offset]).widths
    while widths[data[offset]]:
        yield data[offset], offset, widths[data[offset]]
        offset += widths[data[offset]]


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << bit
    return bytes(changed)


def difference(changed: bytes) -> Found:
    found = first_difference(REPLAY, changed)
    assert found is not None
    return found


def test_equal_replays() -> None:
    assert first_difference(REPLAY, REPLAY) is None


FIRST_OF_COMMAND = {
    command: next(
        at
        for code, at, _ in events(REPLAY)
        if code == command
        and (command == GAME_END.command or REPLAY[at + 1 : at + 5] == FRAME.to_bytes(4, "big", signed=True))
    )
    for command in TABLES
}
FIELDS = [(command, field.name) for command, table in TABLES.items() for field in table.fields]


@pytest.mark.parametrize(("command", "name"), FIELDS, ids=lambda value: str(value))
def test_changed_bit_in_a_field_is_named(command: int, name: str) -> None:
    at, field = FIRST_OF_COMMAND[command], next(field for field in TABLES[command].fields if field.name == name)
    for bit in range(8 * field.kind.width_bytes):
        found = difference(flipped(REPLAY, at + field.offset + bit // 8, bit % 8))
        assert found.event == TABLES[command].title
        assert found.field == f"{PREFIXES[command]}.{field.wire_name}"
        assert found.a != found.b
        assert found.offset == at + field.offset
        if command == GAME_END.command:
            assert (found.frame, found.player, found.context) == (None, None, ())
            continue
        assert found.frame == FRAME
        assert found.player == (REPLAY[at + 5] if PREFIXES[command] in ("pre", "post") else None)
        here = [row for row in found.context if row.frame == FRAME]
        assert (found.a, found.b) in [(row.a, row.b) for row in here] or found.a.startswith("0x")
        assert len(found.context) >= 3
        assert f"frame {FRAME}" in found.lines()[0]


def test_player_and_follower_are_named() -> None:
    seen = set()
    for command, at, _ in events(REPLAY):
        if command == POST_FRAME.command:
            found = difference(flipped(REPLAY, at + 0x16, 0))
            frame = int.from_bytes(REPLAY[at + 1 : at + 5], "big", signed=True)
            assert (found.frame, found.player, found.follower) == (frame, REPLAY[at + 5], bool(REPLAY[at + 6]))
            assert found.field == "post.percent"
            seen.add((REPLAY[at + 5], REPLAY[at + 6]))
    assert seen == {(0, 0), (1, 0), (1, 1)}


def test_changed_bit_in_game_start_is_named() -> None:
    at, width = next((at, width) for command, at, width in events(REPLAY) if command == GAME_START)
    named = {}
    for offset in range(1, width):
        found = difference(flipped(REPLAY, at + offset, 3))
        assert found.event == "Game Start"
        assert found.offset <= at + offset
        named[offset] = found
    for field in game_start.FIELDS:
        assert named[field.offset].field == f"gameStart.{field.wire_name}"
    for field in game_start.PLAYER_FIELDS:
        for player in range(game_start.PLAYERS):
            found = named[field.offset + player * field.stride_bytes]
            assert (found.field, found.player) == (f"gameStart.{field.wire_name}", player)
    assert {found.field for found in named.values()} >= {"event bytes"}, "bytes outside of all fields"


def test_bytes_outside_of_all_fields_are_event_bytes() -> None:
    sizes = {POST_FRAME.command: 0x60, 0x99: 4}
    game = Built(sizes=sizes).frame(-123).add(b"\x99abcd").frame(-122)
    data = game.end().closed()
    tail = next(at for command, at, _ in events(data) if command == POST_FRAME.command) + 0x5E
    found = first_difference(data, flipped(data, tail, 1))
    assert found is not None
    assert (found.field, found.frame, found.player, found.offset) == ("event bytes", -123, 0, tail)
    unknown = next(at for command, at, _ in events(data) if command == 0x99) + 2
    found = first_difference(data, flipped(data, unknown, 0))
    assert found is not None
    assert (found.event, found.field, found.offset) == ("unknown event 0x99", "event bytes", unknown)


def test_missing_and_different_events_are_named() -> None:
    one, two = Built().frame(-123).frame(-122), Built().frame(-123)
    found = first_difference(one.so_far(), two.so_far())
    assert found is not None
    assert (found.a, found.b, found.event, found.frame) == ("the event", "nothing", "Frame Start", -122)
    found = first_difference(two.so_far(), one.so_far())
    assert found is not None
    assert (found.a, found.b) == ("nothing", "the event")
    found = first_difference(one.end().closed(), Built().frame(-123).frame(-122, players=(1,)).end().closed())
    assert found is not None
    assert found.event == "Pre-Frame Update"
    assert found.field == "pre.playerIndex"
    found = first_difference(Built().frame(-123, items=1).so_far(), Built().frame(-123).so_far())
    assert found is not None
    assert (found.field, found.a, found.b) == (
        "command",
        "0x3b Item Update of frame -123",
        "0x38 Post-Frame Update of frame -123 player 0",
    )


def test_differences_outside_of_events_are_named() -> None:
    declared = REPLAY.index(bytes([POST_FRAME.command]), container.HEADER_BYTES) + 2
    assert difference(flipped(REPLAY, declared, 0)).field == "size of 0x38"
    raw_length = difference(flipped(REPLAY, container.HEADER_BYTES - 1, 0))
    assert (raw_length.event, raw_length.field) == ("header", "raw length")
    other = Built().frame(-123).end().closed({"lastFrame": 1, "players": {"0": {"names": {"code": "B#2"}}}})
    this = Built().frame(-123).end().closed({"lastFrame": 1, "players": {"0": {"names": {"code": "A#1"}}}})
    found = first_difference(this, other)
    assert found is not None
    assert (found.event, found.field, found.a, found.b) == (
        "metadata",
        "metadata.players.0.names.code",
        "'A#1'",
        "'B#2'",
    )
    assert difference(REPLAY + b"x").event in ("file", "metadata")
    assert difference(REPLAY[:-1]).b == "nothing"
    for bad in (b"", b"x", REPLAY[:16], REPLAY[:20]):
        with pytest.raises(FormatError):
            first_difference(REPLAY, bad)


@given(st.integers(0, len(REPLAY) - 1), st.integers(0, 7))
@settings(max_examples=150)
def test_any_changed_bit_is_found(at: int, bit: int) -> None:
    changed = flipped(REPLAY, at, bit)
    try:
        found = first_difference(REPLAY, changed)
    except FormatError:
        assert at < container.HEADER_BYTES + 2
        return
    assert found is not None
    assert found.a != found.b
    assert found.lines()[0]
