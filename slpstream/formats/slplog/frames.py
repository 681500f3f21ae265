"""A block of frames: its events as columns, and back.

1. *Units*: the events of a frame, one behind the other. A unit begins with each Frame Start, and where the frame number
   changes. Which events it has, in which order, is its template; most units of a game share a handful of them. Unknown
   commands are events like others, without columns of their own.
2. *Rows*: all events of one command (and of one player) are a matrix.
3. *Columns*: each field of a matrix is predicted, and what the prediction missed is kept (`plan`, `predict`).
4. *Parts*: the planes of these differences, those of zeros left out, and LZMA over all of them.

A block stands alone: nothing in it needs another block.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from slpstream.formats.slplog import plan, predict
from slpstream.formats.slplog.bits import MemoryStream
from slpstream.formats.slplog.planes import PartsReader, PartsWriter, column, set_column
from slpstream.formats.slplog.rows import Rows, frame_parents, same_parents
from slpstream.model.errors import FieldError

MAX_SOURCE_BYTES = 1 << 20
"""A block never stands for more of the replay."""
_ROOM_BYTES = 1 << 16
_WIDEST = 0x10000
_MIN_WINDOW_BYTES, _MAX_WINDOW_BYTES = 1 << 12, 1 << 20
_LZMA = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": _MAX_WINDOW_BYTES}
_PLANES = _LZMA | {"lc": 0, "lp": 0, "pb": 0}
_PLAIN = _LZMA | {"lc": 3, "lp": 0, "pb": 2}
_LCG, _PLAIN_SEEDS = 1, 0

Template = tuple[int, ...]
"""The keys of a unit's events: command << 16, with player index << 8 and the follower byte."""


class FrameRange(NamedTuple):
    """Which frames a block has: the lowest and the highest number, and how many units."""

    first: int
    last: int
    units: int


def squeeze(data: bytes, *, planes: bool = False) -> bytes:
    """Raw LZMA2 of some bytes."""
    # A window that is larger than the data costs time and gains nothing; who reads has the largest.
    window = min(max(1 << len(data).bit_length(), _MIN_WINDOW_BYTES), _MAX_WINDOW_BYTES)
    filters = [(_PLANES if planes else _PLAIN) | {"dict_size": window}]
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=filters)


def expand(data: bytes, max_bytes: int, *, planes: bool = False) -> bytes:
    """The mirror of `squeeze`. Raises `FieldError` for anything else, or when it is more than `max_bytes`."""
    try:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[_PLANES if planes else _PLAIN])
        found = decompressor.decompress(data, max_bytes + 1)
    except lzma.LZMAError:
        raise FieldError("the compressed bytes are damaged", offset=0) from None
    if len(found) > max_bytes:
        raise FieldError(f"the compressed bytes are more than {max_bytes}", offset=0)
    if not decompressor.eof or decompressor.unused_data:
        raise FieldError("the compressed bytes do not end where they should", offset=0)
    return found


class FrameBlock:
    """Events on their way into a block: `add` them in order, then `encode`."""

    def __init__(self, widths: Sequence[int]) -> None:
        """`widths`: of each command the bytes of its events, 0 for none."""
        self._widths = widths
        self._matrices: dict[int, bytearray] = {}
        self._templates: dict[Template, int] = {}
        self._units: list[int] = []
        self._frames: list[int] = []
        self._open: list[int] = []
        self.source_bytes = 0

    @property
    def units(self) -> int:
        """How many frames have begun."""
        return len(self._frames)

    def begins_unit(self, data: bytes, at: int) -> bool:
        """Whether the event at `data[at]` begins another frame."""
        command = data[at]
        if command == plan.START and self._widths[command] >= plan.FRAMED_BYTES:
            return True
        if not self._frames:
            return True
        if command in plan.FRAMED and self._widths[command] >= plan.FRAMED_BYTES:
            return int.from_bytes(data[at + 1 : at + 5], "big", signed=True) != self._frames[-1]
        return False

    def add(self, data: bytes, at: int) -> None:
        """The event at `data[at]`, whole."""
        command = data[at]
        width = self._widths[command]
        key = command << 16
        if command in plan.PLAYERS and width >= plan.PLAYER_BYTES:
            key |= data[at + 5] << 8 | data[at + 6]
        if self.begins_unit(data, at):
            self._close()
            framed = command in plan.FRAMED and width >= plan.FRAMED_BYTES
            self._frames.append(int.from_bytes(data[at + 1 : at + 5], "big", signed=True) if framed else 0)
        self._open.append(key)
        matrix = self._matrices.get(key)
        if matrix is None:
            matrix = self._matrices[key] = bytearray()
        matrix += data[at : at + width]
        self.source_bytes += width

    def _close(self) -> None:
        if self._open:
            self._units.append(self._templates.setdefault(tuple(self._open), len(self._templates)))
            self._open = []

    @property
    def range(self) -> FrameRange:
        """Which frames these are."""
        return FrameRange(min(self._frames, default=0), max(self._frames, default=0), len(self._frames))

    def encode(self) -> bytes:
        """The payload of the block."""
        self._close()
        keys = list(self._matrices)
        templates = list(self._templates)
        head = MemoryStream()
        head.write_number(plan.PLAN)
        head.write_number(len(keys))
        for key in keys:
            head.write_number(key)
            head.write_number(self._widths[key >> 16])
        places = {key: place for place, key in enumerate(keys)}
        head.write_number(len(templates))
        for template in templates:
            head.write_number(len(template))
            for key in template:
                head.write_number(places[key])
        head.write_number(len(self._frames))
        for unit in self._units:
            head.write_number(unit)
        before = 0
        for frame in self._frames:
            head.write_signed(frame - before)
            before = frame + 1
        groups = _groups(keys, self._widths, templates, self._units, self._frames)
        for group in groups.values():
            group.matrix = self._matrices[group.key]
        parts = PartsWriter()
        _put_seeds(groups, templates, self._units, parts)
        for group in _in_order(groups):
            _put_columns(group, parts)
        present, kept = parts.to_bytes()
        head.write_octets(present)
        return squeeze(head.to_bytes() + kept, planes=True)


