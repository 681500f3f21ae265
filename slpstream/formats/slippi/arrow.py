"""Columns as Arrow tables (extra `analysis`): the frames, the items, and the settings and ends of games.

Each table always has the same columns, which are all fields of the newest version. We make them from the field tables
of the decoder. This means that you can concatenate the tables of any replays, no matter which versions they have. If a
replay doesn't have a field, it is null, whereas a NaN in the replay stays NaN. The metadata of an Arrow field contains
its documentation, its unit and its first version.

We hand over whole columns, so there is no loop over frames. If the compiled kernel was built, it makes the same table
in one pass over the events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_type_hints

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi import game_start
from slpstream.formats.slippi.commands import FRAME_BOOKEND, FRAME_START, GAME_END, ITEM_UPDATE, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.frame_index import ABSENT, Offsets, Slot
from slpstream.formats.slippi.game_start import GameInfo, MatchInfo, PlayerSettings, Settings
from slpstream.formats.slippi.names import character_name, stage_name
from slpstream.model.events import GameEnd
from slpstream.model.fields import BOOL, F32, I8, I16, I32, U8, U16, U32, Field, Layout, Table

if TYPE_CHECKING:
    from slpstream.formats.slippi.columns import Array, Frames

_KIND_TYPES = {
    U8: pa.uint8(),
    I8: pa.int8(),
    U16: pa.uint16(),
    I16: pa.int16(),
    U32: pa.uint32(),
    I32: pa.int32(),
    F32: pa.float32(),
    BOOL: pa.bool_(),
}
_KINDS = {type: kind for kind, type in _KIND_TYPES.items()}
_PLAIN_TYPES = {bool: pa.bool_(), int: pa.uint8(), float: pa.float32(), str: pa.string()}
"""The types of settings that are computed from a field. Integers fit into 8 bits, except those in `_OTHER_TYPES`."""

_KEYS = ("frame", "player_index", "is_follower")
"""Fields that all events of a frame repeat."""

KEY = pa.dictionary(pa.int32(), pa.string())
"""The type of the columns `file` and `game_id`."""


_Group: TypeAlias = "tuple[int, Offsets | None, tuple[Offsets | None, ...], tuple[Array, ...]]"
"""Rows of a table: how many, the index of each in the offsets, the offsets of the events, and the keys.

