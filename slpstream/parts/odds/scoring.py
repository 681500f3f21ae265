"""How good a model is: log loss with an interval, and calibration. Each game has the same weight."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slpstream.parts.odds.model import OddsModel
from slpstream.parts.odds.played_games import FIRST, PlayedGame

BINS = 10
_CLIP = 1e-6
_SEED = 38
_MAX_RESAMPLES, _MIN_RESAMPLES = 2000, 200
_MAX_DRAWS = 20_000_000


class Bin(NamedTuple):
    """The moments in which the odds of the first player are in one tenth."""

    share: float
    """Their share of all moments."""
    expected: float
    """The mean of the odds."""
    won: float
    """How often the first player has won."""


class Score(NamedTuple):
    """The figures of a model."""

    games: int
    log_loss: float
    low: float
    """Lower end of the interval in which the log loss is with 95 %, by a bootstrap over games."""
    high: float
    calibration_error: float
    """The mean distance between expected and actual wins, from 0 to 1."""
    bins: list[Bin | None]
    """From 0 to 10 % to 90 to 100 %. `None` for those without a moment."""


def odds_of(model: OddsModel, games: Iterable[PlayedGame]) -> list[list[float]]:
    """Return the odds of the first player in each row of each game."""
    return [[model.win(state) for state in game.states()] for game in games]


def score(games: Sequence[PlayedGame], odds: Sequence[Sequence[float]]) -> Score:
    """Return the figures for some odds, which are those of each row of each game."""
    losses = []
    sums = [[0.0, 0.0, 0.0] for _ in range(BINS)]
    for game, chances in zip(games, odds, strict=True):
        has_won = game.winner == FIRST
        weight = 1 / len(chances)
        loss = 0.0
        for chance in chances:
            clipped = min(max(chance, _CLIP), 1 - _CLIP)
            loss -= math.log(clipped if has_won else 1 - clipped)
            part = sums[min(int(chance * BINS), BINS - 1)]
            part[0] += weight
            part[1] += weight * chance
            part[2] += weight * has_won
        losses.append(loss * weight)
    count = len(games)
    low, high = _interval(losses)
    bins = [None if not share else Bin(share / count, chance / share, won / share) for share, chance, won in sums]
    error = sum(abs(chance - won) for _, chance, won in sums) / count
    return Score(count, sum(losses) / count, low, high, error, bins)


def _interval(losses: Sequence[float]) -> tuple[float, float]:
    """Return the interval of 95 % of the mean, by a bootstrap over games."""
    count = len(losses)
    resamples = max(_MIN_RESAMPLES, min(_MAX_RESAMPLES, _MAX_DRAWS // count))
    rng = random.Random(_SEED)  # noqa: S311 -- statistics
    means = sorted(sum(rng.choices(losses, k=count)) / count for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]
