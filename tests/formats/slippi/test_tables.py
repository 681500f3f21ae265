"""The field tables compared with a reviewed extract of the specification.

`spec_extract.csv` has the facts of the public specification, 0.1.0 to 3.18: event, command byte, offset from the
command byte, distance between players, the specification's name, type, and first version. Its column `source` is `seed`
for the specification of 3.0, `since-seed` for later additions, and `correction` where real replays contradict the
specification of 3.0.
"""

from __future__ import annotations

import csv
import re
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from slpstream.formats.slippi import commands, game_start
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.framing import read_event_payloads
from slpstream.model.fields import Field, Table, parse_version
from tests.formats.slippi.writer import sizes_at, split
from tests.replays import NOT_REPLAYS, replays
from tests.replays.record import UNKNOWN_COMMAND

EXTRACT = Path(__file__).with_name("spec_extract.csv")

OUR_NAMES = {
    "frame_number": "frame",
    "x_position": "position_x",
    "y_position": "position_y",
    "x_velocity": "velocity_x",
    "y_velocity": "velocity_y",
    "x_analog_for_ucf": "raw_joystick_x",
    "action_state_frame_counter": "action_state_counter",
    "misc_as_hitstun_remaining": "misc_action_state",
    "ground_air_state": "is_airborne",
    "self_air_x": "self_induced_speeds.air_x",
    "self_y": "self_induced_speeds.y",
    "attack_x": "self_induced_speeds.attack_x",
    "attack_y": "self_induced_speeds.attack_y",
    "self_ground_x": "self_induced_speeds.ground_x",
    "lras_initiator": "lras_initiator_index",
    "stage": "stage_id",
    "game_timer": "starting_timer_seconds",
    "pal": "is_pal",
    "frozen_ps": "is_frozen_ps",
    "external_character_id": "character_id",
    "player_type": "type",
    "stock_start_count": "start_stocks",
    "costume_index": "character_color",
    "slippi_uid": "user_id",
}
"""Fields that we name differently from the specification, mostly as slippi-js does."""

NAMES_OF_ONE_EVENT = {
    ("Pre-Frame Update", "random_seed"): "seed",
    ("Frame Start", "random_seed"): "seed",
    ("Stadium Transformations", "type"): "transformation",
}
STATE_FLAGS = re.compile(r"state_bit_flags_(\d)")


class Fact(NamedTuple):
    """One field, from the specification or from one of our tables."""

    event: str
    command: int
    offset: int
    stride_bytes: int
    name: str
    width_bytes: int
    type: str
    since: str


def our_name(event: str, name: str) -> str:
    snake = re.sub(r"\W+", "_", name.lower()).strip("_")
    snake = STATE_FLAGS.sub(r"state_flags_\1", snake)
    return NAMES_OF_ONE_EVENT.get((event, snake)) or OUR_NAMES.get(snake, snake)


def width_of(type_name: str) -> int:
    match = re.fullmatch(r"[uif](\d+)(?:\[(\d+)\])?", type_name)
    return 1 if match is None else int(match[1]) // 8 * int(match[2] or 1)


def type_of(type_name: str) -> str:
    """The type in our tables, in which runs are runs of bytes: `u16[8]` is `u8[16]`."""
    return f"u8[{width_of(type_name)}]" if "[" in type_name else type_name


def specified() -> list[Fact]:
    with EXTRACT.open(newline="") as file:
        return [
            Fact(
                row["event"],
                int(row["command"], 16),
                int(row["offset"], 16),
                int(row["stride"] or "0", 16),
                our_name(row["event"], row["name"]),
                width_of(row["type"]),
                type_of(row["type"]),
                row["since"],
            )
            for row in csv.DictReader(file)
        ]


def decoded() -> Iterator[Fact]:
    for table in commands.TABLES.values():
        for field in table.fields:
            yield fact_of(table.title, table.command, field)
    for field in (*game_start.FIELDS, *game_start.PLAYER_FIELDS):
        yield fact_of("Game Start", commands.GAME_START, field)


def fact_of(event: str, command: int, field: Field) -> Fact:
    kind = field.kind
    width = struct.calcsize(">" + kind.code)
    assert width == kind.width_bytes
    return Fact(event, command, field.offset, field.stride_bytes, field.name, width, kind.name, field.since)


