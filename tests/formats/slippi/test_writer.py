"""The writer: what the reader decodes it encodes back to the same bytes, for every version, event by event.

The strongest evidence are the real replays, taken apart and written again. Where they are absent the synthetic match
has to do, in every era of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi import container, metadata
from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    GAME_START,
    GECKO_LIST,
    ITEM_UPDATE,
    MESSAGE_SPLITTER,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
    WHISPY,
)
from slpstream.formats.slippi.framing import EventPayloads, read_event_payloads, width_of_event_payloads
from slpstream.formats.slippi.game_start import GameStartPayload
from slpstream.formats.slippi.reader import SlippiReader, Stage
from slpstream.formats.slippi.writer import RawWriter
from slpstream.model import events
from tests.formats.slippi.writer import (
    BLOCK_BYTES,
    PlayerSetup,
    ReplayWriter,
    Version,
    encode_event,
    game_start,
    size_of_table_at,
    sizes_at,
    split,
)
from tests.replays import needs_shared, replays
from tests.synthetic.match import synthetic_match

ERAS: list[Version] = [
    (0, 1, 0),
    (1, 0, 0),
    (2, 0, 1),
    (2, 2, 0),
    (3, 0, 0),
    (3, 3, 0),
    (3, 7, 0),
    (3, 13, 0),
    (3, 18, 0),
]
FRAME_EVENTS = {t.command for t in (PRE_FRAME, POST_FRAME, FRAME_START, ITEM_UPDATE, FRAME_BOOKEND)} | set(
    STAGE_EVENT_KINDS
)

# Sizes declared in real files: Game Start, Pre, Post, Game End, Frame Start, Item, Bookend.
DECLARED: dict[Version, tuple[int, ...]] = {
    (0, 1, 0): (320, 58, 33, 1),
    (1, 0, 0): (352, 58, 37, 1),
    (1, 2, 0): (352, 59, 37, 1),
    (1, 7, 1): (417, 63, 37, 1),
    (2, 0, 1): (418, 63, 51, 2),
    (3, 7, 0): (420, 63, 72, 2, 8, 42, 8),
    (3, 9, 1): (584, 63, 76, 2, 8, 42, 8),
    (3, 12, 0): (701, 63, 80, 2, 12, 42, 8),
    (3, 13, 0): (701, 63, 80, 6, 12, 42, 8),
    (3, 14, 0): (760, 63, 80, 6, 12, 42, 8),
    (3, 15, 0): (760, 64, 80, 6, 12, 42, 8),
    (3, 16, 0): (760, 64, 84, 6, 12, 44, 8),
    (3, 18, 0): (760, 66, 84, 6, 12, 44, 8),
}


def whole_replays() -> list[Path]:
    """The real replays that can be walked from the header to an end."""
    found = []
    for path in replays():
        with path.open("rb") as file:
            if file.read(len(container.MAGIC)) == container.MAGIC:
                found.append(path)
    return found


def named(version: Version) -> str:
    return "{}.{}.{}".format(*version)


class TakenApart:
    """A replay's parts, found with nothing but the framing."""

    def __init__(self, data: bytes) -> None:
        at = container.HEADER_BYTES
        width = width_of_event_payloads(data, at, at)
        assert width is not None
        self.payloads: EventPayloads = read_event_payloads(data[at : at + width])
        self.events: list[bytes] = []
        at += width
        while at < len(data):
            size = self.payloads.widths[data[at]]
            if not size or at + size > len(data):
                break
            self.events.append(data[at : at + size])
            at += size
        self.rest = data[at:]
        self.version: Version = GameStartPayload(self.events[0]).version

    def again(self, event: bytes) -> Any:
        """Decoded where there is a table, else as it is."""
        table = TABLES.get(event[0])
        return table.layout(len(event) - 1).decode(event, 0) if table is not None else event

    def writer(self) -> ReplayWriter:
        return ReplayWriter(self.version, self.payloads.sizes)

    def metadata(self) -> dict[str, Any] | None:
        if not self.rest.startswith(metadata.MARKER):
            return None
        values = self.rest[len(metadata.MARKER) :]
        length = metadata.MetadataScan(0).advance(values)
        assert length is not None
        return metadata.decode(values[:length], offset=0)


