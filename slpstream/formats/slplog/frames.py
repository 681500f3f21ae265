"""Blocks of frames: Slippi events coded as columns of prediction errors.

1. *Units*: a unit is the consecutive events of one frame. A new one begins with each Frame Start, and where the frame
   number changes. The kinds and the order of its events are its template; most units of a game share a few templates.
   Events of unknown commands are included, without separate columns.
2. *Rows*: all events of one command (and one player) are the rows of a matrix.
3. *Columns*: each field of a matrix is predicted, and the differences to the predictions are stored (`plan`,
   `predict`).
4. *Parts*: the byte planes of these differences, without those of zeros, are compressed with LZMA.

A block can be decoded without any other block.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from slpstream.formats.slplog import plan, predict
from slpstream.formats.slplog.bits import MemoryStream
from slpstream.formats.slplog.byte_planes import PartsReader, PartsWriter, column, set_column
from slpstream.formats.slplog.rows import Rows, frame_parents, same_parents
from slpstream.model.errors import FieldError

MAX_SOURCE_BYTES = 1 << 20
"""Maximum size of the part of a replay in one block."""
_EXTRA_BYTES = 1 << 16
"""Allowance for a small block, which may expand to more than four times its part of the replay."""
_MAX_WIDTH = 0x10000
_MIN_WINDOW_BYTES, _MAX_WINDOW_BYTES = 1 << 12, 1 << 20
_LZMA = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": _MAX_WINDOW_BYTES}
_PLANES = _LZMA | {"lc": 0, "lp": 0, "pb": 0}
_PLAIN = _LZMA | {"lc": 3, "lp": 0, "pb": 2}
_LCG, _PLAIN_SEEDS = 1, 0

Template = tuple[int, ...]
"""The keys of a unit's events, in order. A key is command << 16 | player index << 8 | follower byte."""


class FrameRange(NamedTuple):
    """The frames in a block: the lowest and the highest number, and how many units there are."""

    first: int
    last: int
    units: int


def compress(data: bytes, *, planes: bool = False) -> bytes:
    """Compress bytes to a raw LZMA2 stream.

    For byte planes, you should set `planes`, which selects other parameters.
    """
    # A window larger than the data would cost time for nothing. Decompression always uses the maximum.
    window = min(max(1 << len(data).bit_length(), _MIN_WINDOW_BYTES), _MAX_WINDOW_BYTES)
    filters = [(_PLANES if planes else _PLAIN) | {"dict_size": window}]
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=filters)


def decompress(data: bytes, max_bytes: int, *, planes: bool = False) -> bytes:
    """Decompress bytes that were compressed by `compress`.

    If they are damaged, or if there would be more than `max_bytes`, this raises `FieldError`.
    """
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
    """Collects the events of a block. You have to `add` them in order, and then call `encode`.

    `widths` contains the width of an event in bytes for each command. If a command isn't declared, it is 0.
    """

    def __init__(self, widths: Sequence[int]) -> None:
        self._widths = widths
        self._matrices: dict[int, bytearray] = {}
        self._templates: dict[Template, int] = {}
        self._units: list[int] = []
        self._frames: list[int] = []
        self._open: list[int] = []
        self.source_bytes = 0

    @property
    def units(self) -> int:
        """The number of units so far."""
        return len(self._frames)

    def begins_unit(self, data: bytes, at: int) -> bool:
        """Whether the event at `data[at]` is the first one of a new unit."""
        command = data[at]
        if command == plan.START and self._widths[command] >= plan.FRAMED_BYTES:
            return True
        if not self._frames:
            return True
        if command in plan.FRAMED and self._widths[command] >= plan.FRAMED_BYTES:
            return int.from_bytes(data[at + 1 : at + 5], "big", signed=True) != self._frames[-1]
        return False

    def add(self, data: bytes, at: int) -> None:
        """Append the event at `data[at]`. All of its bytes must be there."""
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
        """The frames of the events so far."""
        return FrameRange(min(self._frames, default=0), max(self._frames, default=0), len(self._frames))

    def encode(self) -> bytes:
        """Encode the payload of the block."""
        self._close()
        keys = list(self._matrices)
        templates = list(self._templates)
        head = MemoryStream()
        head.write_number(plan.PLAN)
        head.write_number(len(keys))
        for key in keys:
            head.write_number(key)
            head.write_number(self._widths[key >> 16])
        indices = {key: index for index, key in enumerate(keys)}
        head.write_number(len(templates))
        for template in templates:
            head.write_number(len(template))
            for key in template:
                head.write_number(indices[key])
        head.write_number(len(self._frames))
        for unit in self._units:
            head.write_number(unit)
        expected = 0
        for frame in self._frames:
            head.write_signed(frame - expected)
            expected = frame + 1
        groups = _groups(keys, self._widths, templates, self._units, self._frames)
        for group in groups.values():
            group.matrix = self._matrices[group.key]
        parts = PartsWriter()
        _put_seeds(groups, templates, self._units, parts)
        for group in _in_order(groups):
            _put_columns(group, parts)
        present, stored = parts.to_bytes()
        head.write_octets(present)
        return compress(head.to_bytes() + stored, planes=True)


