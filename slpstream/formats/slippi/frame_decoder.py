"""Whole frames on the live path. We recognize them by a few bytes, keep them as bytes, and only decode them if you read
a field.

A `FrameDecoder` is made from the layout of one frame (`frame_layout`), and then takes all frames that have the same
layout. To find out whether the next frame does, it only has to compare a few bytes. The result is a `PackedFrame`,
which contains the bytes of the frame. If you read one of its fields, a single `struct` call decodes everything from the
first to the last event. To make a message, the compiled kernel doesn't have to decode the bytes at all.

A whole frame begins with Frame Start (or before 2.2, with a Pre-Frame Update) and ends with Frame Bookend (or before
3.0, with the Post-Frame Update that completes it, see `completion`). If a frame contains unknown events, or only one of
the updates of a character, the reader decodes it event by event. Both ways lead to the same frames, and there's a test
that compares them.
"""

from __future__ import annotations

import copy
import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from itertools import islice
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple, Self

from msgspec import UNSET

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.commands import STAGE_EVENT_KINDS, TABLES
from slpstream.formats.slippi.completion import Completion
from slpstream.formats.slippi.frame_entry import FrameEntry, PlayerFrame, StageEvent
from slpstream.formats.slippi.frame_forms import FrameForms, Value
from slpstream.formats.slippi.frame_layout import (
    BOOKEND,
    FOLLOWER_OFFSET,
    FRAME_NUMBER_OFFSET,
    FRAMED,
    ITEM,
    PLAYER_INDEX_OFFSET,
    POST,
    PRE,
    START,
    Event,
    FrameLayout,
    FrameLayouts,
    frame_widths,
    read_frame,
)
from slpstream.formats.slippi.framing import walk_events
from slpstream.model.events import Form, PackedEntry
from slpstream.model.fields import Layout, Table

_MAX_EVENTS = 24
"""A frame with more events is decoded event by event."""
_MAX_DECODERS = 64
_MAX_SHARED = 128
_CHARACTER = frozenset({PRE, POST})
_FRAMES_BETWEEN_LESSONS = 4

_Pre, _Post, _Item = (TABLES[command].cls for command in (PRE, POST, ITEM))
_Start = TABLES[START].cls


FieldReader = Callable[..., tuple[Any, ...]]
"""Reads fields of a frame. Called with the bytes of the frame, or with a buffer and the position of the frame in it."""


class Fields(NamedTuple):
    """Some fields of an event.

    It has a reader for them, and knows where the bytes from the first to the last of them begin and end.
    """

    read: FieldReader
    begin: int
    end: int


class PackedFrame(PackedEntry, gc=False):
    """The bytes of a whole frame. They are decoded when you read a field, and encoded when you need a message."""

    data: bytes
    decoder: FrameDecoder
    revision: int

    def entry(self) -> FrameEntry:
        """The frame, decoded."""
        return self.decoder.decode(self.data, self.revision)

    def form(self, form: Form, fields: tuple[str, ...] | None = None) -> bytes | None:
        """Return the payload of the message, which is made by the kernel, or `None` if there's no template for it."""
        template = self.decoder.template(form, fields)
        return None if template is None else template.render(self.data, 0, self.revision)

    def size_bytes(self) -> int:
        """Return approximately how many bytes the message would take as JSON."""
        return self.decoder.json_bytes