def written_again(data: bytes) -> bytes:
    """A replay with every event and the metadata decoded and encoded; a file that was cut off is cut off again."""
    parts = TakenApart(data)
    writer = parts.writer()
    body = writer.open() + b"".join(writer.event(parts.again(event)) for event in parts.events)
    if not parts.rest.endswith(container.CLOSE):
        return body + parts.rest
    body += writer.close(parts.metadata())
    head = writer.header() if container.raw_length(data) else container.header(0)
    return head + body[len(head) :]


def grouped(parts: TakenApart) -> Iterator[bytes | list[Any]]:
    """Events outside of frames as bytes, sendings of frames as lists of decoded events."""
    sending: list[Any] = []
    bookends = parts.payloads.size(FRAME_BOOKEND.command) is not None
    for event in parts.events:
        if event[0] not in FRAME_EVENTS:
            if sending:
                yield sending
                sending = []
            yield event
            continue
        decoded = parts.again(event)
        starts = event[0] == FRAME_START.command or (sending and sending[0].frame != decoded.frame)
        if sending and starts:
            yield sending
            sending = []
        sending.append(decoded)
        if bookends and event[0] == FRAME_BOOKEND.command:
            yield sending
            sending = []
    if sending:
        yield sending


def written_by_frames(data: bytes) -> bytes:
    """The raw array again, each sending of a frame by one call of `frame`, each kind of event in its own order."""
    parts = TakenApart(data)
    writer = parts.writer()
    out = [writer.open()]
    stage_classes = tuple(TABLES[command].cls for command in STAGE_EVENT_KINDS)

    def of(cls: Any, sending: list[Any]) -> list[Any]:
        return [event for event in sending if isinstance(event, cls)]

    for group in grouped(parts):
        if isinstance(group, bytes):
            out.append(writer.event(group))
            continue
        bookend = of(FRAME_BOOKEND.cls, group)
        if not bookend and parts.payloads.size(FRAME_BOOKEND.command) is not None:
            out.extend(map(writer.event, group))  # a frame that the file cuts off
            continue
        latest = bookend[0].latest_finalized_frame if bookend else group[0].frame
        out.append(
            writer.frame(
                group[0].frame,
                start=next(iter(of(FRAME_START.cls, group)), None),
                pres=of(PRE_FRAME.cls, group),
                stage_events=of(stage_classes, group),
                items=of(ITEM_UPDATE.cls, group),
                posts=of(POST_FRAME.cls, group),
                finalized=latest if isinstance(latest, int) else None,
            )
        )
    return b"".join(out)


def raw_array(data: bytes) -> bytes:
    parts = TakenApart(data)
    end = len(data) - len(parts.rest)
    return container.header(0) + data[container.HEADER_BYTES : end]


@needs_shared
@pytest.mark.parametrize("path", whole_replays(), ids=lambda path: path.stem)
@pytest.mark.parametrize("check", [written_again, written_by_frames])
def test_real_replay_is_written_again_byte_for_byte(path: Path, check: Callable[[bytes], bytes]) -> None:
    data = path.read_bytes()
    expected = raw_array(data) if check is written_by_frames else data
    actual = check(data)
    at = next((i for i, (a, b) in enumerate(zip(actual, expected, strict=False)) if a != b), None)
    assert at is None, f"the first difference is at offset {at}"
    assert len(actual) == len(expected)


@needs_shared
@pytest.mark.parametrize("path", whole_replays(), ids=lambda path: path.stem)
def test_real_metadata_is_encoded_as_the_game_does(path: Path) -> None:
    parts = TakenApart(path.read_bytes())
    values = parts.metadata()
    if values is not None:
        assert RawWriter().close(values) == parts.rest


@pytest.mark.parametrize("version", ERAS, ids=named)
@pytest.mark.parametrize("followers", [False, True], ids=["alone", "followers"])
def test_synthetic_replay_is_written_again_byte_for_byte(version: Version, followers: bool) -> None:
    data = synthetic_match(version=version, frames=200, followers=followers, items=True, gecko=True, stage_id=2)
    assert written_again(data) == data
    assert written_by_frames(data) == raw_array(data)


