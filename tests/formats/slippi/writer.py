"""Writes Slippi replays for tests, in the layout of any version: the mirror of the reader.

The field tables do the encoding, so whatever the reader decodes is encoded back to the same bytes. Two kinds of values
have several encodings and come back in the usual one: a flag byte above 1, and a signalling NaN. Fields and events that
a version does not have are left out, so the same calls give a 0.1.0 and a 3.18.0 file.

A `ReplayWriter` is a sequence of calls that return the bytes to append: `open`, then events, then `close`. Afterwards
`header` returns the first 15 bytes with the raw length, to overwrite the ones from `open`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from slpstream.formats.slippi import container, metadata
from slpstream.formats.slippi import game_start as game_start_rows
from slpstream.formats.slippi.commands import (
    FOD_PLATFORMS,
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    GAME_START,
    GECKO_LIST,
    ITEM_UPDATE,
    MESSAGE_SPLITTER,
    POST_FRAME,
    PRE_FRAME,
    STADIUM,
    TABLES,
    WHISPY,
)
from slpstream.formats.slippi.framing import EVENT_PAYLOADS, EventPayloads
from slpstream.formats.slippi.text import ENCODING
from slpstream.model.fields import Table, parse_version

Version = tuple[int, int, int]

BLOCK_BYTES = 512
"""Largest part of an event that one Message Splitter carries."""

SPLITTER_BYTES = BLOCK_BYTES + 2 + 1 + 1
"""Payload size of a Message Splitter: block, number of bytes used as u16, inner command byte, 1 in the last part."""

SPLITTER_SINCE: Version = (3, 3, 0)
ITEMS_AFTER_POST_FRAMES: Version = (3, 3, 0)
"""The only version that writes a frame's Item Updates after its Post-Frame Updates."""

_TABLE_OF_CLASS: Mapping[type[Any], Table] = {table.cls: table for table in TABLES.values()}
_PER_FRAME = (PRE_FRAME, POST_FRAME, GAME_END, FRAME_START, ITEM_UPDATE, FRAME_BOOKEND)
_PER_STAGE = (FOD_PLATFORMS, WHISPY, STADIUM)

# The Game Info Block of a stock match, the same in real replays of every version. Most of it is undocumented; rows with
# a name in the field tables are set by name below.
_BLOCK = (
    (0x09, "c3"),
    (0x12, "6e"),
    (0x25, "ffffffffffffffff"),
    (0x31, "3f800000"),
    (0x39, "3f800000"),
)
_BLOCK_PLAYERS = 6
_BLOCK_PLAYER = "1a 03 04 00 00 ff 00 00 09 00 78 00 40 00 04 01 00 00 00 00 00 00 00 00 3f800000 3f800000 3f800000"
_PLAYERS_AT, _PLAYER_STRIDE = 0x65, 0x24
_ROWS = {
    "game_bitfield_1": 0x32,
    "game_bitfield_2": 0x01,
    "game_bitfield_3": 0x86,
    "game_bitfield_4": 0x4C,
    "self_destruct_score_value": -1,
    "item_spawn_behavior": 0xFF,
    "starting_timer_seconds": 480,
    "damage_ratio": 1.0,
    "minor_scene": 2,
    "major_scene": 2,
    "language": 1,
}
_TEXT_BYTES = {
    field.name: field.kind.width_bytes
    for field in (*game_start_rows.FIELDS, *game_start_rows.PLAYER_FIELDS)
    if field.kind.code.endswith("s") and field.name != "version"
}
_IDEOGRAPHIC_SPACE = "\u3000"
_FULL_WIDTH_DISTANCE = 0xFEE0


class PlayerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A player in Game Start. The attributes are rows of the field table; texts are in normal width."""

    index: int
    character_id: int
    type: int = 0
    start_stocks: int = 4
    character_color: int = 0
    team_shade: int = 0
    handicap: int = 9
    team_id: int = 0
    player_bitfield: int = 0xC0
    cpu_level: int = 1
    damage_start: int = 0
    damage_spawn: int = 0
    offense_ratio: float = 1.0
    defense_ratio: float = 1.0
    model_scale: float = 1.0
    dashback_fix: int = 1
    shield_drop_fix: int = 1
    nametag: str = ""
    display_name: str = ""
    connect_code: str = ""
    user_id: str = ""


def encode_event(event: Any, payload_size_bytes: int, tail: bytes = b"") -> bytes:
    """Encode a decoded event at a declared payload size, command byte included.

    `tail` fills the part of the declared size beyond the known rows; the rest is zeros. Raises `ValueError` when a
    field within the size is absent, a value does not fit its type, or the result is longer than the declared size.
    """
    table = _TABLE_OF_CLASS[type(event)]
    layout = table.layout(payload_size_bytes)
    try:
        values = [_value(event, field.name) for field in layout.fields]
        data = bytes([table.command]) + layout.struct.pack(*values) + tail
    except struct.error as error:
        raise ValueError(f"{table.title} at {payload_size_bytes} bytes: {error}") from error
    if len(data) > payload_size_bytes + 1:
        raise ValueError(f"{table.title}: {len(data) - 1} bytes do not fit the declared {payload_size_bytes}")
    return data.ljust(payload_size_bytes + 1, b"\0")


def _value(event: Any, dotted_name: str) -> Any:
    for part in dotted_name.split("."):
        event = getattr(event, part)
    return event


def encode_name(text: str, width_bytes: int) -> bytes:
    """Encode a name tag: a NUL-padded Shift JIS field of `width_bytes`, Latin characters in full width.

    Text that is too long is cut between characters. Characters that Shift JIS lacks become `?`.
    """
    return _cut_encoded(map(_full_width, text), width_bytes - 1).ljust(width_bytes, b"\0")


def _full_width(character: str) -> str:
    if character == " ":
        return _IDEOGRAPHIC_SPACE
    return chr(ord(character) + _FULL_WIDTH_DISTANCE) if "!" <= character <= "~" else character


def _cut_encoded(characters: Iterable[str], max_bytes: int) -> bytes:
    encoded = b""
    for character in characters:
        octets = character.encode(ENCODING, errors="replace")
        if len(encoded) + len(octets) > max_bytes:
            break
        encoded += octets
    return encoded


def size_of_table_at(table: Table, version: Version) -> int:
    """Payload size in bytes that a version declares for an event."""
    return max(field.end for field in table.fields if parse_version(field.since) <= version) - 1


def game_start_size_at(version: Version) -> int:
    """Payload size in bytes that a version declares for Game Start."""
    ends = (
        field.end + field.stride_bytes * (game_start_rows.PLAYERS - 1 if field.stride_bytes else 0)
        for field in (*game_start_rows.FIELDS, *game_start_rows.PLAYER_FIELDS)
        if parse_version(field.since) <= version
    )
    return max(game_start_rows.MIN_PAYLOAD_BYTES, *(end - 1 for end in ends))


def sizes_at(version: Version, *, gecko_list_bytes: int = 0) -> dict[int, int]:
    """Payload sizes in bytes that a version declares, by command byte, in the order of real files.

    The size of the Gecko List is that of the list and overflows its 16 bits, as in real files.
    """
    tables = [table for table in _PER_FRAME if parse_version(table.since) <= version]
    sizes = {GAME_START: game_start_size_at(version)}
    sizes |= {table.command: size_of_table_at(table, version) for table in tables}
    if version >= SPLITTER_SINCE:
        sizes |= {GECKO_LIST: gecko_list_bytes & 0xFFFF, MESSAGE_SPLITTER: SPLITTER_BYTES}
    stage_tables = [table for table in _PER_STAGE if parse_version(table.since) <= version]
    return sizes | {table.command: size_of_table_at(table, version) for table in stage_tables}


def event_payloads(sizes: Mapping[int, int]) -> bytes:
    """The Event Payloads event that declares `sizes`, in their order."""
    rows = b"".join(bytes([command]) + size.to_bytes(2, "big") for command, size in sizes.items())
    return bytes([EVENT_PAYLOADS, len(rows) + 1]) + rows


def game_start(version: Version, *, players: Sequence[PlayerSetup], stage_id: int, **rows: Any) -> bytes:
    """Encode Game Start, command byte included, at the size that the version declares.

    `rows` sets further rows of `slippi.game_start.FIELDS` by name (`random_seed=7`, `major_scene=8`,
    `session_id="mode.x"`); the defaults are a four-stock match of eight minutes without items, offline. Rows that the
    version does not have are left out.
    """
    payload = bytearray(game_start_size_at(version) + 1)
    payload[0] = GAME_START
    payload[1:4] = bytes(version)
    for at, octets in _BLOCK:
        block = bytes.fromhex(octets)
        payload[at : at + len(block)] = block
    empty = bytes.fromhex(_BLOCK_PLAYER)
    for index in range(_BLOCK_PLAYERS):
        at = _PLAYERS_AT + _PLAYER_STRIDE * index
        payload[at : at + len(empty)] = empty
    for name, value in (_ROWS | {"stage_id": stage_id} | rows).items():
        game_start_rows.set_field(payload, name, _packed(name, value))
    for player in players:
        for name in PlayerSetup.__struct_fields__[1:]:
            game_start_rows.set_field(payload, name, _packed(name, getattr(player, name)), player.index)
    return bytes(payload)


def _packed(name: str, value: Any) -> Any:
    """The value of a row as `struct` takes it: texts become bytes."""
    width = _TEXT_BYTES.get(name)
    if width is None:
        return value
    if name == "nametag":
        return encode_name(value, width)
    if name in ("display_name", "connect_code"):
        # Unlike name tags, names typed on a keyboard are stored in normal width, all but the signs.
        typed = (c if c.isalnum() or c == " " else _full_width(c) for c in value)
        return _cut_encoded(typed, width - 1)
    return value.encode("ascii", errors="replace")[: width - 1]


def split(data: bytes, inner_command: int = GECKO_LIST) -> Iterator[bytes]:
    """Split an event that is too large, the Gecko List, into Message Splitter events, command byte included."""
    for at in range(0, len(data), BLOCK_BYTES):
        block = data[at : at + BLOCK_BYTES]
        trailer = struct.pack(">HB?", len(block), inner_command, at + BLOCK_BYTES >= len(data))
        yield bytes([MESSAGE_SPLITTER]) + block.ljust(BLOCK_BYTES, b"\0") + trailer


class ReplayWriter:
    """Writes the replay of a version. Events are cut at their declared sizes, and undeclared events are left out.

    The methods return bytes to append to the file: `open`, the events, then `close`. After that, only the header still
    has to change, because the game writes the raw length last.

    `sizes`, by command byte, replaces the sizes that the version declares: some real files disagree with their version.
    """

    def __init__(self, version: Version, sizes: Mapping[int, int] | None = None, *, gecko_list_bytes: int = 0) -> None:
        self.raw_length_bytes = 0
        self.version = version
        self.payloads = EventPayloads(dict(sizes or sizes_at(version, gecko_list_bytes=gecko_list_bytes)))

    def open(self) -> bytes:
        """Return the header and Event Payloads."""
        return container.header(0) + self.raw(event_payloads(self.payloads.sizes))

    def raw(self, data: bytes) -> bytes:
        """Count bytes of the raw array and return them."""
        self.raw_length_bytes += len(data)
        return data

    def close(self, values: Mapping[str, Any] | None = None) -> bytes:
        """Return the metadata element and the closing brace; with `None` only the brace."""
        return (b"" if values is None else metadata.MARKER + metadata.encode(values)) + container.CLOSE

    def header(self) -> bytes:
        """Return the header of the finished file."""
        return container.header(self.raw_length_bytes)

    def event(self, event: Any, tail: bytes = b"") -> bytes:
        """Encode one event, decoded or as bytes with the command byte. Empty when its command is not declared.

        Raises `ValueError` as `encode_event` does, and for bytes that are not as long as declared.
        """
        encoded = isinstance(event, bytes)
        command = event[0] if encoded else _TABLE_OF_CLASS[type(event)].command
        size = self.payloads.sizes.get(command)
        if size is None:
            return b""
        data: bytes = event if encoded else encode_event(event, size, tail)
        if len(data) != size + 1:
            raise ValueError(f"event {command:#04x}: {len(data) - 1} bytes, declared are {size}")
        return self.raw(data)

    def gecko_list(self, codes: bytes) -> bytes:
        """Encode the Gecko List as Message Splitters; empty before 3.3."""
        return b"".join(self.event(block) for block in split(codes))

    def frame(
        self,
        number: int,
        *,
        pres: Iterable[Any],
        posts: Iterable[Any],
        start: Any = None,
        stage_events: Iterable[Any] = (),
        items: Iterable[Any] = (),
        finalized: int | None = None,
    ) -> bytes:
        """Encode one sending of a frame, Frame Bookend included, in the order of the version.

        `finalized` is the latest finalized frame in the bookend, by default the frame itself.
        """
        post_frames, item_updates = list(posts), list(items)
        if self.version == ITEMS_AFTER_POST_FRAMES:
            last = [*post_frames, *item_updates]
        else:
            last = [*item_updates, *post_frames]
        latest = number if finalized is None else finalized
        bookend = FRAME_BOOKEND.cls(frame=number, latest_finalized_frame=latest)
        first = [] if start is None else [start]
        return b"".join(map(self.event, [*first, *pres, *stage_events, *last, bookend]))

    def end(
        self, method: int, *, lras_initiator: int = -1, placements: tuple[int, int, int, int] = (-1, -1, -1, -1)
    ) -> bytes:
        """Encode Game End.

        `lras_initiator` is the player index that quit, -1 for none; `placements` has the place of each player index
        (0 is first, -1 an empty port).
        """
        places = {f"placement_{i}": place for i, place in enumerate(placements, 1)}
        return self.event(GAME_END.cls(game_end_method=method, lras_initiator_index=lras_initiator, **places))
