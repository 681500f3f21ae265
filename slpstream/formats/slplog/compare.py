"""Find the first difference between two Slippi replays, event by event and field by field.

We walk through both files in step, using the Event Payloads of each. For the first events that differ, you get the name
of the field, its frame and player, and the values that it has in the frames around it. Bytes that don't belong to any
field are compared too. Everything that isn't an event (metadata, raw length, bytes after the end) comes last.
Otherwise, a missing event would be reported as a different raw length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from slpstream.formats.slippi import container, game_start, metadata
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
)
from slpstream.formats.slippi.frame_events import FRAMED, frame_number
from slpstream.formats.slippi.framing import (
    EVENT_PAYLOADS,
    event_payloads_of,
    walk_events,
)
from slpstream.model.errors import FormatError
from slpstream.model.fields import Field, Kind

CONTEXT_FRAMES = 2
"""Number of frames shown before and after a difference."""
_SHOWN_BYTES = 16

_PLAYERS = {PRE_FRAME.command, POST_FRAME.command}
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
"""Offset, field, and its player if the event has fields of several players."""


class Context(NamedTuple):
    """The values that a field has in both files, in one of the frames around a difference."""

    frame: int
    a: str
    b: str


class Found(NamedTuple):
    """The first difference between two replays."""

    event: str
    """The title of an event, or `metadata`, `header` or `file`."""
    field: str
    """`post.percent`, `event bytes`, ..."""
    a: str
    b: str
    offset: int
    """Offset in A, or in B for an event that only B has."""
    number: int | None = None
    """Number of the event in the file. Event Payloads is 1."""
    frame: int | None = None
    player: int | None = None
    follower: bool = False
    context: tuple[Context, ...] = ()

    @property
    def place(self) -> str:
        """The frame, player and field as text. If we don't know the frame or player, they are left out."""
        parts = []
        if self.frame is not None:
            parts.append(f"frame {self.frame}")
        if self.player is not None:
            parts.append(f"{'follower' if self.follower else 'player'} {self.player}")
        return ", ".join([*parts, self.field])

    def lines(self) -> list[str]:
        """Return lines that you can show to people. They contain the difference, and then the frames around it."""
        event = f"{self.event} at offset {self.offset}"
        if self.number is not None:
            event = f"event {self.number}, {event}"
        lines = [f"{event}: {self.place}: A has {self.a}, B has {self.b}"]
        for frame, a, b in self.context:
            mark = "   <-- here" if frame == self.frame else ""
            lines.append(f"    frame {frame}: {a}" + ("" if a == b else f"  |  {b}") + mark)
        return lines


def first_difference(a: bytes, b: bytes) -> Found | None:
    """Return the first difference between two Slippi replays, or `None` if all bytes are equal.

    If one of them doesn't begin like a replay, this raises `FormatError`.
    """
    left, right = _Walk(a), _Walk(b)
    if a == b:
        return None
    found = _sizes(left, right) or _events(left, right)
    if found is not None:
        return found
    return _after_events(left, right) or _raw_length(a, b) or _bytes("file", a, b, 0, "bytes")


class _Event(NamedTuple):
    command: int
    start: int
    end: int


class _Walk:
    """A walk over the events of one file."""

    def __init__(self, data: bytes) -> None:
        container.check_magic(data)
        found = event_payloads_of(data)
        if found is None:
            where = "its header" if len(data) <= container.HEADER_BYTES else "Event Payloads"
            raise FormatError(f"the replay ends inside {where}", offset=len(data))
        self.data = data
        self.payloads, self.first = found
        self.end = self.first
        """The end of the last whole event that was walked."""

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
        if left.data[a.start : a.end] != right.data[b.start : b.end]:
            return _in_event(left, right, a, b, number)
    if a is b:
        return None
    event, walk, only = (a, left, "A") if a is not None else (b, right, "B")
    if event is None:
        return None
    title, frame, player, follower = _owner(walk.data, event)
    values = ("the event", "nothing") if only == "A" else ("nothing", "the event")
    return Found(title, "the whole event", *values, event.start, number, frame, player, follower)


def _other_event(left: _Walk, right: _Walk, a: _Event, b: _Event, number: int) -> Found:
    title, frame, player, follower = _owner(left.data, a)
    ours, theirs = _description(left.data, a), _description(right.data, b)
    return Found(title, "command", ours, theirs, a.start, number, frame, player, follower)