@pytest.mark.parametrize("version", DECLARED, ids=named)
def test_sizes_are_those_of_real_files(version: Version) -> None:
    commands = (GAME_START, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C)
    sizes = sizes_at(version)
    assert tuple(sizes[command] for command in commands if command in sizes) == DECLARED[version]


def test_events_are_declared_when_the_format_gained_them() -> None:
    assert list(sizes_at((2, 1, 0))) == [0x36, 0x37, 0x38, 0x39]
    assert list(sizes_at((2, 2, 0))) == [0x36, 0x37, 0x38, 0x39, 0x3A]
    assert list(sizes_at((3, 2, 0))) == [0x36, 0x37, 0x38, 0x39, 0x3A, 0x3B, 0x3C]
    assert list(sizes_at((3, 17, 0)))[7:] == [0x3D, 0x10]
    assert list(sizes_at((3, 18, 0)))[7:] == [0x3D, 0x10, 0x3F, 0x40, 0x41]


def test_size_of_a_long_gecko_list_overflows() -> None:
    # v3.13 of the real ones: 69,600 bytes, declared 4,064.
    assert sizes_at((3, 13, 0), gecko_list_bytes=69_600)[GECKO_LIST] == 4064


def a_pre(**values: Any) -> Any:
    """A Pre-Frame Update of 1.3, without the fields of later versions."""
    whole = {field.name: 0 for field in PRE_FRAME.fields if field.since in ("0.1.0", "1.2.0")}
    return PRE_FRAME.cls(**(whole | {"frame": -123, "is_follower": False} | values))


def test_known_fields_are_cut_at_the_declared_size() -> None:
    event = a_pre(raw_joystick_x=-7, percent=12.5)
    short, long = encode_event(event, 58), encode_event(event, 63)
    assert (len(short), len(long)) == (59, 64)
    assert long.startswith(short)
    assert PRE_FRAME.layout(63).decode(long, 0).percent == 12.5


def test_tail_keeps_what_the_tables_do_not_know() -> None:
    tail = b"\x01\x02\x03"
    event = encode_event(WHISPY.cls(frame=5, direction=1), 8, tail)
    assert event[0] == WHISPY.command
    assert event[-3:] == tail
    assert encode_event(WHISPY.cls(frame=5, direction=1), 8)[-3:] == bytes(3)


@pytest.mark.parametrize(
    ("event", "size", "tail"),
    [
        pytest.param(a_pre(), 63, b"", id="field absent"),
        pytest.param(a_pre(player_index=256), 58, b"", id="value out of range"),
        pytest.param(WHISPY.cls(frame=0, direction=0), 5, b"x", id="tail too long"),
    ],
)
def test_event_that_does_not_fit_is_refused(event: Any, size: int, tail: bytes) -> None:
    with pytest.raises(ValueError, match=r"Update|Direction"):
        encode_event(event, size, tail)


def test_undeclared_event_is_left_out_and_not_counted() -> None:
    writer = ReplayWriter((1, 0, 0))
    writer.open()
    before = writer.raw_length_bytes
    assert writer.event(WHISPY.cls(frame=0, direction=1)) == b""
    assert writer.gecko_list(bytes(100)) == b""
    assert writer.raw_length_bytes == before


def test_bytes_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="declared are 1"):
        ReplayWriter((1, 0, 0)).event(bytes([GAME_END.command, 2, 0]))


def test_game_start_reads_back() -> None:
    fox = PlayerSetup(
        index=1, character_id=2, character_color=3, nametag="FOX!", display_name="Vixen #1", connect_code="VIXN#101"
    )
    cpu = PlayerSetup(index=3, character_id=9, type=1, cpu_level=7, user_id="abc", damage_start=300)
    event = game_start(
        (3, 18, 0), players=[fox, cpu], stage_id=31, random_seed=7, major_scene=8, session_id="mode.x", game_number=3
    )
    settings = GameStartPayload(event).settings()
    assert settings.slp_version == "3.18.0"
    assert (settings.in_game_mode, settings.timer_type, settings.starting_timer_seconds) == (0x20, 2, 480)
    assert (settings.stage_id, settings.random_seed, settings.item_spawn_behavior) == (31, 7, 255)
    assert (settings.game_mode, settings.scene, settings.match_info.session_id) == (8, 2, "mode.x")
    assert settings.match_info.game_number == 3
    assert [player.port for player in settings.players] == [2, 4]
    first, second = settings.players
    assert (first.character_id, first.character_color, first.start_stocks) == (2, 3, 4)
    assert (first.nametag, first.display_name, first.connect_code) == ("FOX!", "Vixen #1", "VIXN#101")
    assert (first.controller_fix, first.offense_ratio, first.model_scale) == ("UCF", 1.0, 1.0)
    assert (second.type, second.cpu_level, second.user_id, second.damage_start) == (1, 7, "abc", 300)


