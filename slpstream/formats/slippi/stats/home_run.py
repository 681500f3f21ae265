"""Home-Run Contest: how far Sandbag flew.

This only exists in major scene 32. We take `position_x` of internal character 32 from the Post-Frame Update of the last
frame. The unit is feet, or metres if the language of the replay is Japanese (0). The distance has one decimal, and is
never negative. The source is the rules of slippi-js 9.1.
"""

from __future__ import annotations

import math
import struct
from typing import Literal

from slpstream.formats.slippi.stats.schema import StatsStruct

MAJOR_SCENE_HOME_RUN = 32
SANDBAG = 32
_JAPANESE = 0
_START = 70
_FEET_SCALE, _METRES_SCALE = 0.952462, 1.04167
_FEET_UNIT = 30.4788
_MAX_POSITION = 1e30
"""Beyond this the 32-bit arithmetic would overflow. No position in the game comes near it."""


class HomeRun(StatsStruct, tag_field="type", tag="home-run-contest"):
    """slippi-js `StadiumStatsType` of a home-run contest."""

    distance: float
    units: Literal["feet", "meters"]


def home_run(x: float, language: int | None) -> HomeRun:
    """Return the distance, given `position_x` of Sandbag."""
    units: Literal["feet", "meters"] = "meters" if language == _JAPANESE else "feet"
    if not abs(x) < _MAX_POSITION:
        return HomeRun(0, units)
    if units == "meters":
        return HomeRun(max(0.0, 10 * math.floor(x - _START * _METRES_SCALE) / 100), units)
    feet = _float32(10 * math.floor(x - _START * _FEET_SCALE)) / _FEET_UNIT
    return HomeRun(max(0.0, math.floor(feet * 10) / 10), units)


def _float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]  # type: ignore[no-any-return]
