"""Whole frames on the live path. They stay bytes until you read a field, and the compiled kernel writes their messages
directly from these bytes.

Most frames of a game are whole, which means that their events come in the usual order and nothing is missing. All other
frames, and all frames if the kernel isn't built, are read event by event (`assembler`). Both ways lead to the same
frames, and there's a test that compares them.

To write a message, the kernel uses a template, which is a text with values of the frame in between. To make one, we
encode a frame in the ordinary way, but with a mark instead of each value, and then split the result at the marks. This
means that names, order and nesting come from the same classes as without the kernel, even if a message is cut down to
some fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.commands import FRAME_BOOKEND, LEDGE_CATCH, POST_FRAME, TABLES
from slpstream.formats.slippi.frame_entry import FrameEntry, PlayerFrame
from slpstream.formats.slippi.frame_events import (
    BOOKEND,
    FRAMED,
    PLACES,
    POST,
    PRE,
    REPEATED,
    RULES,
    START,
    frame_widths,
    rules_of,
)
from slpstream.formats.slippi.framing import walk_events
from slpstream.model.events import Form, Frame, FrameFinalized, PackedEntry
from slpstream.model.fields import Layout, Table
from slpstream.model.messages import cut_entry

_MAX_PLAYERS = 4
_ITEMS_BIT, _STAGE_EVENTS_BIT = 1 << 2 * _MAX_PLAYERS, 2 << 2 * _MAX_PLAYERS
_LATEST_FINALIZED, _NOWHERE = FRAME_BOOKEND.fields[1].offset, -1
_ITEMS_ARRAY, _STAGE_EVENTS_ARRAY = 0, 1
MAX_TEMPLATES = 64
"""Limit for the replays of one version. A subscriber can ask for any choice of fields."""
_MISSES_PER_TEMPLATE = 64
"""Making a template takes as long as cutting down ten messages without one. If there are more choices of fields than
templates, a new template replaces the oldest one only this often."""

_Pieces = tuple[tuple[bytes, bytes, int, int], ...]
"""The pieces of a template: each is a text, and the kind, slot and offset of the value after it."""

ReadFields = Callable[..., dict[int, Any]]
"""Reads fields from the bytes of a whole frame. Returns them by player index.

If you also pass the bytes of the frame before, then players are left out whose fields are the same in both."""

NOTED_ACTION = LEDGE_CATCH
"""We note the frames in which a player has this action, so that nobody has to look for it in the others."""

JSON_BYTES_PER_BYTE = 7
"""Approximately how long the message of a frame is, compared with the frame itself."""

Character = tuple[int, bool]
"""A player index, and whether it is the follower of this player."""

FrameParts = int
"""What a frame contains: a bit for each player, for each follower, for items and for stage events."""

CHARACTERS: FrameParts = (1 << 2 * _MAX_PLAYERS) - 1
"""The bits of players and followers."""


def characters_in(parts: FrameParts) -> set[Character]:
    """Return the characters of a frame."""
    return {(bit % _MAX_PLAYERS, bit >= _MAX_PLAYERS) for bit in range(2 * _MAX_PLAYERS) if parts >> bit & 1}


@cache
def players_in(parts: FrameParts) -> frozenset[int]:
    """Return the player indices of a frame."""
    return frozenset(index for index, is_follower in characters_in(parts) if not is_follower)


TemplateKey = tuple[Form, tuple[str, ...] | None, FrameParts]
"""The form of a message, its fields if it is cut down to some, and the parts of its frame."""


class PackedFrame(PackedEntry, gc=False):
    """The bytes of a whole frame. They are decoded when you read a field, and encoded when you need a message."""

    data: bytes
    events: WholeFrames
    parts: FrameParts
    revision: int = 0

    def entry(self) -> FrameEntry:
        """The frame, decoded."""
        return self.events.decode(self.data, self.revision)

    def form(self, form: Form, fields: tuple[str, ...] | None = None) -> bytes | None:
        """Return the payload of the message, which is made by the kernel, or `None` if there's no template for it."""
        key = form, fields, self.parts
        template = self.events.templates.get(key) or self.events.new_template(key)
        return None if template is None else template.render(self.data, self.revision)