If the offsets are in the order of the rows, there is no index, and if no row has an event, it has no offsets. A key has
a value for each row, or one for all of them."""


class _Source(NamedTuple):
    """Where we get the values of a column from."""

    table: Table
    field: Field
    column: Any
    """The Arrow field: name, type and metadata."""


@dataclass(frozen=True, eq=False)
class _Contents:
    """What the rows of a table consist of."""

    tables: tuple[Table, ...]
    """The events of a row."""
    sources: tuple[_Source, ...]
    schema: pa.Schema
    """The columns: keys, and after them those of the sources."""


def _column(name: str, type: Any, doc: str, unit: str = "", since: str = "") -> Any:
    notes = {"doc": doc, "unit": unit, "since": since}
    return pa.field(name, type, metadata={key: text for key, text in notes.items() if text})


def _field_column(field: Field, name: str) -> Any:
    return _column(name, _KIND_TYPES[field.kind], field.doc, field.unit, field.since)


def _sources(table: Table, prefix: str = "", renamed: Mapping[str, str] | None = None) -> Iterator[_Source]:
    for field in table.fields:
        if field.name not in _KEYS:
            name = (renamed or {}).get(field.name, prefix + field.name.replace(".", "_"))
            yield _Source(table, field, _field_column(field, name))


_FRAME_SOURCES = (
    *_sources(FRAME_START, renamed={"seed": "start_seed"}),
    *_sources(FRAME_BOOKEND),
    *_sources(PRE_FRAME, "pre_"),
    *_sources(POST_FRAME, "post_"),
)
_ITEM_SOURCES = tuple(_sources(ITEM_UPDATE))
_FRAME_TABLES = (FRAME_START, FRAME_BOOKEND, PRE_FRAME, POST_FRAME)
_SLOTS_OF_FRAME = (Slot(FRAME_START.command), Slot(FRAME_BOOKEND.command))
_KEPT_PLANS = 64

_FRAME_KEYS = (
    _field_column(PRE_FRAME.fields[0], "frame"),
    _column("revision", pa.int32(), "How often the frame number was sent before; 0 the first time."),
)
_CHARACTER_KEYS = (*_FRAME_KEYS, *(_field_column(field, field.name) for field in PRE_FRAME.fields[1:3]))

ITEMS_SCHEMA = pa.schema([*_FRAME_KEYS, *(source.column for source in _ITEM_SOURCES)])
"""The columns of `items_table`."""
_ITEMS = _Contents((ITEM_UPDATE,), _ITEM_SOURCES, ITEMS_SCHEMA)


def frames_table(frames: Frames, columns: Collection[str] | None = None) -> pa.Table:
    """Return a table with one row for each frame and character, and the columns of `FRAMES_SCHEMA`.

    If you only need some of the columns, pass their names as `columns`. You get them in the same order, and the others
    aren't even decoded.

    The columns are `frame` (int32), `revision` (int32), `player_index` (uint8), `is_follower` (bool); `start_seed`,
    `scene_frame_counter` and `latest_finalized_frame` of the whole frame; then the fields of the Pre-Frame Update as
    `pre_NAME` and those of the Post-Frame Update as `post_NAME`. If a name has a dot because it belongs to a nested
    object, you write `_` instead, for example `post_self_induced_speeds_air_x`.

    Rows are grouped by character, which are ordered by player index, and each player is followed by its follower. For
    each character, they are in the order of `frames`, which means ascending numbers, or for `frames.sendings` the order
    of the file. If a character has neither event in a frame, there's no row. If only one of the events is missing, or
    the replay doesn't have a field, then the values are null.
    """
    columns = None if columns is None else frozenset(columns)
    table = _filled(_contents(columns), frames, tuple(_groups(frames)))
    return table if columns is None else table.select([name for name in table.column_names if name in columns])


@lru_cache(maxsize=_KEPT_PLANS)
def _contents(columns: frozenset[str] | None) -> _Contents:
    """Return the keys, and those columns of `frames_table` that have these names, or all of them."""
    sources = tuple(source for source in _FRAME_SOURCES if columns is None or source.column.name in columns)
    return _Contents(_FRAME_TABLES, sources, pa.schema([*_CHARACTER_KEYS, *(source.column for source in sources)]))


FRAMES_SCHEMA = _contents(None).schema
"""The columns of `frames_table`."""


def items_table(frames: Frames) -> pa.Table:
    """Return a table with one row for each item in each frame, in the order of `frames` and of the events.

    The columns are `frame`, `revision`, and then the fields of the Item Update under their own names. If you need names
    for the types of items, you find them in `slpstream.formats.slippi.names`.
    """
    items = frames.items
    keys = tuple(np.repeat(column, items.counts) for column in (frames.number, frames.revision))
    return _filled(_ITEMS, frames, ((len(items), None, (items.offsets,), keys),))


def _groups(frames: Frames) -> Iterator[_Group]:
    """Yield the rows of each character."""
    for player, is_follower in frames.index.characters:
        slots = [Slot(table.command, player, is_follower) for table in (PRE_FRAME, POST_FRAME)]
        offsets = tuple(map(frames.index.slots.get, (*_SLOTS_OF_FRAME, *slots)))
        which, number, revision = frames.which, frames.number, frames.revision
        updates = [places for places in offsets[2:] if places is not None]
        if all(places[places.argmin()] == ABSENT for places in updates):
            # Rows with neither event are left out.
            latest = reduce(np.maximum, updates)
            present = (latest if which is None else latest[which]) != ABSENT
            which = np.flatnonzero(present) if which is None else which[present]
            number, revision = number[present], revision[present]
        yield len(number), which, offsets, (number, revision, np.array([player], np.uint8), np.array([is_follower]))


def _filled(contents: _Contents, frames: Frames, groups: tuple[_Group, ...]) -> pa.Table:
    """Return the table with these rows."""
    if kernel is None:
        tables = [_group_table(contents, frames, group) for group in groups]
        return pa.concat_tables(tables or [contents.schema.empty_table()])
    plan = _plan(contents, *map(frames.layout_of, contents.tables))
    address, owner = plan.fill(frames.data, groups)
    # Not `__arrow_c_array__`, because making a schema of 60 columns from a capsule takes longer than a small table.
    batch = pa.RecordBatch._import_from_c(address, contents.schema)
    del owner  # It frees the memory that was not imported.
    return pa.Table.from_batches([batch], schema=contents.schema)


@lru_cache(maxsize=_KEPT_PLANS)
def _plan(contents: _Contents, *layouts: Layout | None) -> Any:
    """Return the kernel's `Table`, given the layout of each event that the replay declares."""
    keys = contents.schema.types[: len(contents.schema) - len(contents.sources)]
    columns = [(len(layouts), _KINDS[type].code.encode(), 0) for type in keys]
    for table, field, _ in contents.sources:
        event = contents.tables.index(table)
        layout = layouts[event]
        has_field = layout is not None and field.name in layout.kinds
        columns.append((event if has_field else -1, field.kind.code.encode(), field.offset))
    return kernel.Table(tuple(columns), len(layouts))  # type: ignore[union-attr]


