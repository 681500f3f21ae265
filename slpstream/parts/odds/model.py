"""The model of the odds: who loses the next stock, and from this, by recursion over the stocks, who wins the game.

The chance that the opponent loses the next stock is a logistic function of two differences: that of the percents, with
less weight for high ones, and that of the damage dealt so far. The latter is the only trace of which player is better.
It counts as a share of all damage, as if some had been dealt evenly before the game.

When a stock is lost, the next one begins: the player who lost it has 0 %, and the other one has some more percent than
now. All later stocks only depend on the damage dealt. The model is symmetric, and needs no numpy.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from slpstream.model.foreign_data import read_json
from slpstream.model.prepared import prepared
from slpstream.system.files import read_regular

PACKAGED = Path(__file__).with_name("model.json")
PERCENT_SCALE = 80.0
"""The percent at which the weight of a further percent has fallen to 1/e. It was chosen before fitting."""
_Weight = Annotated[float, Meta(ge=0, le=100)]
_Percent = Annotated[float, Meta(ge=0, le=1000)]


class ModelError(Exception):
    """A file that isn't a model."""


class GameState(NamedTuple):
    """The input of the model. The first player is the one whose chance we compute."""

    stocks: int
    opponent_stocks: int
    percent: float
    opponent_percent: float
    dealt: float
    """Damage that the player has dealt so far, over all stocks, in percent."""
    opponent_dealt: float


@prepared
class OddsModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of the model."""

    percent_weight: _Weight
    """Weight of the difference of the percents."""
    damage_weight: _Weight
    """Weight of the difference of the damage dealt, as a share of all damage."""
    prior_damage: Annotated[float, Meta(gt=0, le=100_000)]
    """The damage that is added to all damage, in percent, so that the first hits count little."""
    carried_percent: _Percent
    """The percent that a player takes until an opponent at 0 % loses a stock."""
    carried_slope: Annotated[float, Meta(ge=0, le=10)]
    """By how much this is less for each percent of the opponent."""
    games: Annotated[int, Meta(ge=1)]
    """The number of games on which it was fitted."""

    def next_stock(self, state: GameState) -> float:
        """Return the chance that the opponent loses the next stock."""
        difference = damage_curve(state.opponent_percent) - damage_curve(state.percent)
        return _logistic(self._strength(state) + self.percent_weight * difference)

    def win(self, state: GameState) -> float:
        """Return the chance to win the game. If both have lost all stocks, it is a half."""
        own, other = state.stocks, state.opponent_stocks
        if own < 1 or other < 1:
            return 0.5 if own < 1 and other < 1 else float(other < 1)
        strength = self._strength(state)
        later = _race(_logistic(strength), own, other)
        takes = self.next_stock(state)
        won = lost = 0.0
        if other == 1:
            won = 1.0
        else:
            carried = self._carried(state.percent, state.opponent_percent)
            again = _logistic(strength - self.percent_weight * damage_curve(carried))
            won = again * later[own][other - 2] + (1 - again) * later[own - 1][other - 1]
        if own > 1:
            carried = self._carried(state.opponent_percent, state.percent)
            again = _logistic(strength + self.percent_weight * damage_curve(carried))
            lost = again * later[own - 1][other - 1] + (1 - again) * later[own - 2][other]
        return takes * won + (1 - takes) * lost

    def _strength(self, state: GameState) -> float:
        dealt, taken = state.dealt, state.opponent_dealt
        return self.damage_weight * (dealt - taken) / (self.prior_damage + dealt + taken)

    def _carried(self, percent: float, opponent_percent: float) -> float:
        """Return the percent of a player when the opponent loses the stock."""
        return percent + max(0.0, self.carried_percent - self.carried_slope * opponent_percent)


def win_set(game: float, won: int, lost: int, best_of: int) -> float:
    """Return the chance to win a set, by recursion over its games.

    `game` is the chance to win the game that is played. Later games are even, because the model knows no players.
    """
    needed = best_of // 2 + 1
    own, other = needed - lost, needed - won
    later = _race(0.5, own, other)
    return game * later[own][other - 1] + (1 - game) * later[own - 1][other]


def read_model(path: Path) -> OddsModel:
    """Read the file of a model. Raises `ModelError`, or `OSError` if it can't be read."""
    return read_json(read_regular(path), OddsModel, ModelError)


@cache
def packaged_model() -> OddsModel:
    """Return the model in the package."""
    return read_model(PACKAGED)


def damage_curve(percent: float) -> float:
    """Return the weight of a percent, from 0 to 1."""
    return 1 - math.exp(-percent / PERCENT_SCALE)


def _race(chance: float, own: int, other: int) -> list[list[float]]:
    """Return the chance to win by the number of own and other stocks left, if `chance` is that of taking each stock."""
    rows = [[0.0] * (other + 1)]
    for i in range(1, own + 1):
        row, fewer = [1.0], rows[i - 1]
        for j in range(1, other + 1):
            row.append(chance * row[j - 1] + (1 - chance) * fewer[j])
        rows.append(row)
    return rows


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0