class WholeFrames:
    """What there is to know about the whole frames of all replays that declare the same sizes of events."""

    def __init__(self, widths: Sequence[int]) -> None:
        """`widths` are the declared widths by command byte."""
        self._widths = usable = frame_widths(widths)
        for command in FRAMED:
            # The first event that lacks fields is reported, so such events are read one by one.
            if usable[command] and TABLES[command].layout(usable[command] - 1).missing:
                usable[command] = 0
        self._layouts = {command: TABLES[command].layout(usable[command] - 1) for command in FRAMED if usable[command]}
        """The layouts of the events that can be in a whole frame, by command byte."""
        self._always = {PRE, POST} | ({START, BOOKEND} & {command for command in FRAMED if widths[command]})
        self._described = usable, rules_of(widths), PLACES
        self._fields: dict[tuple[int, Sequence[str], Callable[..., Any]], ReadFields] = {}
        self.templates: dict[TemplateKey, Any] = {}
        """The kernel's templates for the messages that were needed so far."""
        # Games are read in threads, too.
        self._lock = Lock()
        self._misses = 0

    def finder(self, players: bytes, *, as_sent: bool) -> Any:
        """Return the kernel's finder of frames that only have characters of the given players.

        Frames become final `as_sent`, which means by the latest finalized frame, or else when they are complete. This
        is `None` without the kernel, and if the replay lacks an event that all whole frames have.
        """
        if kernel is None or not self._always <= self._layouts.keys():
            return None
        makes = PackedFrame, self, JSON_BYTES_PER_BYTE, Frame, FrameFinalized
        noted = self._places(POST_FRAME, ("action_state_id",)), NOTED_ACTION
        return kernel.Frames(self._described, players, _LATEST_FINALIZED if as_sent else _NOWHERE, makes, *noted)

    def decode(self, data: bytes, revision: int) -> FrameEntry:
        """Decode the bytes of a whole frame."""
        frame = FrameEntry(0, revision)
        layouts, add = self._layouts, frame.add
        for command, at, _ in walk_events(data, 0, len(data), self._widths):
            if command != BOOKEND:  # which adds nothing to the frame
                event = layouts[command].decode(data, at)
                add(command, event)
        frame.frame = event.frame  # all have the same
        frame.close()
        return frame

    def fields(self, table: Table, names: Sequence[str], make: Callable[..., Any]) -> ReadFields:
        """Return a function that reads some fields of a whole frame, without decoding the others.

        `table` is that of Frame Start or of an update of characters. For each player in the frame, but not for
        followers, the function calls `make` with the values, and returns the results by player index. For Frame Start,
        the key is 0. `names` must be in the order of the event. If the replay lacks some of them, which are always the
        last ones, then `make` gets fewer values, and if it lacks all of them, the result is empty.
        """
        key = table.command, names, make
        read = self._fields.get(key)
        if read is None:
            places = self._places(table, names)
            rule = bytes([RULES[table.command]])
            fields = kernel.Fields(self._described, rule, places, make)  # type: ignore[union-attr]
            read = self._fields[key] = fields.read if places else lambda *_: {}
        return read

    def watch(self, players: bytes, fields: Iterable[tuple[Table, Sequence[str]]], numbers: tuple[float, ...]) -> Any:
        """Return the kernel's `Watch` for these players, fields and numbers."""
        places = tuple(self._places(table, names) for table, names in fields)
        return kernel.Watch(self._described, players, places, numbers)  # type: ignore[union-attr]

    def _places(self, table: Table, names: Sequence[str]) -> tuple[tuple[bytes, int], ...]:
        """Return the kind and offset of those fields that the replay has."""
        layout = self._layouts.get(table.command)
        fields = layout.fields if layout is not None else ()
        return tuple((field.kind.code.encode(), field.offset) for field in fields if field.name in names)

    def new_template(self, key: TemplateKey) -> Any:
        """Return the kernel's new template for these messages, or `None` if there's no room for it at the moment."""
        form, fields, parts = key
        with self._lock:
            cut = [other for other in self.templates if other[1] is not None]  # oldest first
            if fields is not None and len(cut) >= MAX_TEMPLATES:
                self._misses += 1
                if self._misses % _MISSES_PER_TEMPLATE:
                    return None
                del self.templates[cut[0]]
            marks = _Marks()
            frame = msgspec.json.decode(msgspec.json.encode(self._marked(parts, marks)))
            frame = frame if fields is None else cut_entry(frame, fields)
            # Without the byte that opens the object: the envelope of the message comes before.
            pieces = marks.split({"frame": frame}, form, first_byte=1)
            repeated = REPEATED & self._layouts.keys() if parts & (_ITEMS_BIT | _STAGE_EVENTS_BIT) else ()
            arrays = tuple((command, self._pieces_of_event(command, form)) for command in repeated)
            made = self.templates[key] = kernel.Template(self._described, form, pieces, arrays)  # type: ignore[union-attr]
        return made

    def _pieces_of_event(self, command: int, form: Form) -> _Pieces:
        marks = _Marks()
        return marks.split(marks.event(self._layouts[command], 0), form)

    def _marked(self, parts: FrameParts, marks: _Marks) -> FrameEntry:
        """Return a frame that has the given parts, with marks instead of its values."""
        characters: tuple[dict[int, PlayerFrame], dict[int, PlayerFrame]] = {}, {}
        for player, is_follower in sorted(characters_in(parts)):
            slot = 1 + 2 * (player + _MAX_PLAYERS * is_follower)
            pre, post = marks.event(self._layouts[PRE], slot), marks.event(self._layouts[POST], slot + 1)
            characters[is_follower][player] = PlayerFrame(pre, post)
        players, followers = characters
        return FrameEntry(
            marks.value(b"i", 0, PLACES[0]),
            marks.value(b"n"),
            marks.event(self._layouts[START], 0) if START in self._layouts else UNSET,
            players,
            followers or UNSET,
            marks.value(b"*", _ITEMS_ARRAY) if parts & _ITEMS_BIT else UNSET,
            marks.value(b"*", _STAGE_EVENTS_ARRAY) if parts & _STAGE_EVENTS_BIT else UNSET,
        )