def _description(data: bytes, event: _Event) -> str:
    title, frame, player, follower = _owner(data, event)
    parts = [f"{event.command:#04x} {title}"]
    if frame is not None:
        parts.append(f"of frame {frame}")
    if player is not None:
        parts.append(f"{'follower' if follower else 'player'} {player}")
    return " ".join(parts)


def _owner(data: bytes, event: _Event) -> tuple[str, int | None, int | None, bool]:
    """Return the title of an event, its frame and player, and whether the player is a follower."""
    command, start, end = event
    title = _TITLES.get(command, f"unknown event {command:#04x}")
    has_frame = command in FRAMED and end >= start + 5
    frame = frame_number(data, start) if has_frame else None
    if command in _PLAYERS and end >= start + 7:
        return title, frame, data[start + 5], data[start + 6] != 0
    return title, frame, None, False


def _in_event(left: _Walk, right: _Walk, a: _Event, b: _Event, number: int) -> Found:
    title, frame, player, follower = _owner(left.data, a)
    width = a.end - a.start
    for offset, kind, name, field_player in _rows(a.command, width):
        ours = left.data[a.start + offset : a.start + offset + kind.width_bytes]
        theirs = right.data[b.start + offset : b.start + offset + kind.width_bytes]
        if ours == theirs:
            continue
        shown = _shown(kind, ours), _shown(kind, theirs)
        if shown[0] == shown[1]:
            shown = f"0x{ours.hex()}", f"0x{theirs.hex()}"
        context = _around(left, right, a, b, offset, kind) if frame is not None else ()
        found_player = player if field_player is None else field_player
        return Found(title, name, *shown, a.start + offset, number, frame, found_player, follower, context)
    found = _bytes(title, left.data[a.start : a.end], right.data[b.start : b.end], a.start, "event bytes")
    if found is None:
        raise AssertionError("two different events have no different byte")
    return found._replace(number=number, frame=frame, player=player, follower=follower)


def _rows(command: int, width: int) -> Iterator[tuple[int, Kind, str, int | None]]:
    """Yield the offset, kind, name and player of each field in an event. They are sorted by their offsets."""
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
    """Return the values that the same field has for the same player in the frames around it."""
    key = left.data[a.start + 5 : a.start + 7] if a.command in _PLAYERS else b""
    ours, theirs = _near(left, a, key), _near(right, b, key)
    context = []
    for our_start, their_start in zip(ours, theirs, strict=False):
        values = [
            _shown(kind, walk.data[start + offset : start + offset + kind.width_bytes])
            for walk, start in ((left, our_start), (right, their_start))
        ]
        number = int.from_bytes(left.data[our_start + 1 : our_start + 5], "big", signed=True)
        context.append(Context(number, values[0], values[1]))
    return tuple(context)


def _near(walk: _Walk, event: _Event, key: bytes) -> list[int]:
    """Return the offsets of this event, and of the nearest ones of the same kind and player before and after it.

    `key` consists of the player index and the follower flag, which come after the frame number. For other events, it is
    empty.
    """
    data = walk.data
    before: list[int] = []
    after: list[int] = []
    for command, start, _ in _Walk(data).events():
        if command != event.command or start == event.start or data[start + 5 : start + 5 + len(key)] != key:
            continue
        if start < event.start:
            before = [*before[1 - CONTEXT_FRAMES :], start]
        else:
            after.append(start)
            if len(after) == CONTEXT_FRAMES:
                break
    return [*before, event.start, *after]


def _after_events(left: _Walk, right: _Walk) -> Found | None:
    """Compare the bytes after the events: the metadata, or unknown bytes."""
    a, b = left.data[left.end :], right.data[right.end :]
    if a == b:
        return None
    ours, theirs = metadata.read_element(a, 0), metadata.read_element(b, 0)
    if ours is not None and theirs is not None and ours != theirs:
        name, x, y = _in_values(ours, theirs)
        return Found("metadata", name, x, y, left.end)
    return _bytes("metadata" if ours is not None and theirs is not None else "file", a, b, left.end, "bytes")


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
    """Find the first byte that differs in two parts of the files. `offset` is where `a` is in its file."""
    if a == b:
        return None
    index = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    ours, theirs = (f"0x{part[index:][:_SHOWN_BYTES].hex()}" if part[index:] else "nothing" for part in (a, b))
    return Found(event, field, ours, theirs, offset + index, number)