def test_typed_names_are_stored_as_online_play_does() -> None:
    player = PlayerSetup(index=0, character_id=2, display_name="x" * 40, connect_code="SWZ#195")
    event = game_start((3, 9, 0), players=[player], stage_id=31)
    assert event[0x221 : 0x221 + 10] == b"SWZ\x81\x94195\0\0"
    assert event[0x1A5 : 0x1A5 + 31] == b"x" * 30 + b"\0"


@pytest.mark.parametrize("version", ERAS, ids=named)
def test_game_start_has_the_size_of_its_version(version: Version) -> None:
    event = game_start(version, players=[PlayerSetup(index=0, character_id=2)], stage_id=31)
    assert len(event) == sizes_at(version)[GAME_START] + 1
    assert GameStartPayload(event).version == version


def test_unknown_row_is_refused() -> None:
    with pytest.raises(KeyError):
        game_start((3, 18, 0), players=[], stage_id=31, no_such_row=1)


@pytest.mark.parametrize("length", [1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES])
def test_gecko_list_is_split_and_put_together(length: int) -> None:
    codes = bytes(i % 251 for i in range(length))
    blocks = list(split(codes))
    assert len(blocks) == -(-length // BLOCK_BYTES)
    assert {len(block) for block in blocks} == {517}
    assert [block[0x204] for block in blocks] == [0] * (len(blocks) - 1) + [1]
    assert all(block[0] == MESSAGE_SPLITTER and block[0x203] == GECKO_LIST for block in blocks)
    writer = ReplayWriter((3, 18, 0), gecko_list_bytes=length)
    reader = SlippiReader()
    reader.feed(writer.open() + writer.gecko_list(codes))
    assert reader.gecko_list == codes


def test_no_list_no_splitter() -> None:
    assert list(split(b"")) == []


def kinds(data: bytes) -> list[int]:
    """Command bytes of the events of one frame."""
    return [event[0] for event in TakenApart(data).events if event[0] in FRAME_EVENTS]


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ((1, 0, 0), [0x37, 0x37, 0x38, 0x38]),
        ((2, 2, 0), [0x3A, 0x37, 0x37, 0x38, 0x38]),
        ((3, 0, 0), [0x3A, 0x37, 0x37, 0x3B, 0x38, 0x38, 0x3C]),
        ((3, 3, 0), [0x3A, 0x37, 0x37, 0x38, 0x38, 0x3B, 0x3C]),
        ((3, 4, 0), [0x3A, 0x37, 0x37, 0x3B, 0x38, 0x38, 0x3C]),
        ((3, 18, 0), [0x3A, 0x37, 0x37, 0x40, 0x3B, 0x38, 0x38, 0x3C]),
    ],
    ids=lambda value: named(value) if isinstance(value, tuple) else "",
)
def test_order_of_a_frame(version: Version, order: list[int]) -> None:
    source = TakenApart(synthetic_match(frames=300, items=True, seed=2))
    frame = next(g for g in grouped(source) if isinstance(g, list) and any(isinstance(e, ITEM_UPDATE.cls) for e in g))
    item = next(e for e in frame if isinstance(e, ITEM_UPDATE.cls))
    number = frame[0].frame
    writer = ReplayWriter(version)
    setup = game_start(version, players=[PlayerSetup(index=0, character_id=2)], stage_id=28)
    data = writer.open() + writer.event(setup)
    data += writer.frame(
        number,
        start=frame[0],
        pres=[e for e in frame if isinstance(e, PRE_FRAME.cls)],
        posts=[e for e in frame if isinstance(e, POST_FRAME.cls)],
        items=[item],
        stage_events=[WHISPY.cls(frame=number, direction=1)],
    )
    assert kinds(data) == order


