"""The odds of a finished game from its columns. This needs numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from slpstream.parts.odds.game_odds import FRAMES_PER_POINT, GameOdds, Post, begin_odds

if TYPE_CHECKING:
    from slpstream.formats.slippi.columns import Frames


def column_odds(settings: Any, frames: Frames) -> GameOdds | None:
    """Return the odds of a Slippi game, or `None` if it has none."""
    odds = begin_odds(settings)
    if odds is None or not frames.players.keys() >= set(odds.players):
        return None
    one, two = (frames.players[index].post for index in odds.players)
    present = np.flatnonzero(one.present & two.present)
    number = frames.number[present]
    columns = [post[name][present] for post in (one, two) for name in ("percent", "stocks_remaining")]
    # In all other frames, nothing changes, and no damage is counted.
    wanted = np.ones(len(number), np.bool_)
    wanted[1:] = np.diff(number // FRAMES_PER_POINT) != 0
    for column in columns:
        wanted[1:] |= column[1:] != column[:-1]
    first, second = odds.players
    rows = (column[wanted].tolist() for column in columns)
    for frame, *values in zip(number[wanted].tolist(), *rows, strict=True):
        odds.take(frame, {first: Post(values[0], values[1]), second: Post(values[2], values[3])})
    return odds


def odds_in_rows(
    settings: Any, frames: Frames, numbers: npt.NDArray[Any], players: npt.NDArray[Any]
) -> npt.NDArray[np.float32]:
    """Return the chance of a player to win, for many frames and player indices. Without odds, it is NaN."""
    found = np.full(len(numbers), np.nan, np.float32)
    odds = column_odds(settings, frames)
    changed, chances = ([], []) if odds is None else odds.changes()
    if odds is None or not changed:
        return found
    at = np.searchsorted(changed, numbers, side="right") - 1
    first, second = odds.players
    chance = np.array(chances)[at]
    found[players == first] = chance[players == first]
    found[players == second] = 1 - chance[players == second]
    found[at < 0] = np.nan
    return found
