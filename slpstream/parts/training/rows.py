"""Turn a whole game into rows with the layout `training`, in the form of numpy columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slpstream.formats.slippi.columns import Frames
from slpstream.formats.slippi.commands import POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.frame_index import Slot
from slpstream.formats.slippi.game_start import Settings
from slpstream.model.errors import UnsupportedFile
from slpstream.parts.training.columns import COLUMNS, MAX_ITEMS, PLAYERS, Column
from slpstream.parts.training.item_slots import ItemSlots
from slpstream.parts.training.side_by_side import side_by_side
from slpstream.parts.training.stage_objects import (
    FOD_LEFT_AT_FIRST,
    FOD_RIGHT_AT_FIRST,
    FOUNTAIN_OF_DREAMS,
    YOSHIS_STORY,
    randall,
)

if TYPE_CHECKING:
    from slpstream.api import Sending

Array = npt.NDArray[Any]
Rows = dict[str, Array]
"""Columns by name, in the order of `COLUMNS`, all of the same length."""


_SLOTS: dict[str, Callable[[int], Slot]] = {
    "pre": lambda index: Slot(PRE_FRAME.command, index),
    "post": lambda index: Slot(POST_FRAME.command, index),
    "follower": lambda index: Slot(POST_FRAME.command, index, follower=True),
}
"""The events of a player, by the source of a column."""
_SOURCES = tuple(_SLOTS)


def _slot_of(source: str, player: int) -> int:
    """Return the index of a slot among the slots of both players."""
    return player * len(_SOURCES) + _SOURCES.index(source)


_FIELDS = tuple(column.name for column in COLUMNS if column.source in _SLOTS)
_WANTED = tuple((_slot_of(c.source, c.player), c.field) for c in COLUMNS if c.source in _SLOTS)


class NotForTraining(UnsupportedFile):
    """Raised if it isn't possible to turn a game into rows of two players. The message explains why."""


def players_of(settings: Settings) -> tuple[int, int]:
    """Return the player indices of `p0` and `p1`.

    If the game doesn't have two players, this raises `NotForTraining`.
    """
    indices = sorted(player.player_index for player in settings.players)
    if len(indices) != len(PLAYERS):
        raise NotForTraining(f"{len(indices)} players instead of two")
    return indices[0], indices[1]


def chosen(frames: Frames, sending: Sending) -> Frames:
    """Return that sending of each frame which counts. There is one row for each frame number, in ascending order."""
    if sending == "last":
        return frames
    _, first = np.unique(frames.index.numbers, return_index=True)
    return frames.of_sendings(first)


def game_rows(frames: Frames, settings: Settings, *, sending: Sending = "last") -> Rows:
    """Return the rows of a game, one for each frame number. Raises `NotForTraining` if the game doesn't have two
    players.

    If there are several columns of the same type without any values, for example because items are absent, they might
    share one array. You can't write to it.
    """
    indices = players_of(settings)
    frames = chosen(frames, sending)
    count = len(frames)
    rows: Rows = {}
    slots = [_SLOTS[source](index) for index in indices for source in _SOURCES]
    fields = dict(zip(_FIELDS, side_by_side(frames, slots, _WANTED), strict=True))
    present = [frames.event(slot).present for slot in slots]
    whole = _frame_values(frames, settings)
    absent = _Absent(count)
    for column in COLUMNS:
        if column.name in fields:
            values = fields[column.name]
            if values is None:
                values = absent.of(column)
            elif column.source == "follower" and column.dtype == "f4":
                values = _zero_where_absent(values, present[_slot_of("follower", column.player)])
            rows[column.name] = values
        elif column.name in whole:
            rows[column.name] = whole[column.name]
        elif column.source != "item" and not column.name.startswith("item"):
            source = "follower" if "follower" in column.name else "post"
            if column.name.endswith("_port"):
                rows[column.name] = np.full(count, indices[column.player] + 1, np.uint8)
            else:
                rows[column.name] = present[_slot_of(source, column.player)].view(np.uint8)
        else:
            rows[column.name] = absent.zeros(column.dtype)
    _put_items(rows, frames)
    return rows


def _zero_where_absent(values: Array, present: Array) -> Array:
    return values if present.all() else np.where(present, values, np.float32(0))