class _EntryMaker:
    """Makes the `FrameEntry` of a frame from the values of all its fields, which must be in the order of the file.

    A part is a slice of these values. An event is one part, or if there's a nested group in it, three parts. To find an
    event, we use the index of its first part.
    """

    def __init__(
        self, frame: FrameLayout, events: Sequence[Event], layouts: Mapping[int, Layout], posts: Layout | None
    ) -> None:
        """`layouts` are those of the events in `frame`, by command byte.

        `posts` is the layout of the Post-Frame Update.
        """
        slices: list[slice] = []
        parts: dict[int, int] = {}
        first = 0
        for command, at in events:
            parts[at - frame.start] = len(slices)
            slices += _slices(layouts[command], first)
            first += len(layouts[command].fields)
        self._parts = itemgetter(*slices)
        self._start = parts[frame.slots[START, 0, False]] if START in layouts else None
        pairs = [
            (index, is_follower, parts[offset], parts[frame.slots[POST, index, is_follower]])
            for (command, index, is_follower), offset in frame.slots.items()
            if command == PRE
        ]
        self._players = [(index, pre, post) for index, is_follower, pre, post in pairs if not is_follower]
        self._followers = [(index, pre, post) for index, is_follower, pre, post in pairs if is_follower]
        self._items = [parts[offset] for offset in frame.repeated.get(ITEM, ())]
        self._stage_events = [
            (_stage_event(layouts[command]), parts[at - frame.start])
            for command, at in events
            if command in STAGE_EVENT_KINDS
        ]
        self._group = None if posts is None or posts.group is None else posts.group.cls

    def make(self, values: Sequence[Any], revision: Any) -> FrameEntry:
        """The frame with these values."""
        parts = self._parts(values)
        return FrameEntry(
            values[0],  # the frame number is the first value of every event
            revision,
            UNSET if self._start is None else _Start(*parts[self._start]),
            self._characters(self._players, parts),
            self._characters(self._followers, parts) if self._followers else UNSET,
            [_Item(*parts[item]) for item in self._items] if self._items else UNSET,
            [make(*parts[event]) for make, event in self._stage_events] if self._stage_events else UNSET,
        )

    def _characters(self, characters: Sequence[tuple[int, int, int]], parts: Sequence[Any]) -> dict[int, PlayerFrame]:
        """Make the frames of some characters.

        For each of them, `characters` contains the player index, and the parts of the Pre-Frame Update and of the
        Post-Frame Update.
        """
        group = self._group
        if group is None:
            return {i: PlayerFrame(_Pre(*parts[pre]), _Post(*parts[post])) for i, pre, post in characters}
        return {
            i: PlayerFrame(_Pre(*parts[pre]), _Post(*parts[post], group(*parts[post + 1]), *parts[post + 2]))
            for i, pre, post in characters
        }


