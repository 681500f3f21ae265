"""Break the Targets: the frame in which each target broke.

Only in major scene 15. From the Item Updates (type 209): the targets are those of the first frame. A target breaks in
the first frame without its `spawn_id`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from slpstream.stats.schema import StatsStruct

MAJOR_SCENE_TARGET_TEST = 0x0F
TARGET_ITEM = 209


class TargetBreak(StatsStruct):
    """slippi-js `TargetBreakType`: a target, and the frame in which it broke if it did."""

    spawn_id: int
    frame_destroyed: int | UnsetType
    position_x: float
    position_y: float


class TargetTest(StatsStruct, tag_field="type", tag="target-test"):
    """slippi-js `StadiumStatsType` of a target test."""

    target_breaks: list[TargetBreak]


class Targets:
    """The targets of a game."""

    def __init__(self) -> None:
        self._targets: dict[int, TargetBreak] = {}
        self._unbroken: set[int] = set()

    def copy(self) -> Self:
        """An independent computer in the same state."""
        twin = type(self)()
        twin._targets = dict(self._targets)
        twin._unbroken = set(self._unbroken)
        return twin

    def update(self, frame: int, items: Iterable[Any], first_frame: int) -> None:
        """Take the items of one frame; the game has the targets of its first frame.

        Targets without a spawn id cannot be distinguished and are left out.
        """
        targets = {item.spawn_id: item for item in items if item.type_id == TARGET_ITEM and item.spawn_id is not UNSET}
        if frame == first_frame:
            for spawn_id, item in targets.items():
                self._targets[spawn_id] = TargetBreak(spawn_id, UNSET, item.position_x, item.position_y)
            self._unbroken = set(targets)
            return
        if len(targets) < len(self._unbroken) or not self._unbroken <= targets.keys():
            for spawn_id in self._unbroken - targets.keys():
                self._targets[spawn_id] = replace(self._targets[spawn_id], frame_destroyed=frame)
            self._unbroken &= targets.keys()

    def results(self) -> TargetTest:
        """All targets so far."""
        return TargetTest(list(self._targets.values()))