class _Absent:
    """Columns that don't contain any values. There is one for each type."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._made: dict[tuple[str, bool], Array] = {}

    def zeros(self, dtype: str) -> Array:
        """A column of zeros."""
        return self._filled(dtype, nan=False)

    def of(self, column: Column) -> Array:
        """The column of an absent field."""
        return self._filled(column.dtype, nan=column.dtype == "f4" and column.source != "follower")

    def _filled(self, dtype: str, *, nan: bool) -> Array:
        found = self._made.get((dtype, nan))
        if found is None:
            found = self._made[dtype, nan] = np.full(self._count, np.nan if nan else 0, dtype)
            found.setflags(write=False)
        return found


def _frame_values(frames: Frames, settings: Settings) -> Rows:
    """Return those columns that belong to the frame as a whole."""
    count, stage = len(frames), settings.stage_id
    zeros = np.zeros(count, np.float32)
    values: Rows = {
        "frame": np.ascontiguousarray(frames.number, np.int32),
        "stage_id": np.full(count, stage, np.uint16),
        "seed": frames.start["seed"].astype(np.uint32) if "seed" in frames.start.fields else np.zeros(count, np.uint32),
        "randall_x": zeros,
        "randall_y": zeros,
        "fod_left": zeros,
        "fod_right": zeros,
    }
    if stage == YOSHIS_STORY:
        values["randall_x"], values["randall_y"] = randall(frames.number)
    if stage == FOUNTAIN_OF_DREAMS:
        values["fod_left"] = _fod_heights(frames, 1, FOD_LEFT_AT_FIRST)
        values["fod_right"] = _fod_heights(frames, 0, FOD_RIGHT_AT_FIRST)
    return values


def _fod_heights(frames: Frames, platform: int, at_first: float) -> Array:
    """Return how high a platform is in each frame, according to the newest event about it."""
    heights = np.full(len(frames), at_first, np.float32)
    events = frames.stage_events.get("fod_platform")
    if events is None or not len(events) or "height" not in events.fields:
        return heights
    mine = events["platform"] == platform
    rows = np.repeat(np.arange(len(frames)), events.counts)[mine]
    latest = np.full(len(frames), -1)
    latest[rows] = np.arange(len(rows))  # of several events in one frame, the last assignment counts
    latest = np.maximum.accumulate(latest)
    known = latest >= 0
    heights[known] = events["height"][mine][latest[known]]
    return heights


def _put_items(rows: Rows, frames: Frames) -> None:
    """Write the items into their slots. Items without a spawn id don't get one, because we can't tell them apart."""
    items = frames.items
    if not len(items) or "spawn_id" not in items.fields:
        return
    of_frame = np.repeat(np.arange(len(frames)), items.counts)
    slots = item_slots(frames)
    fields = [(column, column.field) for column in COLUMNS if column.source == "item"]
    for slot in range(MAX_ITEMS):
        mine = np.flatnonzero(slots == slot)
        if not len(mine):
            continue
        at = of_frame[mine]
        rows[f"item{slot}_exists"] = _placed(len(frames), "u1", at, 1)
        for column, field in fields:
            if column.player == slot and field in items.fields:
                rows[column.name] = _placed(len(frames), column.dtype, at, items[field][mine])


def _placed(count: int, dtype: str, at: Array, values: Any) -> Array:
    """Return a column that has these values in these rows, and zeros everywhere else."""
    column = np.zeros(count, dtype)
    column[at] = values
    return column


def item_slots(frames: Frames) -> Array:
    """Return the slot of each item in each frame, in the order of the events. If an item doesn't have a slot, this is
    -1.

    As long as the items are the same as in the frame before, the slots don't change. So we only have to look at those
    frames where they differ.
    """
    items = frames.items
    ids, firsts, counts = np.ascontiguousarray(items["spawn_id"]), items.firsts, items.counts
    changed = np.ones(len(counts), np.bool_)
    changed[1:] = counts[1:] != counts[:-1]
    of_frame = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(ids))
    compared = np.flatnonzero(~changed[of_frame])
    before = ids[compared - counts[of_frame[compared]]]
    changed[of_frame[compared[ids[compared] != before]]] = True
    known = np.empty(len(ids), np.int64)
    slots = ItemSlots()
    for frame in np.flatnonzero(changed).tolist():
        first, end = int(firsts[frame]), int(firsts[frame + 1])
        known[first:end] = slots.take(ids[first:end].tolist())
    latest = np.maximum.accumulate(np.where(changed, np.arange(len(counts)), 0))
    result: Array = known[firsts[latest[of_frame]] + places - firsts[of_frame]]
    return result