class FrameDecoder(FrameLayout):
    """Decodes the frames of one layout."""

    def __init__(self, data: bytes, events: Sequence[Event], end: int, widths: Sequence[int]) -> None:
        super().__init__(data, events, end)
        self.commands = [command for command, _ in events]
        self._layouts = layouts = {
            command: TABLES[command].layout(widths[command] - 1) for command in set(self.commands)
        }
        codes = [">"]
        values: list[Value] = []
        for command, at in events:
            layout = layouts[command]
            offset = at - self.start
            unknown_bytes = layout.payload_size_bytes - layout.struct.size
            codes += ["x", layout.struct.format[1:], f"{unknown_bytes}x" if unknown_bytes else ""]
            values += [Value(field.kind.code, offset + field.offset) for field in layout.fields]
        self._unpack = struct.Struct("".join(codes)).unpack_from
        self.match = self._matcher([at - self.start + FRAME_NUMBER_OFFSET for _, at in events])
        """(data, start) to the number of the frame at `start`, or `None` if it has another layout, or is not whole."""
        posts = TABLES[POST].layout(widths[POST] - 1) if widths[POST] else None
        self._make = _EntryMaker(self, events, layouts, posts).make
        characters = [(index, is_follower) for command, index, is_follower in self.slots if command == PRE]
        self.players: Set[int] = frozenset(index for index, is_follower in characters if not is_follower)
        """The player indices of the frame."""
        self.followers: Set[int] = frozenset(index for index, is_follower in characters if is_follower)
        """The player indices of its followers."""
        finality = None
        if BOOKEND in layouts:
            finality = self.fields(TABLES[BOOKEND], self.slots[BOOKEND, 0, False], ("latest_finalized_frame",))
        self.latest_finalized = None if finality is None else finality.read
        """Reads the latest finalized frame, if the replay has it."""
        self.action_offsets: Sequence[tuple[int, int, int]] = (
            self._find_action_states(layouts[POST]) if POST in layouts else []
        )
        """Player index, offset of the action state and of its counter (-1 if the replay has none), of each player."""
        self._forms = FrameForms(values)
        self.json_bytes = self._forms.json_bytes
        """The approximate size of a message as JSON."""

    def _matcher(self, numbers: Sequence[int]) -> Callable[[bytes, int], int | None]:
        if kernel is not None:
            match: Callable[[bytes, int], int | None] = kernel.Matcher(
                self.width_bytes, tuple(self.checked), self.expected, tuple(numbers)
            ).match
            return match
        gaps = (offset - before - 1 for before, offset in zip([-1, *self.checked], self.checked, strict=False))
        unpack_checked = struct.Struct("".join(f"{gap}xB" for gap in gaps)).unpack_from
        expected, width_bytes = tuple(self.expected), self.width_bytes
        gaps = (offset - before - 4 for before, offset in zip([-4, *numbers], numbers, strict=False))
        unpack_numbers = struct.Struct(">" + "".join(f"{gap}xi" for gap in gaps)).unpack_from

        def match_in_python(data: bytes, start: int) -> int | None:
            if start + width_bytes > len(data) or unpack_checked(data, start) != expected:
                return None
            found = unpack_numbers(data, start)
            number: int = found[0]
            return number if found.count(number) == len(found) else None

        return match_in_python

    def _find_action_states(self, layout: Layout) -> list[tuple[int, int, int]]:
        offsets = {field.name: field.offset for field in layout.fields}
        state, counter = offsets["action_state_id"], offsets.get("action_state_counter")
        return [
            (index, at + state, -1 if counter is None else at + counter)
            for (command, index, is_follower), at in self.slots.items()
            if command == POST and not is_follower
        ]

    def fields(self, table: Table, offset: int, names: Sequence[str]) -> Fields | None:
        """Find the fields with these `names` in the event at `offset` in a frame. Returns `None` if the replay has none
        of them.

        If the replay lacks some of the fields, they are left out. The names must be in the order of the file, where the
        fields of later versions come last.
        """
        found = [field for field in self._layouts[table.command].fields if field.name in names]
        if not found:
            return None
        begin = offset + found[0].offset
        codes, at = [f">{begin}x"], begin
        for field in found:
            gap = offset + field.offset - at
            codes.append(f"{gap}x{field.kind.code}")
            at += gap + struct.calcsize(">" + field.kind.code)
        return Fields(struct.Struct("".join(codes)).unpack_from, begin, at)

    def decode(self, frame: bytes, revision: int) -> FrameEntry:
        """Decode the bytes of the given frame. The frame must have this layout."""
        return self._make(self._unpack(frame, 0), revision)

    def template(self, form: Form, fields: tuple[str, ...] | None) -> Any:
        """Return the kernel's template for a message, or `None` if it doesn't have one (see `FrameForms.template`)."""
        return self._forms.template(form, fields, self._make)


WholeFrame = tuple[int, FrameDecoder, int | None]
"""A recognized frame: its number, its decoder, and its latest finalized frame."""


