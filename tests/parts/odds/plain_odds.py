"""The odds in each frame of a finished game of two players without rollbacks, calculated plainly."""

from __future__ import annotations

from pathlib import Path

from slpstream.api import open_replay
from slpstream.parts.odds.model import GameState, packaged_model


def plain_odds(path: Path) -> dict[int, float]:
    """Return the chance of the first player to win in each frame."""
    frames = open_replay(path).frames
    posts = [frames.players[index].post for index in sorted(frames.players)]
    found: dict[int, float] = {}
    stocks, percents = [4, 4], [0.0, 0.0]
    shown_after_loss = [False, False]
    dealt, at_second = [0.0, 0.0], [0.0, 0.0]
    for row, number in enumerate(frames.number.tolist()):
        taken = [0.0, 0.0]
        for i, post in enumerate(posts):
            percent, left = float(post.percent[row]), int(post.stocks_remaining[row])
            lost = left < stocks[i] or shown_after_loss[i]
            shown_after_loss[i] = lost and percent > 0 and percent >= percents[i]
            stocks[i], percents[i] = left, percent
            counted = 0.0 if shown_after_loss[i] else percent
            taken[i] = dealt[i] + max(0.0, counted - at_second[i])
            if number >= 0 and number % 60 == 0:
                dealt[i], at_second[i] = taken[i], counted
        own, other = (0.0 if shown_after_loss[i] else percents[i] for i in (0, 1))
        state = GameState(stocks[0], stocks[1], own, other, taken[1], taken[0])
        found[number] = round(packaged_model().win(state), 4)
    return found
