"""Break the Targets: when each target was broken.

Only in major scene 15. From the item updates (type 209): the targets are those of frame -123; one whose `spawn_id` is
not among the items of a frame, and was in the frame before, was broken in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from slpstream.formats.slippi.commands import FIRST_FRAME
from slpstream.stats.schema import Shape

MAJOR_SCENE_TARGET_TEST = 0x0F
TARGET_ITEM = 209


class TargetBreak(Shape):
    """slippi-js `TargetBreakType`: a target and the frame in which it broke."""

    spawn_id: int
    frame_destroyed: int | UnsetType
    position_x: float
    position_y: float


class TargetTest(Shape, tag_field="type", tag="target-test"):
    """slippi-js `StadiumStatsType` of a target test."""

    target_breaks: list[TargetBreak]


class Targets:
    """The targets of a game."""

    def __init__(self) -> None:
        self._targets: dict[int, TargetBreak] = {}
        self._whole: set[int] = set()

    def copy(self) -> Self:
        """An independent computer at the same place."""
        twin = type(self)()
        twin._targets = dict(self._targets)
        twin._whole = set(self._whole)
        return twin

    def update(self, frame: int, items: Iterable[Any]) -> None:
        """The items of one frame."""
        targets = {item.spawn_id: item for item in items if item.type_id == TARGET_ITEM}
        if frame == FIRST_FRAME:
            for spawn_id, item in targets.items():
                self._targets[spawn_id] = TargetBreak(spawn_id, UNSET, item.position_x, item.position_y)
            self._whole = set(targets)
            return
        if len(targets) < len(self._whole) or not self._whole <= targets.keys():
            for spawn_id in self._whole - targets.keys():
                self._targets[spawn_id] = replace(self._targets[spawn_id], frame_destroyed=frame)
            self._whole &= targets.keys()

    def show(self) -> TargetTest:
        """The value so far."""
        return TargetTest(list(self._targets.values()))
