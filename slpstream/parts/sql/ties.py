"""Ties, which are games where several sides share first place.

This happens in time mode, and in stock games that go to sudden death.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from slpstream.model.events import GameEnd
from slpstream.model.summary import GameSummary

_NOTHING: Mapping[str, Any] = {}


def is_tied(summary: GameSummary, end: GameEnd | None) -> bool:
    """Whether several sides share first place.

    In a stock game, these are the sides that had the same stocks and whole percents when the time ran out, or all of
    them if they lost their last stocks in the same frame.
    """
    if summary.tied:
        return True
    if end is None or summary.winners or summary.mode or summary.ending not in ("time", "finished"):
        return False
    stocks: dict[int, int] = {}
    percents: dict[int, int] = {}
    for player in summary.players:
        standing = end.standings.get(player.index, _NOTHING)
        left, percent = standing.get("stocks"), standing.get("percent")
        if left is None or percent is None or not math.isfinite(percent):
            return False
        side = player.team if summary.is_teams and player.team is not None else player.index
        stocks[side] = stocks.get(side, 0) + left
        percents[side] = percents.get(side, 0) - math.trunc(percent)
    if len(stocks) < 2:
        return False
    if summary.ending == "finished":
        return not any(stocks.values())
    ranks = [(stocks[side], percents[side]) for side in stocks]
    return ranks.count(max(ranks)) > 1
