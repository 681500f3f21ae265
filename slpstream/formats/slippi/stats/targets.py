"""Break the Targets: when each of the targets broke.

This only exists in major scene 15. We find the targets in the Item Updates (type 209) of the first frame. In the first
frame where a target's `spawn_id` is missing, it has broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from slpstream.formats.slippi.stats.schema import StatsStruct

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
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = type(self)()
        twin._targets = dict(self._targets)
        twin._unbroken = set(self._unbroken)
        return twin

    def update(self, frame: int, items: Iterable[Any], first_frame: int) -> None:
        """Take the items of one frame. If it's the first frame, these are the targets of the game.

        We can't tell targets without a spawn id apart, so these are left out.
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
