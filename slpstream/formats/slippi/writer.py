"""Events to the bytes of a `.slp`, in the layout of any version: the mirror of the reader, as free of files.

The field tables do the encoding, so what the reader decodes the writer encodes back to the same bytes (two values
have several spellings and come back in the usual one: a flag byte above 1, a signalling NaN). What a version does not
have is left out: the same calls give a 0.1.0 and a 3.18.0 file, whose declared sizes cut the events.

A writer is a sequence of calls that return the bytes to append: `open`, then events, then `close`. Only the 15 bytes
of the header change afterwards; `header` returns them with the raw length, to be put over the first ones. The game
does the same, in this order, which is why a reader may see a closed file whose raw length is still 0.
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
from slpstream.formats.slippi.framing import EventPayloads, write_event_payloads
from slpstream.formats.slippi.text import ENCODING, encode_name
from slpstream.model.fields import Table, parse_version

Version = tuple[int, int, int]

BLOCK_BYTES = 512
"""What one Message Splitter carries at most."""

SPLITTER_BYTES = BLOCK_BYTES + 2 + 1 + 1
"""Payload of a Message Splitter: the block, its used bytes as u16, the inner command, 1 in the last one."""

SPLITTER_SINCE: Version = (3, 3, 0)
ITEMS_BEHIND_POSTS: Version = (3, 3, 0)
"""The one version that writes the items of a frame behind its post-frame updates."""

_TABLE_OF_CLASS: Mapping[type[Any], Table] = {table.cls: table for table in TABLES.values()}
_PER_FRAME = (PRE_FRAME, POST_FRAME, GAME_END, FRAME_START, ITEM_UPDATE, FRAME_BOOKEND)
_PER_STAGE = (FOD_PLATFORMS, WHISPY, STADIUM)

# The Game Info Block as the game fills it in a stock match: what real replays of every version have in common. Nobody
# knows what all of it is for; the rows that have a name in the field tables are set by name below.
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


class PlayerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A player of a Game Start: the attributes are the rows of the field table, texts as people write them."""

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
    """A decoded event to its bytes, command byte included, at a declared payload size.

    `tail` is what the declared size has beyond the rows that the table knows; missing bytes are zeros. Raises
    `ValueError` when a field that the size has is absent, a value does not fit its type, or the result is longer than
    declared.
    """
    table = _TABLE_OF_CLASS[type(event)]
    try:
        data = table.layout(payload_size_bytes).encode(event, tail)
    except struct.error as error:
        raise ValueError(f"{table.title} at {payload_size_bytes} bytes: {error}") from error
    if len(data) != payload_size_bytes + 1:
        raise ValueError(f"{table.title}: {len(data) - 1} bytes do not fit the declared {payload_size_bytes}")
    return data


def sizes_at(version: Version, *, gecko_list_bytes: int = 0) -> dict[int, int]:
    """The payload sizes in bytes that a version declares, by command byte and in the order of real files.

    The size of the Gecko List is that of the list and overflows its 16 bits, as in real files.
    """
    tables = [table for table in _PER_FRAME if parse_version(table.since) <= version]
    sizes = {GAME_START: game_start_rows.size_at(version)} | {t.command: t.size_at(version) for t in tables}
    if version >= SPLITTER_SINCE:
        sizes |= {GECKO_LIST: gecko_list_bytes & 0xFFFF, MESSAGE_SPLITTER: SPLITTER_BYTES}
    return sizes | {t.command: t.size_at(version) for t in _PER_STAGE if parse_version(t.since) <= version}


def game_start(version: Version, *, players: Sequence[PlayerSetup], stage_id: int, **rows: Any) -> bytes:
    """A Game Start event, command byte included, at the size that the version has.

    `rows` are further rows of `slippi.game_start.FIELDS` by name (`random_seed=7`, `major_scene=8`,
    `session_id="mode.x"`); what is not given is a four-stock match of eight minutes without items, offline. Rows of
    later versions are left out.
    """
    payload = bytearray(game_start_rows.size_at(version) + 1)
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


def split(data: bytes, inner_command: int = GECKO_LIST) -> Iterator[bytes]:
    """The Message Splitter events, command byte included, that carry an event too large for one: the Gecko List."""
    for at in range(0, len(data), BLOCK_BYTES):
        block = data[at : at + BLOCK_BYTES]
        trailer = struct.pack(">HB?", len(block), inner_command, at + BLOCK_BYTES >= len(data))
        yield bytes([MESSAGE_SPLITTER]) + block.ljust(BLOCK_BYTES, b"\0") + trailer


