"""The figures of one player in a game, which can be added up, and the ratios of their sums."""

from __future__ import annotations

import math
from operator import add
from typing import NamedTuple

import msgspec

from slpstream.model.foreign_data import json_or_none
from slpstream.model.prepared import prepared

_DEVIATIONS = 1.96
"""A normal distribution has 95 % of its values within this many standard deviations."""


class Figures(NamedTuple):
    """Counts of one player that can be added up over several games."""

    games: int = 0
    won: int = 0
    seconds: float = 0.0
    timed: int = 0
    """The number of games whose length is known."""
    kills: float = 0
    openings: float = 0
    damage: float = 0.0
    neutral_wins: float = 0
    neutral_total: float = 0
    l_cancels: int = 0
    landings: int = 0
    """The number of landings with an L-cancel, whether it was successful or not."""
    inputs: float = 0
    minutes: float = 0.0

    def plus(self, other: Figures) -> Figures:
        """Return the sums of both."""
        return Figures._make(map(add, self, other))

    @property
    def win_rate(self) -> float | None:
        """The share of games that were won."""
        return _ratio(self.won, self.games)

    @property
    def average_seconds(self) -> float | None:
        """The average length of a game."""
        return _ratio(self.seconds, self.timed)

    @property
    def openings_per_kill(self) -> float | None:
        """How many openings the player needed for a kill."""
        return _ratio(self.openings, self.kills)

    @property
    def damage_per_opening(self) -> float | None:
        """How much damage an opening did."""
        return _ratio(self.damage, self.openings)

    @property
    def neutral_win_rate(self) -> float | None:
        """The share of neutral openings that were the player's."""
        return _ratio(self.neutral_wins, self.neutral_total)

    @property
    def l_cancel_rate(self) -> float | None:
        """The share of L-cancels that were successful."""
        return _ratio(self.l_cancels, self.landings)

    @property
    def inputs_per_minute(self) -> float | None:
        """How many inputs the player made in a minute."""
        return _ratio(self.inputs, self.minutes)


class _Ratio(msgspec.Struct, frozen=True):
    count: float | None = None
    total: float = 0


class _Inputs(msgspec.Struct, frozen=True):
    total: float | None = None


class _Overall(msgspec.Struct, rename="camel"):
    player_index: int | None = None
    input_counts: _Inputs = _Inputs()
    conversion_count: float = 0
    total_damage: float = 0
    kill_count: float = 0
    inputs_per_minute: _Ratio = _Ratio()
    neutral_win_ratio: _Ratio = _Ratio()


@prepared
class _Stats(msgspec.Struct):
    overall: list[_Overall] = []


def figures_of(stats: bytes | None, player_index: int, *, won: bool, seconds: float | None) -> Figures:
    """Return the figures of a player in one game. `stats` is JSON with the member `overall`, or `None` if the game has
    no stats.
    """
    figures = Figures(games=1, won=int(won), seconds=seconds or 0.0, timed=int(seconds is not None))
    found = None if stats is None else json_or_none(stats, _Stats)
    for each in () if found is None else found.overall:
        if each.player_index == player_index:
            return figures._replace(
                kills=each.kill_count,
                openings=each.conversion_count,
                damage=each.total_damage,
                neutral_wins=each.neutral_win_ratio.count or 0,
                neutral_total=each.neutral_win_ratio.total,
                inputs=each.input_counts.total or 0,
                minutes=each.inputs_per_minute.total,
            )
    return figures


def likely_rates(won: int, games: int) -> tuple[float, float]:
    """Return between which shares of wins the true one is with 95 % (Wilson's interval), if the games were independent.

    There must be at least one game.
    """
    share, square = won / games, _DEVIATIONS**2 / games
    middle = (share + square / 2) / (1 + square)
    spread = _DEVIATIONS * math.sqrt(share * (1 - share) / games + square / games / 4) / (1 + square)
    return max(0.0, middle - spread), min(1.0, middle + spread)


def _ratio(count: float, total: float) -> float | None:
    return count / total if total else None