def _group_table(contents: _Contents, frames: Frames, group: _Group) -> pa.Table:
    """Return the rows of a group. The kernel does the same for all groups at once."""
    count, which, offsets, keys = group
    arrays = [
        _array(np.broadcast_to(values, count), type) for values, type in zip(keys, contents.schema.types, strict=False)
    ]
    for table, places in zip(contents.tables, offsets, strict=True):
        at = np.full(count, ABSENT) if places is None else places if which is None else places[which]
        columns = frames.events_at(table, at)
        valid = None if columns.present.all() else _bits(columns.present)
        for source in contents.sources:
            if source.table is table:
                name, type = source.field.name, source.column.type
                arrays.append(_array(columns[name], type, valid) if name in columns.fields else pa.nulls(count, type))
    return pa.Table.from_arrays(arrays, schema=contents.schema)


def _array(values: Array, type: Any, valid: Any = None) -> Any:
    """Return an Arrow array over a column. `valid` is the validity bitmap."""
    # Not `pyarrow.array`, because that imports pandas, which takes a second.
    data = _bits(values) if type == pa.bool_() else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(type, len(values), [valid, data])


def _bits(flags: Array) -> Any:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


_FIELDS = {field.name: field for field in (*game_start.FIELDS, *game_start.PLAYER_FIELDS)}
_OTHER_TYPES = {"enabled_items": pa.uint64()}
_DOCS = {
    "slp_version": "Version of the replay format, major.minor.build.",
    "timer_type": "0 none, 2 counts down, 3 counts up.",
    "in_game_mode": "Bits 0xE0 of the first game bitfield; 32 is stock.",
    "friendly_fire_enabled": "Whether team attack is on.",
    "enabled_items": "Bit mask of the items that can spawn, 40 bits.",
    "scene": "Minor scene.",
    "game_mode": "Major scene: 2 versus, 8 online.",
    "port": "Player index + 1.",
    "player_index": "0 to 3.",
    "controller_fix": "None, UCF, Dween or Mixed.",
    "match_id": "Same as session_id.",
}


def _settings_columns(cls: type[Any]) -> Iterator[Any]:
    """Return a column for each field of a settings class that has a plain value, in the same order."""
    for name, hint in get_type_hints(cls).items():
        kind = next((plain for plain in _PLAIN_TYPES if hint is plain or plain in getattr(hint, "__args__", ())), None)
        field = _FIELDS.get(name)
        if field is not None and field.kind in _KIND_TYPES:
            yield _field_column(field, name)
        elif kind is not None:
            doc = _DOCS.get(name, "" if field is None else field.doc)
            yield _column(name, _OTHER_TYPES.get(name, _PLAIN_TYPES[kind]), doc)


_GAME_COLUMNS = tuple(_settings_columns(Settings))
_INFO_COLUMNS = tuple(_settings_columns(GameInfo))
_MATCH_COLUMNS = tuple(column for column in _settings_columns(MatchInfo) if column.name != "match_id")
_PLAYER_COLUMNS = tuple(_settings_columns(PlayerSettings))

