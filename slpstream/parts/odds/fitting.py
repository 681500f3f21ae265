"""Fit a model to games, and judge the fit by tenfold cross-validation over games. This needs numpy.

The weights are fitted to who loses the next stock in each second, by logistic regression. The winner isn't used, as it
follows from the stocks. Each game has the same weight. A small penalty, worth a third of a game, keeps the weights near
`_START`, which only matters if there are few games. The percents that a player takes until the
opponent loses a stock are a straight line by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.parts.odds.model import PERCENT_SCALE, OddsModel
from slpstream.parts.odds.played_games import FIRST, SECOND, UNKNOWN, WIDTH, PlayedGame
from slpstream.parts.odds.scoring import odds_of

FOLDS = 10
MAX_ROWS = 2_000_000
_START = (2.0, 2.0, math.log(200.0))
"""Weight of the percents, weight of the damage, and logarithm of the prior damage, in percent."""
_RIDGE = 0.3
_STEPS = 30
_TOLERANCE = 1e-9
_DIGITS = 4
Array = npt.NDArray[np.float64]


class _Rows(NamedTuple):
    """The seconds of all games in which it is known who loses the next stock."""

    percents: Array
    lead: Array
    damage: Array
    takes: Array
    """1 if the second player loses the next stock, and otherwise 0."""
    weights: Array
    """They add up to 1."""


class _Fit(NamedTuple):
    loss: float
    gradient: Array
    curvature: Array


def fit(games: Sequence[PlayedGame]) -> OddsModel:
    """Return the model that fits the games best."""
    values = np.concatenate([np.frombuffer(game.values) for game in games]).reshape(-1, WIDTH)
    lengths = [len(game.values) // WIDTH for game in games]
    weights = np.repeat([1 / length for length in lengths], lengths)
    known = values[:, -2] != UNKNOWN
    values, weights = values[known], weights[known]
    percent, other_percent, dealt, taken, loser, extra = values[:, 2:].T
    rows = _Rows(
        np.exp(-percent / PERCENT_SCALE) - np.exp(-other_percent / PERCENT_SCALE),
        dealt - taken,
        dealt + taken,
        (loser == SECOND).astype(np.float64),
        weights / max(weights.sum(), 1e-12),
    )
    percent_weight, damage_weight, log_prior = _weights(rows, _RIDGE / len(games))
    carried, slope = _line(np.where(loser == FIRST, percent, other_percent), extra, rows.weights)
    return OddsModel(
        percent_weight=_between(percent_weight, 0, 100),
        damage_weight=_between(damage_weight, 0, 100),
        prior_damage=_between(_prior(log_prior), 1, 100_000),
        carried_percent=_between(carried, 0, 1000),
        carried_slope=_between(-slope, 0, 10),
        games=len(games),
    )


def cross_validated(games: Sequence[PlayedGame]) -> list[list[float]]:
    """Return the odds in each row of each game, from models that haven't seen the game.

    Game n, counted from 0 in the order of the table or of the paths, belongs to fold n modulo 10.
    """
    odds: list[list[float]] = [[]] * len(games)
    for fold in range(FOLDS):
        model = fit([game for number, game in enumerate(games) if number % FOLDS != fold])
        odds[fold::FOLDS] = odds_of(model, games[fold::FOLDS])
    return odds


def _weights(rows: _Rows, ridge: float) -> Array:
    """Return the three weights by Newton's method, with smaller steps where a whole one is too far."""
    start = np.array(_START)
    weights, damping = start.copy(), 1e-3
    found = _evaluate(rows, weights, start, ridge)
    for _ in range(_STEPS):
        step = np.linalg.solve(found.curvature + damping * np.eye(3), found.gradient)
        tried = weights - np.clip(step, -1, 1)
        next_ = _evaluate(rows, tried, start, ridge)
        if next_.loss > found.loss:
            damping *= 10
            continue
        gain, weights, found, damping = found.loss - next_.loss, tried, next_, damping / 10
        if gain < _TOLERANCE:
            break
    return weights


def _evaluate(rows: _Rows, weights: Array, start: Array, ridge: float) -> _Fit:
    percent_weight, damage_weight, log_prior = weights
    prior = _prior(log_prior)
    share = rows.lead / (prior + rows.damage)
    logits = percent_weight * rows.percents + damage_weight * share
    chances = 1 / (1 + np.exp(-logits))
    slopes = np.stack([rows.percents, share, -damage_weight * share * prior / (prior + rows.damage)])
    distance = weights - start
    loss = np.sum(rows.weights * (np.logaddexp(0, logits) - rows.takes * logits)) + ridge / 2 * distance @ distance
    gradient = slopes @ (rows.weights * (chances - rows.takes)) + ridge * distance
    curvature = (slopes * (rows.weights * chances * (1 - chances))) @ slopes.T + ridge * np.eye(3)
    return _Fit(float(loss), gradient, curvature)


def _line(x: Array, y: Array, weights: Array) -> tuple[float, float]:
    """Return height and slope of the straight line through some points by least squares."""
    x_mean, y_mean = float(weights @ x), float(weights @ y)
    spread = float(weights @ (x - x_mean) ** 2)
    slope = float(weights @ ((x - x_mean) * (y - y_mean))) / spread if spread > 1e-9 else 0.0
    return y_mean - slope * x_mean, slope


def _prior(logarithm: float) -> float:
    return math.exp(min(max(logarithm, 0.0), 11.0))


def _between(value: float, low: float, high: float) -> float:
    return round(min(max(float(value), low), high), _DIGITS)