def decode_block(payload: bytes, source_bytes: int) -> bytes:
    """Return the events of a block in the form that they had in the file. Together, they must have `source_bytes`.

    Raises `FieldError` if the block is damaged.
    """
    if source_bytes > MAX_SOURCE_BYTES:
        raise FieldError(f"a block of {source_bytes} bytes, the maximum is {MAX_SOURCE_BYTES}", offset=0)
    stream = MemoryStream(decompress(payload, 4 * source_bytes + _EXTRA_BYTES, planes=True))
    if stream.read_number() != plan.PLAN:
        raise FieldError("the block has an unknown plan", offset=0)
    keys, widths = [], [0] * 256
    for _ in range(stream.read_number(source_bytes)):
        key, width = stream.read_number(0xFFFFFF), stream.read_number(_MAX_WIDTH)
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
        raise FieldError("the frames of the block do not have its length", offset=0)
    frames, frame = [], 0
    for _ in range(count):
        frame += stream.read_signed()
        if not -(1 << 31) <= frame < 1 << 31:
            raise FieldError(f"the frame number {frame} is out of range", offset=0)
        frames.append(frame)
        frame += 1
    present = stream.read_octets()
    parts = PartsReader(present, stream.read_raw(stream.left))
    groups = _groups(keys, widths, templates, units, frames)
    if len(groups) != len(keys) or any(not group.count for group in groups.values()):
        raise FieldError("the block declares a kind of event that no frame has", offset=0)
    for group in groups.values():
        _fill_known_bytes(group)
    _take_seeds(groups, templates, units, parts)
    for group in _in_order(groups):
        _take_columns(group, parts)
    parts.finish()
    return _joined(groups, templates, units)


def _pick(keys: list[int], index: int) -> int:
    if index >= len(keys):
        raise FieldError(f"the kind of event {index} is not declared", offset=0)
    return keys[index]


def _check_width(command: int, key: int, width: int) -> None:
    has_player = command in plan.PLAYERS and width >= plan.PLAYER_BYTES
    if not width or (key & 0xFFFF and not has_player):
        raise FieldError(f"the kind of event {key:#08x} cannot have {width} bytes", offset=0)


def _groups(
    keys: Sequence[int],
    widths: Sequence[int],
    templates: Sequence[Template],
    units: Sequence[int],
    frames: Sequence[int],
) -> dict[int, Rows]:
    """Return the rows of each key. They have their units and parents, but no bytes yet."""
    row_units: dict[int, list[int]] = {key: [] for key in keys}
    appends = [[row_units[key].append for key in template] for template in templates]
    for unit, template in enumerate(units):
        for append in appends[template]:
            append(unit)
    groups = {key: Rows(key, widths[key >> 16], row_units[key], frames) for key in keys}
    for key, group in groups.items():
        command = key >> 16
        if command in plan.PLAYERS and group.width >= plan.PLAYER_BYTES:
            group.parents = frame_parents(group)
            if command == plan.PRE:
                group.posts = groups.get(plan.POST << 16 | key & 0xFFFF)
    return groups


def _in_order(groups: dict[int, Rows]) -> list[Rows]:
    """Return the groups in the order in which they are coded.

    Post-Frame Updates come first, because we use them to predict Pre-Frame Updates.
    """
    return sorted(groups.values(), key=lambda group: (group.key >> 16 != plan.POST, group.key))


def _framed(group: Rows) -> bool:
    return group.key >> 16 in plan.FRAMED and group.width >= plan.FRAMED_BYTES


def _put_columns(group: Rows, parts: PartsWriter) -> None:
    command, width = group.key >> 16, group.width
    if not _framed(group):
        for row in range(group.count):
            parts.put(bytes(group.matrix[row * width + 1 : (row + 1) * width]))
        return
    for index, (offset, size, method) in enumerate(plan.columns(command, width)):
        values = column(group.matrix, width, offset, size)
        method.put(group, values, size, parts)
        group.values[offset] = values
        if index == 0 and command in plan.IDENTITY_AT:
            group.parents = same_parents(values)


def _take_columns(group: Rows, parts: PartsReader) -> None:
    command, width = group.key >> 16, group.width
    if not _framed(group):
        for row in range(group.count):
            group.matrix[row * width + 1 : (row + 1) * width] = parts.take(width - 1)
        return
    for index, (offset, size, method) in enumerate(plan.columns(command, width)):
        values = method.take(group, size, parts)
        set_column(group.matrix, width, offset, size, values)
        group.values[offset] = values
        if index == 0 and command in plan.IDENTITY_AT:
            group.parents = same_parents(values)


def _fill_known_bytes(group: Rows) -> None:
    """Fill in those bytes that we know without the columns, which are the command, the frame number and the player."""
    command, width = group.key >> 16, group.width
    group.matrix = matrix = bytearray(width * group.count)
    matrix[0::width] = bytes([command]) * group.count
    if _framed(group):
        set_column(matrix, width, 1, 4, group.frame_words())
        if command in plan.PLAYERS and width >= plan.PLAYER_BYTES:
            matrix[5::width] = bytes([group.key >> 8 & 0xFF]) * group.count
            matrix[6::width] = bytes([group.key & 0xFF]) * group.count


def _seeded(groups: dict[int, Rows], templates: Sequence[Template], units: Sequence[int]) -> list[int]:
    """Return the keys of all events that have a seed, in the order of the file."""
    seeded = {key for key, group in groups.items() if plan.has_seed(key >> 16, group.width)}
    by_template = [[key for key in template if key in seeded] for template in templates]
    return list(chain.from_iterable(by_template[unit] for unit in units))


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
