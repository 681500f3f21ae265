"""The results of target tests and home-run contests.

Break the Targets, major scene 15: when each of the targets broke. We find the targets in the Item Updates (type 209) of
the first frame. In the first frame where a target's `spawn_id` is missing, it has broken.

Home-Run Contest, major scene 32: how far Sandbag flew. We take `position_x` of internal character 32 from the
Post-Frame Update of the last frame. The unit is feet, or metres if the language of the replay is Japanese (0). The
distance has one decimal, and is never negative. The source is the rules of slippi-js 9.1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any, Literal

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.schema import StatsStruct

MAJOR_SCENE_TARGET_TEST = 15
TARGET_ITEM = 209
MAJOR_SCENE_HOME_RUN = 32
SANDBAG = 32
_JAPANESE = 0
_START = 70
_FEET_SCALE, _METRES_SCALE = 0.952462, 1.04167
_FEET_UNIT = 30.4788
_MAX_POSITION = 1e30
"""Beyond this the 32-bit arithmetic would overflow. No position in the game comes near it."""


class TargetBreak(StatsStruct):
    """slippi-js `TargetBreakType`: a target, and the frame in which it broke if it did."""

    spawn_id: int
    frame_destroyed: int | UnsetType
    position_x: float
    position_y: float


class TargetTest(StatsStruct, tag_field="type", tag="target-test"):
    """slippi-js `StadiumStatsType` of a target test."""

    target_breaks: list[TargetBreak]


class Targets(Computer):
    """The targets of a game."""

    def __init__(self) -> None:
        self._targets: dict[int, TargetBreak] = {}

    def update(self, frame: int, items: Iterable[Any], first_frame: int) -> None:
        """Take the items of one frame. If it's the first frame, these are the targets of the game.

        We can't tell targets without a spawn id apart, so these are left out.
        """
        targets = {item.spawn_id: item for item in items if item.type_id == TARGET_ITEM and item.spawn_id is not UNSET}
        if frame == first_frame:
            for spawn_id, item in targets.items():
                self._targets[spawn_id] = TargetBreak(spawn_id, UNSET, item.position_x, item.position_y)
        for spawn_id in self._targets.keys() - targets.keys():
            if self._targets[spawn_id].frame_destroyed is UNSET:
                self._targets[spawn_id] = replace(self._targets[spawn_id], frame_destroyed=frame)

    def results(self) -> TargetTest:
        """All targets so far."""
        return TargetTest(list(self._targets.values()))


class HomeRun(StatsStruct, tag_field="type", tag="home-run-contest"):
    """slippi-js `StadiumStatsType` of a home-run contest."""

    distance: float
    units: Literal["feet", "meters"]


def home_run(x: float, language: int | UnsetType) -> HomeRun:
    """Return the distance, given `position_x` of Sandbag."""
    units: Literal["feet", "meters"] = "meters" if language == _JAPANESE else "feet"
    if not abs(x) < _MAX_POSITION:
        return HomeRun(0, units)
    if units == "meters":
        return HomeRun(max(0.0, 10 * math.floor(x - _START * _METRES_SCALE) / 100), units)
    (scaled,) = struct.unpack("f", struct.pack("f", 10 * math.floor(x - _START * _FEET_SCALE)))  # with 32 bits
    return HomeRun(max(0.0, math.floor(scaled / _FEET_UNIT * 10) / 10), units)
