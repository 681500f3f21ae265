"""Events in layouts that no released version has: missing fields are absent, and the rest of the game is read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slpstream.formats.slippi import commands
from slpstream.formats.slippi.commands import MESSAGE_SPLITTER
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, Metadata
from slpstream.model.fields import Table
from tests.formats.slippi.agreement import assert_agree
from tests.formats.slippi.built import ONLINE, Built, bookend, post, pre, start
from tests.formats.slippi.logs import bytewise
from tests.replays import MORE

pytestmark = pytest.mark.usefixtures("with_and_without_kernel")

ADDING_DATA = [commands.ITEM_UPDATE, *(commands.TABLES[command] for command in commands.STAGE_EVENT_KINDS)]
IDENTIFYING = [commands.PRE_FRAME, commands.POST_FRAME, commands.FRAME_START, commands.FRAME_BOOKEND]
ALPHA = MORE / "slippi-js__test__test_e8309d.slp"
SHORT_ITEMS = MORE / "slippi-js__itemExport.slp"


def read(data: bytes) -> list[Event]:
    reader = SlippiReader()
    events = [*reader.feed(data), *reader.finish()]
    again = SlippiReader()
    in_pieces = [event for piece in bytewise(data) for event in again.feed(piece)]
    assert msgspec.json.encode(described(events)) == msgspec.json.encode(described([*in_pieces, *again.finish()]))
    return events


def described(events: list[Event]) -> list[Any]:
    """The events in a form that msgspec can encode, so that NaN equals NaN."""
    described: list[Any] = []
    for each in events:
        if isinstance(each, FrameFinalized):
            described.append(("finalized", each.through, [frame.entry for frame in each.frames]))
        else:
            described.append((type(each).__name__, each.entry if isinstance(each, Frame) else each))
    return described


def of(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def with_size(table: Table | int, size: int, version: tuple[int, int, int] = (3, 18, 0)) -> Built:
    command = table if isinstance(table, int) else table.command
    return Built(version, sizes=Built(version).writer.payloads.sizes | {command: size})


def sizes_of(table: Table) -> list[int]:
    """Payload sizes from none at all up to those of all fields of the oldest version, that before each field ends."""
    ends = [field.end for field in table.fields if field.since == table.since]
    return sorted({0, 1, 3, *(end - 2 for end in ends)})


@pytest.mark.parametrize(
    ("table", "size"),
    [pytest.param(table, size, id=f"{table.title}-{size}") for table in ADDING_DATA for size in sizes_of(table)],
)
def test_short_events_that_add_data_do_not_end_the_game(table: Table, size: int) -> None:
    data = with_size(table, size).frames(-123, -118, items=2, stage_events=True).end().closed()
    events = read(data)
    frames = of(Frame, events)
    assert [frame.number for frame in frames] == list(range(-123, -117))
    assert [event.reason for event in of(GameEnd, events)] == ["game_end"]
    assert len(of(Metadata, events)) == 1
    (diagnostic,) = of(Diagnostic, events)
    assert (diagnostic.code, diagnostic.severity) == ("short_event", "warning")
    assert data[diagnostic.offset] == table.command
    missing = [field.name for field in table.fields if field.since == table.since and field.end > size + 1]
    assert f"lacks {', '.join(missing)}" in diagnostic.message
    assert ("left out" in diagnostic.message) is (size < 4)
    assert_agree(data)


def test_fields_of_short_items_are_absent() -> None:
    """The Item Update of a mod before 3.0 ends in the middle of the spawn id."""
    frames = of(Frame, read(with_size(commands.ITEM_UPDATE, 35).frames(-123, -110, items=1).end().closed()))
    entries = [msgspec.to_builtins(frame.entry)["items"] for frame in frames]
    assert all(item.keys() >= {"typeId", "expirationTimer"} and "spawnId" not in item for (item,) in entries)


@pytest.mark.parametrize("size", [0, 100, 515])
def test_short_message_splitters_do_not_end_the_game(size: int) -> None:
    game = with_size(MESSAGE_SPLITTER, size)
    game.raw((bytes([MESSAGE_SPLITTER]) + bytes(size)) * 3)
    data = game.frames(-123, -118).end().closed()
    events = read(data)
    assert len(of(Frame, events)) == 6
    assert [(d.code, data[d.offset]) for d in of(Diagnostic, events)] == [("short_event", MESSAGE_SPLITTER)]
    assert_agree(data)


def test_short_frame_start_has_no_seed() -> None:
    data = with_size(commands.FRAME_START, 4).frames(-123, -110).end().closed()
    events = read(data)
    assert {tuple(msgspec.to_builtins(frame.entry)["start"]) for frame in of(Frame, events)} == {("frame",)}
    assert [d.code for d in of(Diagnostic, events)] == ["short_event"]
    assert_agree(data)


def test_game_end_without_a_method_ends_the_game() -> None:
    data = with_size(commands.GAME_END, 0).frames(-123, -118).raw(b"\x39").closed()
    events = read(data)
    (end,) = of(GameEnd, events)
    assert (end.reason, end.game_end, end.last_frame) == ("game_end", None, -118)
    assert len(of(Metadata, events)) == 1
    assert [d.code for d in of(Diagnostic, events)] == ["short_event"]
    assert_agree(data)


@pytest.mark.parametrize("table", IDENTIFYING, ids=lambda table: table.title)
def test_layouts_without_frame_identity_are_unsupported(table: Table) -> None:
    data = with_size(table, 3).frames(-123, -118).end().closed()
    assert_unsupported(data, table.command)


@pytest.mark.parametrize(("declared", "missing"), [(0x38, 0x37), (0x37, 0x38)])
@pytest.mark.parametrize("version", [(0, 1, 0), (3, 18, 0)])
def test_updates_of_one_kind_alone_are_unsupported(declared: int, missing: int, version: tuple[int, int, int]) -> None:
    sizes = {command: size for command, size in Built(version).writer.payloads.sizes.items() if command != missing}
    data = Built(version, sizes=sizes).frames(-123, -118).end().closed()
    assert_unsupported(data, declared)


@pytest.mark.skipif(not ALPHA.exists(), reason="needs the replay of an alpha version")
def test_alpha_version_is_unsupported() -> None:
    assert_unsupported(ALPHA.read_bytes()[:4000], commands.POST_FRAME.command)


def assert_unsupported(data: bytes, command: int) -> None:
    events = read(data)
    assert of(Frame, events) == []
    assert [(d.code, d.severity, data[d.offset]) for d in of(Diagnostic, events)] == [("unsupported", "error", command)]
    assert [event.reason for event in of(GameEnd, events)] == ["error"]
    assert_agree(data)


@pytest.mark.parametrize("version", [(0, 1, 0), (2, 2, 0), (3, 0, 0), (3, 18, 0)], ids=lambda v: ".".join(map(str, v)))
@pytest.mark.parametrize("strangers", [(2,), (11, 28, 226)])
def test_players_who_are_not_in_game_start_are_left_out(
    version: tuple[int, int, int], strangers: tuple[int, ...]
) -> None:
    game = Built(version, major_scene=ONLINE if version >= (3, 0, 0) else 2)
    game.frames(-123, -118).frames(-117, -112, players=(0, 1, *strangers), followers=(1, *strangers))
    game.frames(-111, -106)
    data = game.end().closed()
    events = read(data)
    frames = of(Frame, events)
    assert sorted({frame.number for frame in frames}) == list(range(-123, -105))
    assert {index for frame in frames for index in frame.entry.players} == {0, 1}
    assert {index for frame in frames for index in frame.entry.followers or ()} == {1}
    (diagnostic,) = of(Diagnostic, events)
    assert (diagnostic.code, diagnostic.severity) == ("unsupported", "warning")
    assert data[diagnostic.offset : diagnostic.offset + 6] == b"\x37\xff\xff\xff\x8b" + bytes([strangers[0]])
    assert_agree(data)


@pytest.mark.parametrize("version", [(2, 2, 0), (3, 18, 0)], ids=lambda v: ".".join(map(str, v)))
def test_frames_without_players_of_game_start_are_left_out(version: tuple[int, int, int]) -> None:
    game = Built(version).frames(-123, -120)
    for number in range(500, 520):
        game.add(start(number), pre(number, 11), post(number, 11), bookend(number))
    data = game.frames(-119, -117).end().closed()
    events = read(data)
    assert {frame.number for frame in of(Frame, events)} == set(range(-123, -116))
    assert of(GameEnd, events)[0].last_frame == -117
    assert_agree(data)


def test_game_start_without_players_keeps_all_updates() -> None:
    data = Built(characters={}).frames(-123, -110, players=(0, 1)).end().closed()
    frames = of(Frame, read(data))
    assert [set(frame.entry.players) for frame in frames] == [{0, 1}] * 14
    assert_agree(data)


@pytest.mark.skipif(not SHORT_ITEMS.exists(), reason="needs a real replay with short Item Updates")
def test_real_replay_with_short_items() -> None:
    reader = SlippiReader()
    data = SHORT_ITEMS.read_bytes()
    events = [*reader.feed(data), *reader.finish()]
    assert len(of(Frame, events)) == 2269
    assert sum(len(frame.entry.items or ()) for frame in of(Frame, events)) == 1013
    assert [d.code for d in of(Diagnostic, events)] == ["short_event"]
    assert_agree(data, every=50)