class RawWriter:
    """The file around the events: `open`, `raw` as often as needed, `close`, then `header` over the first bytes.

    For a source that already has the bytes of its events, Event Payloads included.
    """

    def __init__(self) -> None:
        self.raw_length_bytes = 0
        """Bytes of the raw array so far."""

    def open(self) -> bytes:
        """The start of the file, its raw length 0: the game runs."""
        return container.header(0)

    def raw(self, data: bytes) -> bytes:
        """Bytes of the raw array, cut anywhere; they are counted and returned."""
        self.raw_length_bytes += len(data)
        return data

    def close(self, values: Mapping[str, Any] | None = None) -> bytes:
        """The metadata element, unless `None`, and the closing brace."""
        element = b"" if values is None else metadata.MARKER + metadata.encode(dict(values))
        return element + container.CLOSE

    def header(self) -> bytes:
        """The first 15 bytes of the closed file, with the raw length."""
        return container.header(self.raw_length_bytes)


class ReplayWriter(RawWriter):
    """A replay of a version: its declared sizes cut the events, and events that it does not declare are left out.

    `sizes` replaces the version's own declared sizes, by command byte: real files disagree with the version they state.
    """

    def __init__(self, version: Version, sizes: Mapping[int, int] | None = None, *, gecko_list_bytes: int = 0) -> None:
        super().__init__()
        self.version = version
        self.payloads = EventPayloads(dict(sizes or sizes_at(version, gecko_list_bytes=gecko_list_bytes)))

    def open(self) -> bytes:
        """The header and Event Payloads."""
        return super().open() + self.raw(write_event_payloads(self.payloads.sizes))

    def event(self, event: Any, tail: bytes = b"") -> bytes:
        """One event: decoded, or its bytes with the command byte. Empty when its command is not declared.

        Raises `ValueError` as `encode_event` does, and for bytes that have not the declared size.
        """
        octets = isinstance(event, bytes)
        command = event[0] if octets else _TABLE_OF_CLASS[type(event)].command
        size = self.payloads.size(command)
        if size is None:
            return b""
        data: bytes = event if octets else encode_event(event, size, tail)
        if len(data) != size + 1:
            raise ValueError(f"event {command:#04x}: {len(data) - 1} bytes, declared are {size}")
        return self.raw(data)

    def gecko_list(self, codes: bytes) -> bytes:
        """The Gecko List in its Message Splitters; empty before 3.3."""
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
        """One sending of a frame in the order that the version has, its Frame Bookend included.

        `finalized` is the bookend's latest finalized frame; without it the frame itself is final.
        """
        ends, things = list(posts), list(items)
        behind = [*ends, *things] if self.version == ITEMS_BEHIND_POSTS else [*things, *ends]
        latest = number if finalized is None else finalized
        bookend = FRAME_BOOKEND.new(frame=number, latest_finalized_frame=latest)
        opening = [] if start is None else [start]
        return b"".join(map(self.event, [*opening, *pres, *stage_events, *behind, bookend]))

    def end(
        self, method: int, *, lras_initiator: int = -1, placements: tuple[int, int, int, int] = (-1, -1, -1, -1)
    ) -> bytes:
        """Game End: how the game ended, who quit (-1 nobody), and each player index's place (0 first, -1 not there)."""
        places = {f"placement_{i}": place for i, place in enumerate(placements, 1)}
        return self.event(GAME_END.new(game_end_method=method, lras_initiator_index=lras_initiator, **places))


def _packed(name: str, value: Any) -> Any:
    """A row's value as `struct` takes it: texts to their bytes."""
    width = _TEXT_BYTES.get(name)
    if width is None:
        return value
    if name == "nametag":
        return encode_name(value, width)
    if name in ("display_name", "connect_code"):
        # Unlike nametags, what people typed on a keyboard is stored in normal width, all but the sign `#`.
        return _whole_characters(value.replace("#", "\uff03"), width - 1)
    return value.encode("ascii", errors="replace")[: width - 1]


def _whole_characters(text: str, room_bytes: int) -> bytes:
    octets = b""
    for character in text:
        encoded = character.encode(ENCODING, errors="replace")
        if len(octets) + len(encoded) > room_bytes:
            break
        octets += encoded
    return octets