def position(fact: Fact) -> tuple[int, int]:
    return fact.command, fact.offset


SPECIFIED = [fact for fact in specified() if fact.command != commands.MESSAGE_SPLITTER]
DECODED = {position(fact): fact for fact in decoded()}


@pytest.mark.parametrize("fact", SPECIFIED, ids=lambda f: f"{f.event}-{f.offset:#x}-{f.name}")
def test_specified_fields_are_decoded(fact: Fact) -> None:
    assert DECODED[position(fact)] == fact


def test_all_decoded_fields_are_specified() -> None:
    assert [fact for at, fact in DECODED.items() if at not in {position(f) for f in SPECIFIED}] == []


def test_message_splitter() -> None:
    facts = {fact.name: fact for fact in specified() if fact.command == commands.MESSAGE_SPLITTER}
    first, last = split(bytes(range(200)) * 3)

    def value(event: bytes, name: str) -> bytes:
        fact = facts[name]
        return event[fact.offset : fact.offset + fact.width_bytes]

    assert first[0] == last[0] == commands.MESSAGE_SPLITTER
    assert value(first, "block") + value(last, "block")[:88] == bytes(range(200)) * 3
    assert [int.from_bytes(value(e, "used_bytes"), "big") for e in (first, last)] == [512, 88]
    assert [value(e, "inner_command") for e in (first, last)] == [b"\x3d"] * 2
    assert [value(e, "last_message") for e in (first, last)] == [b"\0", b"\1"]
    assert len(first) == max(fact.offset + fact.width_bytes for fact in facts.values())


@pytest.mark.parametrize("table", commands.TABLES.values(), ids=lambda table: table.title)
def test_rows_have_no_gaps_and_ascending_versions(table: Table) -> None:
    at = 1
    for field in table.fields:
        assert field.offset == at
        at = field.end
    versions = [parse_version(field.since) for field in table.fields]
    assert versions == sorted(versions)
    assert table.since == table.fields[0].since


ODD_SIZES = {
    "slippc__crashes__crash7": {0x36: 16801},
    "slippi-js__itemExport": {0x3B: 35, 0x3C: 4},
    "slippi-js__placementsTest__ffa_1p2p_winner_2p_fef9f5": {0x39: 6},
    "slippi-js__test__test_e8309d": {0x38: 71},
}
"""The sizes that differ from those of the version, in a damaged replay and in those of development versions."""


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in NOT_REPLAYS], ids=lambda path: path.stem)
def test_declared_sizes_of_replays(path: Path) -> None:
    data = path.read_bytes()
    events = HEADER_BYTES + 1 + data[HEADER_BYTES + 1]
    declared = dict(read_event_payloads(data[HEADER_BYTES:events]).sizes)
    major, minor, build = data[events + 1 : events + 4]
    expected = sizes_at((major, minor, build))
    for sizes in (declared, expected):
        sizes.pop(commands.GECKO_LIST, None)  # the size of the list modulo 65,536
    if path.stem in ("FodPlatforms", "Whispy", "short_pre_frames_3.17"):
        # They state 3.17, but come from a build between 3.16 and 3.18.
        assert expected[commands.PRE_FRAME.command] == declared[commands.PRE_FRAME.command] + 2
        assert {0x3F, 0x40, 0x41} <= declared.keys() - expected.keys()
        return
    if path.stem in ODD_SIZES:
        assert {c: size for c, size in declared.items() if expected.get(c) != size} == ODD_SIZES[path.stem]
        return
    unknown = {"unknown_event": 0xFF, "unknown_event_3.18": UNKNOWN_COMMAND}.get(path.stem)
    if unknown is not None:
        del declared[unknown]
    assert declared == expected


def test_damaged_files_that_declare_any_size_fill_no_memory() -> None:
    table = commands.POST_FRAME
    real = table.layout(84)
    tracemalloc.start()
    try:
        for size_bytes in range(1, 3000):
            assert table.layout(size_bytes).payload_size_bytes == size_bytes
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 2_000_000
    assert table.layout(84).fields == real.fields
