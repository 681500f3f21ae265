"""Stage control: in how many frames each player was the living one that is nearest to the middle of the stage."""

from __future__ import annotations

from slpstream.formats.slippi.stats.player import Player
from slpstream.formats.slippi.stats.positions import CONTROL_MARGIN
from slpstream.formats.slippi.stats.roster import PAIR
from slpstream.formats.slippi.stats.states import DYING, FLAGS


def count_stage_control(players: list[Player]) -> None:
    """Find the living player that is nearest to the middle of the stage, and count the frame for this player."""
    if len(players) == PAIR:
        one, two = players
        dying = (FLAGS[one.post.action_state_id] | FLAGS[two.post.action_state_id]) & DYING
        if one.alive and two.alive and not dying:  # in a star KO, the stock is lost only after some time
            one.positions.contested_frames += 1
            two.positions.contested_frames += 1
            nearer = abs(two.post.position_x) - abs(one.post.position_x)
            if nearer > CONTROL_MARGIN:
                one.positions.control_frames += 1
            elif nearer < -CONTROL_MARGIN:
                two.positions.control_frames += 1
        return
    nearest = second = float("inf")
    holder = None
    living = [player for player in players if player.alive and not FLAGS[player.post.action_state_id] & DYING]
    for player in living:
        x = player.post.position_x
        if x < 0:
            x = -x
        if x < nearest:
            nearest, second, holder = x, nearest, player
        elif x < second:
            second = x
    if len(living) < PAIR:
        return
    for player in living:
        player.positions.contested_frames += 1
    if holder is not None and second - nearest > CONTROL_MARGIN:
        holder.positions.control_frames += 1
