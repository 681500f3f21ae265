"""How long characters land with their aerials, in frames; an L-cancel halves it, rounded down.

By internal character id (0 to 26): neutral, forward, back, up, down aerial, the order of the landing states 0x46 to
0x4A. Source: the figures that slippi-js 9.1 goes by (formats page `landing_lag`, documented).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# fmt: off
LANDING_LAG_FRAMES: Final[Mapping[int, tuple[int, int, int, int, int]]] = {
    0: (16, 21, 15, 15, 23), 1: (15, 22, 20, 18, 18), 2: (15, 19, 18, 15, 24), 3: (20, 30, 15, 25, 31),
    4: (15, 20, 15, 15, 20), 5: (30, 30, 35, 30, 40), 6: (15, 15, 15, 30, 50), 7: (16, 16, 16, 24, 20),
    8: (22, 18, 18, 18, 28), 9: (17, 25, 15, 15, 15), 10: (20, 20, 20, 32, 25), 11: (20, 20, 20, 32, 25),
    12: (15, 20, 30, 26, 40), 13: (15, 15, 15, 15, 15), 14: (15, 21, 15, 19, 26), 15: (20, 20, 20, 20, 30),
    16: (26, 25, 28, 20, 28), 17: (15, 25, 15, 15, 18), 18: (15, 15, 24, 15, 32), 19: (18, 18, 18, 25, 24),
    20: (15, 15, 15, 30, 50), 21: (18, 25, 18, 18, 24), 22: (15, 22, 20, 18, 18), 23: (12, 15, 18, 18, 26),
    24: (15, 25, 18, 15, 20), 25: (25, 25, 25, 25, 35), 26: (20, 20, 24, 18, 32),
}
# fmt: on