class FrameDecoders:
    """The decoders of one game. When there is a new layout, we make a new one."""

    def __init__(self, widths: Sequence[int]) -> None:
        self._widths = frame_widths(widths)
        self.first_command = START if widths[START] else PRE
        """The command byte at which whole frames begin."""
        self.players: Set[int] = frozenset()
        """The player indices in Game Start. Frames with updates of other players are decoded event by event."""
        self._last_command = BOOKEND if widths[BOOKEND] else POST
        self._decoders: FrameLayouts[FrameDecoder] = FrameLayouts(widths, _MAX_DECODERS)
        self._last: FrameDecoder | None = None
        self._misses = 0
        self._uses: dict[FrameDecoder, int] = {}

    def copy(self) -> Self:
        """Return a copy that is independent from now on. It has the same decoders, but no counts."""
        twin = copy.copy(self)
        twin._decoders = self._decoders.copy()
        twin._uses = {}
        return twin

    def take(self, data: bytes, start: int, limit: int) -> WholeFrame | None:
        """Return the frame at `start`, or `None` if it is incomplete or has to be decoded event by event."""
        decoder = self._last  # the layout is nearly always that of the frame before
        number = None if decoder is None or start + decoder.width_bytes > limit else decoder.match(data, start)
        if decoder is None or number is None:
            decoder = self._decoders.find(data, start, limit)
            if decoder is not None:
                if start + decoder.width_bytes <= limit:
                    number = decoder.match(data, start)
                elif decoder.can_begin(data, start, limit):
                    return None
            if decoder is None or number is None:
                if self._misses % _FRAMES_BETWEEN_LESSONS == 0:
                    self._learn(data, start, limit)
                self._misses += 1
                return None
            self._last = decoder
        self._misses = 0
        uses = self._uses
        uses[decoder] = uses.get(decoder, 0) + 1
        read = decoder.latest_finalized
        return number, decoder, None if read is None else read(data, start)[0]

    def put_back(self, decoder: FrameDecoder) -> None:
        """Don't count the frame that was taken last, because it turned out that it has to be read event by event."""
        self._uses[decoder] -= 1

    def take_counts(self) -> dict[int, int]:
        """Return how many events were decoded since the last time you called this, by command byte."""
        counts: dict[int, int] = {}
        for decoder, uses in self._uses.items():
            for command in decoder.commands:
                counts[command] = counts.get(command, 0) + uses
        self._uses = {}
        return counts

    def _learn(self, data: bytes, start: int, limit: int) -> None:
        last = self._last_command
        completion: Completion[bytes] | None = None if last == BOOKEND else Completion(())
        ends = [end for _, _, end in islice(walk_events(data, start, limit, self._widths), _MAX_EVENTS)]
        # The limit keeps hostile files with very long frames from being read many times.
        events, end, closed = read_frame(data, start, ends[-1] if ends else start, self._widths, completion)
        if completion is not None:
            closed = completion.complete
            # A complete frame is over: later events have no effect on it, or do not belong to it.
            while events and events[-1][0] != POST:
                end = events.pop()[1]
        if closed and self._can_decode(data, events):
            self._decoders.add(_decoder_of(data, events, end, self._widths), data, start, limit)

    def _can_decode(self, data: bytes, events: Sequence[Event]) -> bool:
        """Whether we are able to decode a frame.

        To do that, it must have its first and last command and no unknown events, and each character must have both
        updates and a player in Game Start.
        """
        commands = [command for command, _ in events]
        if (
            commands[0] != self.first_command
            or commands[-1] != self._last_command
            or len(commands) > _MAX_EVENTS
            or not FRAMED.issuperset(commands)
        ):
            return False
        pres, posts = (
            {data[at + PLAYER_INDEX_OFFSET : at + FOLLOWER_OFFSET + 1] for command, at in events if command == wanted}
            for wanted in (PRE, POST)
        )
        return pres == posts and (not self.players or all(character[0] in self.players for character in pres))


_shared: OrderedDict[Hashable, FrameDecoder] = OrderedDict()
"""The decoders used most recently. Most games of a version have the same layouts."""
_shared_lock = Lock()
"""The daemon reads some files in threads."""


def _decoder_of(data: bytes, events: Sequence[Event], end: int, widths: Sequence[int]) -> FrameDecoder:
    """Return the decoder for the layout of this frame. If other games have the same layout, they share it."""
    start = events[0][1]
    characters = [
        data[at + PLAYER_INDEX_OFFSET : at + FOLLOWER_OFFSET + 1] for command, at in events if command in _CHARACTER
    ]
    key = (
        tuple((command, at - start, widths[command]) for command, at in events),
        b"".join(characters),
        end - start,
        kernel,
    )
    with _shared_lock:
        decoder = _shared.get(key)
        if decoder is not None:
            _shared.move_to_end(key)
            return decoder
    made = FrameDecoder(data, events, end, widths)
    with _shared_lock:
        decoder = _shared.setdefault(key, made)  # another thread can have made one meanwhile
        if len(_shared) > _MAX_SHARED:
            _shared.popitem(last=False)
    return decoder


def _slices(layout: Layout, first: int) -> list[slice]:
    """Return the parts of an event whose values begin at index `first`."""
    stop = first + len(layout.fields)
    if layout.group is None:
        return [slice(first, stop)]
    inner, after = first + layout.group.start, first + layout.group.stop
    return [slice(first, inner), slice(inner, after), slice(after, stop)]


def _stage_event(layout: Layout) -> Callable[..., StageEvent]:
    """Return a function that makes an event of a stage from its values."""
    kind = STAGE_EVENT_KINDS[layout.table.command]
    names = [field.name for field in layout.fields]
    return lambda *values: StageEvent(kind, **dict(zip(names, values, strict=True)))