GAME_STARTS_SCHEMA = pa.schema(
    [
        *_GAME_COLUMNS,
        _column("stage_name", pa.string(), "Name of the stage; null for an unknown id."),
        *_INFO_COLUMNS,
        *_MATCH_COLUMNS,
        *_PLAYER_COLUMNS,
        _column("character_name", pa.string(), "Name of the character; null for an unknown id."),
    ]
)
"""The columns of `game_start_table`."""

GAME_ENDS_SCHEMA = pa.schema(
    [
        _column("reason", pa.string(), "game_end, raw_length, incomplete (the file breaks off) or error."),
        *(_field_column(field, field.name) for field in GAME_END.fields),
        _column("winners", pa.list_(pa.uint8()), "Player indices; empty without a known winner."),
        _column("last_frame", pa.int32(), "The highest frame number.", "frame number"),
        _column("duration_seconds", pa.float64(), "Length of the playable part.", "seconds"),
        _column("started_at", pa.string(), "Start of the game, ISO 8601; without a time zone on consoles."),
        _column("played_on", pa.string(), "dolphin, nintendont, network and others."),
        _column("console_nick", pa.string(), "Name of the console."),
    ]
)
"""The columns of `game_end_table`."""


def game_start_table(settings: Settings) -> pa.Table:
    """Return a table with one row for each player of a game, and the columns of `GAME_STARTS_SCHEMA`.

    The first columns are about the game, so they are the same in each row. They are the fields of `Settings`,
    `GameInfo` and `MatchInfo` under their own names, and `stage_name`. After that come the columns about the player,
    which are the fields of `PlayerSettings`, and `character_name`. If the replay doesn't have a field, it is null, but
    if the name or id of a player is missing, it is empty.
    """
    game = {
        **_plain(settings, _GAME_COLUMNS),
        "stage_name": stage_name(settings.stage_id) or None,
        **_plain(settings.game_info_block, _INFO_COLUMNS),
        **_plain(settings.match_info, _MATCH_COLUMNS),
    }
    rows = [
        {**game, **_plain(player, _PLAYER_COLUMNS), "character_name": character_name(player.character_id) or None}
        for player in settings.players
    ]
    return pa.Table.from_pylist(rows, schema=GAME_STARTS_SCHEMA)


def game_end_table(end: GameEnd, metadata: Mapping[str, Any] | None) -> pa.Table:
    """Return a table that has just one row, and the columns of `GAME_ENDS_SCHEMA`.

    These are `reason`; the fields of the Game End event, with `placement_1` to `placement_4` for ports 1 to 4 (0 first,
    -1 not in the game), which are null if the replay doesn't have that event or field; `winners`, `last_frame` and
    `duration_seconds`; and finally `started_at`, `played_on` and `console_nick`, which come from the metadata, and are
    null if they aren't in there.
    """
    payload = end.game_end
    row: dict[str, Any] = {
        "reason": end.reason,
        "winners": [winner.player_index for winner in end.winners],
        "last_frame": end.last_frame,
        "duration_seconds": end.duration_seconds,
    }
    if payload is not None:
        row["game_end_method"] = payload.game_end_method
        row["lras_initiator_index"] = _null(payload.lras_initiator_index)
        for placement in payload.placements:
            row[f"placement_{placement.player_index + 1}"] = _null(placement.position)
    for column, key in (("started_at", "startAt"), ("played_on", "playedOn"), ("console_nick", "consoleNick")):
        text = (metadata or {}).get(key)
        row[column] = text if isinstance(text, str) else None
    return pa.Table.from_pylist([row], schema=GAME_ENDS_SCHEMA)


def _plain(values: msgspec.Struct, columns: Sequence[Any]) -> dict[str, Any]:
    return {column.name: _null(getattr(values, column.name)) for column in columns}


def _null(value: Any) -> Any:
    return None if value is UNSET else value


def of_game(table: pa.Table, *, file: str, game_id: str) -> pa.Table:
    """Add the columns `file` and `game_id` in front of the given table, so that you can concatenate it with the tables
    of other games.
    """
    indices = _array(np.zeros(len(table), np.int32), pa.int32())
    for position, (name, text) in enumerate((("file", file), ("game_id", game_id))):
        values = pa.array([text], pa.string())
        table = table.add_column(position, pa.field(name, KEY), pa.DictionaryArray.from_arrays(indices, values))
    return table
