"""Where a player is: time in shield, at the ledge and off stage, recoveries, and who holds the middle of the stage.

From the post-frame update of frame -39 on: `action_state_id`, `position_x`, `position_y`, `is_airborne` (since 2.0;
before, whoever is beyond the ledge counts as in the air).

- Shield: guard states 0xB2, 0xB3, 0xB5, 0xB6 (coming up, held, hit, reflecting).
- Ledge: states 0xFC to 0x107.
- Off stage: alive, not at the ledge, in the air, and beyond the ledge in x or lower than 10 units below the stage's
  height 0. Only on stages whose ledges we know.
- A recovery begins when a player is off stage while a conversion against them runs; it succeeds at the ledge, or on
  the ground of the stage, and fails with the stock.
- Stage control: frames in which a player is nearer to the middle than every opponent, by more than 10 units. Of the
  frames in which two or more are alive.
"""

from __future__ import annotations

import copy
from typing import Any

from msgspec import UNSET

from slpstream.stats.states import CONTROL, DYING, LEDGE, SHIELD

BELOW = -10.0
"""A player lower than this, in game units, is below the stage, wherever the ledges are."""
CONTROL_MARGIN = 10.0
"""Game units that one must be nearer to the middle."""


class Positions:
    """Where one player was. `edge` is x of the ledge, `None` where it is not known."""

    __slots__ = (
        "contested_frames",
        "control_frames",
        "edge",
        "ledge_frames",
        "off_stage",
        "off_stage_frames",
        "recovered",
        "recoveries",
        "recovering",
        "shield_frames",
    )

    def __init__(self, edge: float | None) -> None:
        self.edge = edge
        self.shield_frames = self.ledge_frames = self.off_stage_frames = 0
        self.control_frames = self.contested_frames = 0
        self.recoveries = self.recovered = 0
        self.recovering = False
        self.off_stage = False

    def copy(self) -> Positions:
        """An independent computer at the same place."""
        return copy.copy(self)

    def stand(self, post: Any, flags: int, *, punished: bool) -> None:
        """The player is beyond a ledge or below the stage, or was in the frame before, or is recovering."""
        edge, x = self.edge, post.position_x
        if edge is None:
            return
        off_stage = (
            (x > edge or x < -edge or post.position_y < BELOW)
            and not flags & (DYING | LEDGE)
            and post.is_airborne is not False
        )
        self.off_stage = off_stage
        if off_stage:
            self.off_stage_frames += 1
            if punished and not self.recovering:
                self.recovering = True
                self.recoveries += 1
        elif self.recovering and flags & DYING:
            self.recovering = False
        elif self.recovering:
            grounded = flags & CONTROL if post.is_airborne is UNSET else post.is_airborne is False
            if flags & LEDGE or grounded:
                self.recovering = False
                self.recovered += 1

    def shield_or_ledge(self, flags: int) -> None:
        """A frame in shield or at the ledge."""
        if flags & SHIELD:
            self.shield_frames += 1
        else:
            self.ledge_frames += 1