def test_bookend_says_what_is_final() -> None:
    writer = ReplayWriter((3, 18, 0))
    own = writer.frame(7, pres=[], posts=[])
    behind = writer.frame(7, pres=[], posts=[], finalized=4)
    assert FRAME_BOOKEND.layout(8).decode(own, 0).latest_finalized_frame == 7
    assert FRAME_BOOKEND.layout(8).decode(behind, 0).latest_finalized_frame == 4


def test_raw_length_counts_what_was_written() -> None:
    writer = ReplayWriter((3, 18, 0))
    opening = writer.open()
    assert opening.startswith(container.header(0))
    raw = opening[container.HEADER_BYTES :]
    raw += writer.event(game_start((3, 18, 0), players=[PlayerSetup(index=0, character_id=2)], stage_id=31))
    raw += writer.end(2, placements=(0, -1, -1, -1))
    assert writer.raw_length_bytes == len(raw)
    tail = writer.close({"playedOn": "dolphin"})
    reader = SlippiReader()
    out = reader.feed(writer.header() + raw + tail)
    assert reader.stage is Stage.DONE
    assert reader.raw_length_bytes == len(raw)
    assert not [e for e in out if isinstance(e, events.Diagnostic)]
    end = next(e for e in out if isinstance(e, events.GameEnd))
    assert end.reason == "game_end"
    assert end.game_end.placements[0].position == 0
    assert next(e for e in out if isinstance(e, events.Metadata)).metadata == {"playedOn": "dolphin"}


@pytest.mark.parametrize(
    ("version", "major_scene", "flag", "frozen"),
    [
        ((3, 18, 0), 8, False, True),
        ((3, 18, 0), 8, True, True),
        ((3, 18, 0), 2, False, False),
        ((3, 18, 0), 2, True, True),
        ((3, 19, 0), 8, False, False),
        ((3, 6, 0), 8, False, UNSET),
        ((3, 6, 0), 8, True, True),
        ((2, 0, 0), 2, False, False),
        ((1, 7, 1), 2, True, UNSET),
    ],
)
def test_stadium_was_frozen_in_online_games_whatever_the_flag_is(
    version: tuple[int, int, int], major_scene: int, flag: bool, frozen: bool | UnsetType
) -> None:
    players = [PlayerSetup(index=0, character_id=2)]
    event = game_start(version, players=players, stage_id=3, major_scene=major_scene, is_frozen_ps=flag)
    assert GameStartPayload(event).settings().stadium_frozen is frozen


@pytest.mark.parametrize(("version", "speeds"), [((3, 4, 0), b"{}"), ((2, 0, 0), b"{}"), ((3, 5, 0), b'{"airX":0.0')])
def test_speeds_that_a_version_lacks_are_an_empty_object(version: tuple[int, int, int], speeds: bytes) -> None:
    data = POST_FRAME.layout(size_of_table_at(POST_FRAME, version)).decode(bytes(100), 0)
    assert b'"selfInducedSpeeds":' + speeds in msgspec.json.encode(data)


def test_raw_writer_takes_bytes_as_they_come() -> None:
    data = synthetic_match(frames=30)
    parts = TakenApart(data)
    raw = data[container.HEADER_BYTES : len(data) - len(parts.rest)]
    writer = RawWriter()
    body = writer.open() + writer.raw(raw[:1000]) + writer.raw(raw[1000:]) + writer.close(parts.metadata())
    assert writer.header() + body[container.HEADER_BYTES :] == data


def test_close_without_metadata_is_the_brace() -> None:
    assert RawWriter().close() == container.CLOSE


@pytest.mark.parametrize(("version", "size"), [((1, 0, 0), 1), ((2, 0, 0), 2), ((3, 13, 0), 6)], ids=str)
def test_game_end_has_the_fields_of_its_version(version: Version, size: int) -> None:
    event = ReplayWriter(version).end(7, lras_initiator=1, placements=(0, 1, -1, -1))
    assert event == bytes([GAME_END.command, 7, 1, 0, 1, 0xFF, 0xFF])[: size + 1]
