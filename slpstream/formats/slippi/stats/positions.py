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

from typing import Any

from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.states import DYING, LEDGE, SHIELD

CONTROL_MARGIN = 10.0
"""Game units by which a player must be nearer to the middle than the others."""


class Positions(Computer):
    """The positions of one player."""

    def __init__(self) -> None:
        self.shield_frames = self.ledge_frames = self.off_stage_frames = 0
        self.control_frames = self.contested_frames = 0
        self.recoveries = self.recovered = 0
        self.is_recovering = False
        self.is_off_stage = False

    def update(self, post: Any, flags: int, *, outside: bool, punished: bool) -> None:
        """Take a frame in which the player is or isn't `outside`, which is beyond a ledge or below the stage.

        Set `punished` if there's an open conversion on the player.
        """
        self.is_off_stage = outside and not flags & (DYING | LEDGE) and post.is_airborne is True
        if self.is_off_stage:
            if punished and not self.is_recovering:
                self.is_recovering = True
                self.recoveries += 1
        elif self.is_recovering and (flags & (DYING | LEDGE) or post.is_airborne is False):
            self.is_recovering = False
            self.recovered += not flags & DYING
        self.stay(flags, 1)

    def stay(self, flags: int, frames: int) -> None:
        """Count frames in which the player stays in the same action, and on or off stage."""
        if flags & SHIELD:
            self.shield_frames += frames
        elif flags & LEDGE:
            self.ledge_frames += frames
        if self.is_off_stage:
            self.off_stage_frames += frames