@lru_cache(maxsize=64)
def whole_frames(widths: tuple[int, ...]) -> WholeFrames:
    """Return the `WholeFrames` of replays that declare these widths of events. Most games of a version share it."""
    return WholeFrames(widths)


class _Marks:
    """Marks in place of the values of a frame, and where the kernel finds these values."""

    def __init__(self) -> None:
        self._sources: list[tuple[bytes, int, int]] = []

    def value(self, kind: bytes, slot: int = 0, offset: int = 0) -> Any:
        """Return the mark for a value, given as the kernel's kind, slot and offset."""
        self._sources.append((kind, slot, offset))
        return f"<{len(self._sources) - 1:04}>"

    def event(self, layout: Layout, slot: int) -> Any:
        """Return an event with marks instead of its values."""
        return layout.make([self.value(field.kind.code.encode(), slot, field.offset) for field in layout.fields])

    def split(self, value: Any, form: Form, *, first_byte: int = 0) -> _Pieces:
        """Encode a value, and split it at the marks into the pieces of a template."""
        encode, pattern = _FORMS[form]
        plain = msgspec.json.decode(msgspec.json.encode(value))  # without the fields that the replay lacks
        texts = pattern.split(encode(plain)[first_byte:])
        pieces = [(text, *self._sources[int(at)]) for text, at in zip(texts[::2], texts[1::2], strict=False)]
        return (*pieces, (texts[-1], b".", 0, 0))


_FORMS: Mapping[Form, tuple[Callable[[Any], bytes], re.Pattern[bytes]]] = {
    "json": (msgspec.json.encode, re.compile(rb'"<([0-9]{4})>"')),
    "msgpack": (msgspec.msgpack.encode, re.compile(rb"\xa6<([0-9]{4})>")),
}
"""How a form is encoded, and how the marks look in it."""
