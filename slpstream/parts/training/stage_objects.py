"""Those parts of stages that move by a fixed rule, or that have their own events."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

YOSHIS_STORY: Final = 8
FOUNTAIN_OF_DREAMS: Final = 2
"""External stage ids."""

FOD_LEFT_AT_FIRST, FOD_RIGHT_AT_FIRST = 20.0, 28.0
"""Heights of the platforms until the first event about them."""

_RANDALL_PERIOD_FRAMES = 1200
_RANDALL = (
    (0, -51.54501, -33.2489), (415, 95.71359, -33.2489), (416, 95.70264, -33.18448), (419, 96.68107, -32.76515),
    (420, 96.87455, -32.49261), (423, 97.29402, -31.51385), (424, 97.3, -31.16023), (468, 97.3, -15.5473),
    (469, 97.28714, -15.19489), (472, 96.86782, -14.21646), (473, 96.66037, -13.96714), (476, 95.63681, -13.6747),
    (477, 95.28544, -13.64989), (1015, -95.61848, -13.64989), (1016, -95.96968, -13.67976),
    (1019, -96.9481, -14.09909), (1020, -97.19761, -14.32014), (1022, -97.515, -14.95489), (1023, -97.65, -15.27787),
    (1068, -97.65, -31.24564), (1069, -97.60493, -31.59004), (1072, -97.12887, -32.54216),
    (1073, -96.8244, -32.72168), (1076, -95.90001, -33.2489), (1200, -51.89985, -33.2489),
)  # fmt: skip
"""Turning points of the cloud: frame number modulo 1200, x of its middle, y. In between it moves evenly.

Measured with libmelee 0.47.6, whose values are off by 0.001 at most; these differ from them by less than 0.002.
"""


def randall(frames: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the x and y of the middle of the cloud on Yoshi's Story, for some frame numbers."""
    at = np.mod(frames, _RANDALL_PERIOD_FRAMES)
    numbers, x, y = zip(*_RANDALL, strict=True)
    return np.interp(at, numbers, x).astype(np.float32), np.interp(at, numbers, y).astype(np.float32)
