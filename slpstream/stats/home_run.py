"""Home-Run Contest: how far Sandbag flew.

Only in major scene 32. From the post-frame update of the last frame: `position_x` of internal character 32. Feet, or
metres where the replay's language is Japanese (0); one decimal, never negative. Source: the rules of slippi-js 9.1.
"""

from __future__ import annotations

import math
import struct
from typing import Literal

from slpstream.stats.schema import Shape

MAJOR_SCENE_HOME_RUN = 32
SANDBAG = 32
_JAPANESE = 0
_START = 70
_FEET_SCALE, _METRES_SCALE = 0.952462, 1.04167
_FEET_UNIT = 30.4788
_FARTHEST = 1e30
"""No place in the game; where the arithmetic of 32 bits would end."""


class HomeRun(Shape, tag_field="type", tag="home-run-contest"):
    """slippi-js `StadiumStatsType` of a home-run contest."""

    distance: float
    units: Literal["feet", "meters"]


def home_run(x: float, language: int | None) -> HomeRun:
    """The distance for the `position_x` of Sandbag."""
    units: Literal["feet", "meters"] = "meters" if language == _JAPANESE else "feet"
    if not abs(x) < _FARTHEST:
        return HomeRun(0, units)
    if units == "meters":
        return HomeRun(max(0.0, 10 * math.floor(x - _START * _METRES_SCALE) / 100), units)
    feet = _float32(10 * math.floor(x - _START * _FEET_SCALE)) / _FEET_UNIT
    return HomeRun(max(0.0, math.floor(feet * 10) / 10), units)


def _float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]  # type: ignore[no-any-return]