def decode_block(payload: bytes, source_bytes: int) -> bytes:
    """The events of a block, as they were in the file. Raises `FieldError`."""
    if source_bytes > MAX_SOURCE_BYTES:
        raise FieldError(f"a block of {source_bytes} bytes", offset=0)
    stream = MemoryStream(expand(payload, 4 * source_bytes + _ROOM_BYTES, planes=True))
    if stream.read_number() != plan.PLAN:
        raise FieldError("the block has a plan that is not known", offset=0)
    keys, widths = [], [0] * 256
    for _ in range(stream.read_number(source_bytes)):
        key, width = stream.read_number(0xFFFFFF), stream.read_number(_WIDEST)
        command = key >> 16
        _check_width(command, key, width)
        if widths[command] not in (0, width):
            raise FieldError(f"the command {command:#04x} has two widths", offset=0)
        widths[command] = width
        keys.append(key)
    templates = []
    for _ in range(stream.read_number(source_bytes)):
        events = stream.read_number(source_bytes)
        template = tuple(_pick(keys, stream.read_number()) for _ in range(events))
        if not template:
            raise FieldError("a frame without events", offset=0)
        templates.append(template)
    count = stream.read_number(source_bytes)
    units = [stream.read_number() for _ in range(count)]
    sizes = [sum(widths[key >> 16] for key in template) for template in templates]
    if any(unit >= len(sizes) for unit in units) or sum(sizes[unit] for unit in units) != source_bytes:
        raise FieldError("the frames of the block are not as long as it says", offset=0)
    frames, before = [], 0
    for _ in range(count):
        before += stream.read_signed()
        if not -(1 << 31) <= before < 1 << 31:
            raise FieldError(f"the frame number {before}", offset=0)
        frames.append(before)
        before += 1
    present = stream.read_octets()
    parts = PartsReader(present, stream.read_raw(stream.left))
    groups = _groups(keys, widths, templates, units, frames)
    if len(groups) != len(keys) or any(not group.count for group in groups.values()):
        raise FieldError("a kind of event that no frame has", offset=0)
    for group in groups.values():
        _fill(group)
    _take_seeds(groups, templates, units, parts)
    for group in _in_order(groups):
        _take_columns(group, parts)
    parts.finish()
    return _joined(groups, templates, units)


def _pick(keys: list[int], place: int) -> int:
    if place >= len(keys):
        raise FieldError(f"there is no kind of event {place}", offset=0)
    return keys[place]


def _check_width(command: int, key: int, width: int) -> None:
    player = command in plan.PLAYERS and width >= plan.PLAYER_BYTES
    if not width or (key & 0xFFFF and not player):
        raise FieldError(f"the kind of event {key:#08x} with {width} bytes", offset=0)


def _groups(
    keys: Sequence[int],
    widths: Sequence[int],
    templates: Sequence[Template],
    units: Sequence[int],
    frames: Sequence[int],
) -> dict[int, Rows]:
    places: dict[int, list[int]] = {key: [] for key in keys}
    appends = [[places[key].append for key in template] for template in templates]
    for place, unit in enumerate(units):
        for append in appends[unit]:
            append(place)
    groups = {key: Rows(key, widths[key >> 16], places[key], frames) for key in keys}
    for key, group in groups.items():
        command = key >> 16
        if command in plan.PLAYERS and group.width >= plan.PLAYER_BYTES:
            group.parents = frame_parents(group)
            if command == plan.PRE:
                group.posts = groups.get(plan.POST << 16 | key & 0xFFFF)
    return groups


