"""The positions of a player: frames in shield, at the ledge and off stage, recoveries, and stage control.

We use the Post-Frame Updates from frame -39 on, and these fields of them: `action_state_id`, `position_x`, `position_y`
and `is_airborne`. The last one doesn't exist before 2.0, so for these replays, we don't know anything about off stage
and recoveries.

- Shield: guard states 0xB2, 0xB3, 0xB5 and 0xB6 (raising, holding, hit, reflecting).
- Ledge: states 0xFC to 0x107.
- Off stage: alive, not at the ledge, in the air, and beyond the ledge in x or lower than 10 units below height 0. Only
  on stages whose ledges are known.
- Recovery: begins when a player is off stage during a conversion on that player. It succeeds at the ledge or on the
  ground of the stage, and fails with the loss of the stock.
- Stage control: frames in which a player is nearer to the middle than every opponent, by more than 10 units, out of the
  frames in which at least two players are alive. In a star KO a player is no longer alive, although the stock is lost
  only at its end.
"""

from __future__ import annotations

import copy
from typing import Any

from slpstream.formats.slippi.names import BELOW
from slpstream.formats.slippi.stats.states import DYING, LEDGE, SHIELD

CONTROL_MARGIN = 10.0
"""Game units by which a player must be nearer to the middle than the others."""


class Positions:
    """The positions of one player. `edge` is the x of the right ledge, or `None` if we don't know it."""

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
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        return copy.copy(self)

    def update(self, post: Any, flags: int, *, punished: bool) -> None:
        """Take a frame in which the player is beyond a ledge or below the stage, was so in the frame before, or is
        recovering.

        Set `punished` if there's an open conversion on the player.
        """
        edge, x = self.edge, post.position_x
        if edge is None:
            return
        off_stage = (
            (x > edge or x < -edge or post.position_y < BELOW)
            and not flags & (DYING | LEDGE)
            and post.is_airborne is True
        )
        self.off_stage = off_stage
        if off_stage:
            self.off_stage_frames += 1
            if punished and not self.recovering:
                self.recovering = True
                self.recoveries += 1
        elif self.recovering and flags & DYING:
            self.recovering = False
        elif self.recovering and (flags & LEDGE or post.is_airborne is False):
            self.recovering = False
            self.recovered += 1

    def shield_or_ledge(self, flags: int, frames: int = 1) -> None:
        """Count frames in which the player is in shield or at the ledge."""
        if flags & SHIELD:
            self.shield_frames += frames
        else:
            self.ledge_frames += frames
