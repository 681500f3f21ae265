"""Assert mode: two Slippi replays compared event by event and field by field, down to the last bit.

Both files are walked by their own Event Payloads, in step. Of the first event whose bytes differ the field is named
with the frame and the player that it belongs to, and what that field was in the frames around it. Bytes that no field
covers are named as such: nothing that differs is passed over. What is not an event (metadata, raw length, what stands
behind the end) is compared last, so that an event that is missing is not told as a raw length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from slpstream.formats.slippi import container, game_start, metadata
from slpstream.formats.slippi.commands import (
    EVENT_PAYLOADS,
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
)
from slpstream.formats.slippi.framing import (
    EventPayloads,
    read_event_payloads,
    walk_events,
    width_of_event_payloads,
)
from slpstream.model.errors import FieldError, FormatError
from slpstream.model.fields import Field, Kind

CONTEXT_FRAMES = 2
"""How many frames before and behind a difference are shown."""
_SHOWN_BYTES = 16

_PLAYERS = {PRE_FRAME.command, POST_FRAME.command}
_FRAMED = {command for command in TABLES if command != GAME_END.command}
_PREFIXES = {
    PRE_FRAME.command: "pre",
    POST_FRAME.command: "post",
    FRAME_START.command: "start",
    ITEM_UPDATE.command: "item",
    FRAME_BOOKEND.command: "bookend",
    GAME_END.command: "gameEnd",
    GAME_START: "gameStart",
} | STAGE_EVENT_KINDS
_TITLES = {
    EVENT_PAYLOADS: "Event Payloads",
    GAME_START: "Game Start",
    GECKO_LIST: "Gecko List",
    MESSAGE_SPLITTER: "Message Splitter",
} | {command: table.title for command, table in TABLES.items()}


_Row = tuple[int, Field, int | None]
"""Offset, field, and whose it is where the event is of all players."""


class Context(NamedTuple):
    """The field in one of the frames around a difference, in both files."""

    frame: int
    a: str
    b: str


class Found(NamedTuple):
    """The first difference."""

    event: str
    """What it is in: the title of an event, `metadata`, `header`, `file`."""
    field: str
    """`post.percent`, `event bytes`, ..."""
    a: str
    b: str
    offset: int
    """In A; in B, when only B has it."""
    number: int | None = None
    """Which event of the file, from 1 on (Event Payloads is the first)."""
    frame: int | None = None
    player: int | None = None
    follower: bool = False
    context: tuple[Context, ...] = ()

    @property
    def place(self) -> str:
        """Frame and player, as far as there are any, and the field."""
        parts = []
        if self.frame is not None:
            parts.append(f"frame {self.frame}")
        if self.player is not None:
            parts.append(f"{'follower' if self.follower else 'player'} {self.player}")
        return ", ".join([*parts, self.field])

    def lines(self) -> list[str]:
        """For people: the difference on one line, then the frames around it."""
        where = f"{self.event} at offset {self.offset}"
        if self.number is not None:
            where = f"event {self.number}, {where}"
        lines = [f"{where}: {self.place}: A has {self.a}, B has {self.b}"]
        for frame, a, b in self.context:
            mark = "   <-- here" if frame == self.frame else ""
            lines.append(f"    frame {frame}: {a}" + ("" if a == b else f"  |  {b}") + mark)
        return lines


def first_difference(a: bytes, b: bytes) -> Found | None:
    """The first difference between two Slippi replays; `None` when all bytes are equal.

    Raises `FormatError` when one of them does not begin like a replay.
    """
    left, right = _Walk(a), _Walk(b)
    if a == b:
        return None
    found = _sizes(left, right) or _events(left, right)
    if found is not None:
        return found
    return _behind(left, right) or _raw_length(a, b) or _bytes("file", a, b, 0, "bytes")


class _Event(NamedTuple):
    command: int
    at: int
    past: int


class _Walk:
    """The events of one file."""

    def __init__(self, data: bytes) -> None:
        container.check_magic(data)
        at = container.HEADER_BYTES
        if len(data) <= at:
            raise FormatError("the replay ends inside its header", offset=len(data))
        width = width_of_event_payloads(data, at, at)
        if width is None or len(data) < at + width:
            raise FormatError("the replay ends inside Event Payloads", offset=len(data))
        self.data = data
        self.payloads: EventPayloads = read_event_payloads(data[at : at + width])
        self.first = at + width
        self.end = self.first
        """Past the last whole event that was walked."""

    def events(self) -> Iterator[_Event]:
        """All whole events after Event Payloads."""
        for command, start, end in walk_events(self.data, self.first, len(self.data), self.payloads.widths):
            yield _Event(command, start, end)
            self.end = end


def _sizes(left: _Walk, right: _Walk) -> Found | None:
    a, b = left.payloads.sizes, right.payloads.sizes
    at = container.HEADER_BYTES
    for command in dict.fromkeys((*a, *b)):
        if a.get(command) != b.get(command):
            name = f"size of {command:#04x}"
            return Found("Event Payloads", name, _size(a.get(command)), _size(b.get(command)), at, 1)
    return _bytes(
        "Event Payloads", left.data[at : left.first], right.data[at : right.first], at, "event bytes", number=1
    )


def _size(size: int | None) -> str:
    return "none" if size is None else str(size)


def _events(left: _Walk, right: _Walk) -> Found | None:
    ours, theirs = left.events(), right.events()
    number = 1
    while True:
        number += 1
        a, b = next(ours, None), next(theirs, None)
        if a is None or b is None:
            break
        if a.command != b.command:
            return _other_event(left, right, a, b, number)
        if left.data[a.at : a.past] != right.data[b.at : b.past]:
            return _in_event(left, right, a, b, number)
    if a is b:
        return None
    event, walk, only = (a, left, "A") if a is not None else (b, right, "B")
    if event is None:
        return None
    title, frame, player, follower = _whose(walk.data, event)
    has = ("the event", "nothing") if only == "A" else ("nothing", "the event")
    return Found(title, "the whole event", *has, event.at, number, frame, player, follower)


def _other_event(left: _Walk, right: _Walk, a: _Event, b: _Event, number: int) -> Found:
    title, frame, player, follower = _whose(left.data, a)
    ours, theirs = _named(left.data, a), _named(right.data, b)
    return Found(title, "command", ours, theirs, a.at, number, frame, player, follower)


def _named(data: bytes, event: _Event) -> str:
    title, frame, player, follower = _whose(data, event)
    parts = [f"{event.command:#04x} {title}"]
    if frame is not None:
        parts.append(f"of frame {frame}")
    if player is not None:
        parts.append(f"{'follower' if follower else 'player'} {player}")
    return " ".join(parts)


def _whose(data: bytes, event: _Event) -> tuple[str, int | None, int | None, bool]:
    """Title, frame, player and whether it is a follower."""
    command, at, past = event
    title = _TITLES.get(command, f"unknown event {command:#04x}")
    frame = int.from_bytes(data[at + 1 : at + 5], "big", signed=True) if command in _FRAMED and past >= at + 5 else None
    if command in _PLAYERS and past >= at + 7:
        return title, frame, data[at + 5], data[at + 6] != 0
    return title, frame, None, False


def _in_event(left: _Walk, right: _Walk, a: _Event, b: _Event, number: int) -> Found:
    title, frame, player, follower = _whose(left.data, a)
    width = a.past - a.at
    for offset, kind, name, owner in _rows(a.command, width):
        ours = left.data[a.at + offset : a.at + offset + kind.width_bytes]
        theirs = right.data[b.at + offset : b.at + offset + kind.width_bytes]
        if ours == theirs:
            continue
        shown = _shown(kind, ours), _shown(kind, theirs)
        if shown[0] == shown[1]:
            shown = f"0x{ours.hex()}", f"0x{theirs.hex()}"
        context = _around(left, right, a, b, offset, kind) if frame is not None else ()
        whose = player if owner is None else owner
        return Found(title, name, *shown, a.at + offset, number, frame, whose, follower, context)
    found = _bytes(title, left.data[a.at : a.past], right.data[b.at : b.past], a.at, "event bytes")
    if found is None:
        raise AssertionError("two events that differ have no byte that differs")
    return found._replace(number=number, frame=frame, player=player, follower=follower)


def _rows(command: int, width: int) -> Iterator[tuple[int, Kind, str, int | None]]:
    """The fields of an event by their offset: offset, kind, name, and whose it is."""
    prefix = _PREFIXES.get(command, "")
    if command == GAME_START:
        rows: list[_Row] = [(f.offset, f, None) for f in game_start.FIELDS]
        rows += [
            (f.offset + player * f.stride_bytes, f, player)
            for f in game_start.PLAYER_FIELDS
            for player in range(game_start.PLAYERS)
        ]
        yield from _present(sorted(rows, key=lambda row: row[0]), prefix, width)
    elif command in TABLES:
        yield from _present([(f.offset, f, None) for f in TABLES[command].fields], prefix, width)


def _present(rows: list[_Row], prefix: str, width: int) -> Iterator[tuple[int, Kind, str, int | None]]:
    for offset, field, player in rows:
        if offset + field.kind.width_bytes <= width:
            yield offset, field.kind, f"{prefix}.{field.wire_name}", player


def _shown(kind: Kind, octets: bytes) -> str:
    if kind.code.endswith("s"):
        return f"0x{octets.hex()}"
    if kind.code == "?" and octets[0] > 1:
        return f"true (0x{octets.hex()})"
    value: Any = struct.unpack(f">{kind.code}", octets)[0]
    if kind.code == "f":
        return f"{value!r} (0x{octets.hex()})"
    return str(value).lower() if kind.code == "?" else str(value)


def _around(left: _Walk, right: _Walk, a: _Event, b: _Event, offset: int, kind: Kind) -> tuple[Context, ...]:
    """The same field of the same player in the frames around."""
    key = left.data[a.at + 5 : a.at + 7] if a.command in _PLAYERS else b""
    ours, theirs = _near(left, a, key), _near(right, b, key)
    context = []
    for ours_at, theirs_at in zip(ours, theirs, strict=False):
        values = [
            _shown(kind, walk.data[at + offset : at + offset + kind.width_bytes])
            for walk, at in ((left, ours_at), (right, theirs_at))
        ]
        number = int.from_bytes(left.data[ours_at + 1 : ours_at + 5], "big", signed=True)
        context.append(Context(number, values[0], values[1]))
    return tuple(context)


def _near(walk: _Walk, event: _Event, key: bytes) -> list[int]:
    """Where the events of the same kind and player are (`key` is what the latter begin with behind the frame number):
    the last few before this one, it, and the next few."""
    data = walk.data
    before: list[int] = []
    behind: list[int] = []
    for command, at, _ in _Walk(data).events():
        if command != event.command or at == event.at or data[at + 5 : at + 5 + len(key)] != key:
            continue
        if at < event.at:
            before = [*before[1 - CONTEXT_FRAMES :], at]
        else:
            behind.append(at)
            if len(behind) == CONTEXT_FRAMES:
                break
    return [*before, event.at, *behind]


def _behind(left: _Walk, right: _Walk) -> Found | None:
    """What follows the events: the metadata, or bytes that nobody knows."""
    a, b = left.data[left.end :], right.data[right.end :]
    if a == b:
        return None
    ours, theirs = _metadata(a), _metadata(b)
    if ours is not None and theirs is not None and ours != theirs:
        name, x, y = _in_values(ours, theirs)
        return Found("metadata", name, x, y, left.end)
    return _bytes("metadata" if ours is not None and theirs is not None else "file", a, b, left.end, "bytes")


def _metadata(data: bytes) -> Mapping[str, Any] | None:
    marker = metadata.MARKER
    if not data.startswith(marker):
        return None
    try:
        length = metadata.MetadataScan(0).advance(data[len(marker) :])
        return None if length is None else metadata.decode(data[len(marker) :][:length], offset=0)
    except FieldError:
        return None


def _in_values(a: Any, b: Any, name: str = "metadata") -> tuple[str, str, str]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            if key not in a or key not in b:
                return f"{name}.{key}", repr(a.get(key, "nothing")), repr(b.get(key, "nothing"))
            if a[key] != b[key]:
                return _in_values(a[key], b[key], f"{name}.{key}")
    return name, repr(a), repr(b)


def _raw_length(a: bytes, b: bytes) -> Found | None:
    ours, theirs = (int.from_bytes(data[len(container.MAGIC) : container.HEADER_BYTES], "big") for data in (a, b))
    return None if ours == theirs else Found("header", "raw length", str(ours), str(theirs), len(container.MAGIC))


def _bytes(event: str, a: bytes, b: bytes, offset: int, field: str, number: int | None = None) -> Found | None:
    """The first byte that differs; both files have these bytes at about `offset`."""
    if a == b:
        return None
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    ours, theirs = (f"0x{part.hex()}" if part else "nothing" for part in (a[at:][:_SHOWN_BYTES], b[at:][:_SHOWN_BYTES]))
    return Found(event, field, ours, theirs, offset + at, number)