def _in_order(groups: dict[int, Rows]) -> list[Rows]:
    """Post-frames first: pre-frames are predicted from them."""
    return sorted(groups.values(), key=lambda group: (group.key >> 16 != plan.POST, group.key))


def _framed(group: Rows) -> bool:
    return group.key >> 16 in plan.FRAMED and group.width >= plan.FRAMED_BYTES


def _put_columns(group: Rows, parts: PartsWriter) -> None:
    command, width = group.key >> 16, group.width
    if not _framed(group):
        for row in range(group.count):
            parts.put(bytes(group.matrix[row * width + 1 : (row + 1) * width]))
        return
    for place, (offset, size, method) in enumerate(plan.columns(command, width)):
        values = column(group.matrix, width, offset, size)
        method.put(group, values, size, parts)
        group.values[offset] = values
        if not place and command in plan.IDENTITY_AT:
            group.parents = same_parents(values)


def _take_columns(group: Rows, parts: PartsReader) -> None:
    command, width = group.key >> 16, group.width
    if not _framed(group):
        for row in range(group.count):
            group.matrix[row * width + 1 : (row + 1) * width] = parts.take(width - 1)
        return
    for place, (offset, size, method) in enumerate(plan.columns(command, width)):
        values = method.take(group, size, parts)
        set_column(group.matrix, width, offset, size, values)
        group.values[offset] = values
        if not place and command in plan.IDENTITY_AT:
            group.parents = same_parents(values)


def _fill(group: Rows) -> None:
    """What is known of the rows before their columns: command, frame, player."""
    command, width = group.key >> 16, group.width
    group.matrix = matrix = bytearray(width * group.count)
    matrix[0::width] = bytes([command]) * group.count
    if _framed(group):
        set_column(matrix, width, 1, 4, group.own_frames_as_words())
        if command in plan.PLAYERS and width >= plan.PLAYER_BYTES:
            matrix[5::width] = bytes([group.key >> 8 & 0xFF]) * group.count
            matrix[6::width] = bytes([group.key & 0xFF]) * group.count


def _seeded(groups: dict[int, Rows], templates: Sequence[Template], units: Sequence[int]) -> list[int]:
    """The keys of all events that have a seed, in the order of the file."""
    having = {key for key, group in groups.items() if plan.has_seed(key >> 16, group.width)}
    each = [[key for key in template if key in having] for template in templates]
    return list(chain.from_iterable(each[unit] for unit in units))


def _put_seeds(
    groups: dict[int, Rows], templates: Sequence[Template], units: Sequence[int], parts: PartsWriter
) -> None:
    order = _seeded(groups, templates, units)
    columns = {
        key: iter(column(groups[key].matrix, groups[key].width, plan.SEED_AT[key >> 16], 4)) for key in set(order)
    }
    seeds = [next(columns[key]) for key in order]
    plain = _differences(seeds)
    known = {seed: predict.draws_of(seed) for seed in set(seeds)}
    draws = _differences([known[seed] for seed in seeds])
    kind, found = min(((_PLAIN_SEEDS, plain), (_LCG, draws)), key=lambda each: sum(map(int.bit_length, each[1])))
    parts.put(bytes([kind]))
    parts.put_values(found, 4)


def _take_seeds(
    groups: dict[int, Rows], templates: Sequence[Template], units: Sequence[int], parts: PartsReader
) -> None:
    order = _seeded(groups, templates, units)
    kind = parts.take(1)[0]
    seeds = predict.undo_delta(parts.take_values(len(order), 4), None, predict.WORD)
    if kind == _LCG:
        known: dict[int, int] = {}
        for draws in seeds:
            if draws not in known:
                known[draws] = predict.seed_after(draws)
        seeds = [known[draws] for draws in seeds]
    elif kind != _PLAIN_SEEDS:
        raise FieldError(f"seeds of the kind {kind}", offset=0)
    columns: dict[int, list[int]] = {key: [] for key in order}
    for key, seed in zip(order, seeds, strict=True):
        columns[key].append(seed)
    for key, values in columns.items():
        set_column(groups[key].matrix, groups[key].width, plan.SEED_AT[key >> 16], 4, values)


def _differences(values: Sequence[int]) -> list[int]:
    return [(a - b) & predict.WORD for a, b in zip(values, [0, *values[:-1]], strict=True)] if values else []


def _joined(groups: dict[int, Rows], templates: Sequence[Template], units: Sequence[int]) -> bytes:
    rows = {}
    for key, group in groups.items():
        width, matrix = group.width, bytes(group.matrix)
        rows[key] = iter([matrix[at : at + width] for at in range(0, len(matrix), width)]).__next__
    calls = [[rows[key] for key in template] for template in templates]
    return b"".join([call() for unit in units for call in calls[unit]])
