"""The rows of a game that is running, one frame at a time.

They are the same as those that `rows` makes from the finished file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET

from slpstream.formats.slippi.frame_entry import FrameEntry
from slpstream.formats.slippi.game_start import Settings
from slpstream.model.events import Event, Frame, GameStart, final_frames
from slpstream.parts.training.columns import COLUMNS
from slpstream.parts.training.item_slots import ItemSlots
from slpstream.parts.training.rows import players_of
from slpstream.parts.training.stage_objects import (
    FOD_LEFT_AT_FIRST,
    FOD_RIGHT_AT_FIRST,
    FOUNTAIN_OF_DREAMS,
    YOSHIS_STORY,
    randall,
)

if TYPE_CHECKING:
    from slpstream.api import Sending

ROW_DTYPE = np.dtype([(column.name, column.dtype) for column in COLUMNS])
"""A row as one numpy value: `row["p0_post_percent"]`."""

_ABSENT_FLOAT = {"pre": np.nan, "post": np.nan, "follower": 0.0, "item": 0.0}


class LiveRows:
    """Turns the events of one game into rows."""

    def __init__(self, *, sending: Sending = "last") -> None:
        self._sending = sending
        self._settings: Settings | None = None
        self._players = (0, 0)
        self._slots = ItemSlots()
        self._platforms = {1: FOD_LEFT_AT_FIRST, 0: FOD_RIGHT_AT_FIRST}

    @property
    def began(self) -> bool:
        """Whether we have already seen the Game Start."""
        return self._settings is not None

    def take(self, events: Iterable[Event]) -> Iterator[np.void]:
        """Take the next events of the reader, and yield the rows of the frames that are completed by them.

        Rows are in the order of their frame numbers. If you use the last sending, a frame is complete when it is final,
        and if you use the first one, as soon as it was sent. If the game doesn't have two players, this raises
        `NotForTraining`.
        """
        events = list(events)
        for event in events:
            if isinstance(event, GameStart):
                self._settings = event.settings
                self._players = players_of(event.settings)
        frames: Iterable[Any] = final_frames(events) if self._sending == "last" else self._new(events)
        for frame in frames:
            yield self._row(frame.entry)

    def _new(self, events: Iterable[Event]) -> Iterator[Frame]:
        """Yield those frames whose numbers have not come before."""
        for event in events:
            if type(event) is Frame and event.revision == 0:
                yield event

    def _row(self, entry: FrameEntry) -> np.void:
        row = np.zeros((), ROW_DTYPE)
        row["frame"] = entry.frame
        self._put_stage(row, entry)
        if entry.start is not UNSET and entry.start.seed is not UNSET:
            row["seed"] = entry.start.seed
        for player, index in enumerate(self._players):
            found = entry.players.get(index)
            followers = {} if entry.followers is UNSET else entry.followers
            follower = followers.get(index)
            events = {
                "pre": UNSET if found is None else found.pre,
                "post": UNSET if found is None else found.post,
                "follower": UNSET if follower is None else follower.post,
            }
            row[f"p{player}_port"] = index + 1
            row[f"p{player}_exists"] = events["post"] is not UNSET
            row[f"p{player}_follower_exists"] = events["follower"] is not UNSET
            for name, dtype, source, value_of in _OF_PLAYER[player]:
                value = _value(events[source], value_of)
                if value is not UNSET:
                    row[name] = value
                elif dtype == "f4":
                    row[name] = _ABSENT_FLOAT[source]
        if entry.items is not UNSET and entry.items[0].spawn_id is not UNSET:
            self._put_items(row, entry.items)
        else:
            self._slots.take(())
        complete: np.void = row[()]  # type: ignore[assignment]  # for numpy this is an array
        return complete

    def _put_stage(self, row: Any, entry: FrameEntry) -> None:
        settings = self._settings
        if settings is None:
            return
        row["stage_id"] = settings.stage_id
        if settings.stage_id == YOSHIS_STORY:
            x, y = randall(np.array([entry.frame]))
            row["randall_x"], row["randall_y"] = x[0], y[0]
        if settings.stage_id == FOUNTAIN_OF_DREAMS:
            for event in () if entry.stage_events is UNSET else entry.stage_events:
                if event.kind == "fod_platform" and event.height is not UNSET:
                    self._platforms[event.platform] = event.height
            row["fod_left"], row["fod_right"] = self._platforms[1], self._platforms[0]

    def _put_items(self, row: Any, items: Any) -> None:
        for item, slot in zip(items, self._slots.take([item.spawn_id for item in items]), strict=True):
            if slot < 0:
                continue
            row[f"item{slot}_exists"] = 1
            for name, value_of in _OF_ITEM[slot]:
                value = _value(item, value_of)
                if value is not UNSET:
                    row[name] = value


def _value(event: Any, value_of: Any) -> Any:
    """Return the value of a field, or `UNSET` if the event or the field isn't there."""
    if event is UNSET:
        return UNSET
    try:
        return value_of(event)
    except AttributeError:  # a nested object that is absent
        return UNSET


_OF_PLAYER = tuple(
    [
        (column.name, column.dtype, column.source, attrgetter(column.field))
        for column in COLUMNS
        if column.source in ("pre", "post", "follower") and column.player == player
    ]
    for player in (0, 1)
)
_OF_ITEM = {
    slot: [
        (column.name, attrgetter(column.field))
        for column in COLUMNS
        if column.source == "item" and column.player == slot
    ]
    for slot in {column.player for column in COLUMNS if column.source == "item"}
}
