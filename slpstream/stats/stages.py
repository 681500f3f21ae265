"""Where stages end: x of the right ledge of the main platform, in game units; the left one is its mirror image.

How sure we are: documented by the community's stage data; observed in real replays for Fountain of Dreams, Dream Land,
Battlefield and Final Destination: nobody stands more than 0.1 beyond. Other stages are left out: their ledges are not
symmetric, or move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EDGES: Final[Mapping[int, float]] = {
    2: 63.35,
    3: 87.75,
    8: 56.0,
    28: 77.27,
    31: 68.4,
    32: 85.57,
}
"""By stage id: Fountain of Dreams, Pokemon Stadium, Yoshi's Story, Dream Land, Battlefield, Final Destination."""
BELOW: Final = -10.0
"""Under this height a player is below the stage, wherever the ledges are."""
