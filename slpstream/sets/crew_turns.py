"""The stocks of players in the games of a crew battle, see `sets.crews`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slpstream.sets.games import Player


class Turn(NamedTuple):
    """One player's part in a game of a crew battle."""

    name: str
    entered: int
    """Stocks that the player came with."""
    left: int | None
    """Stocks that the player leaves with; `None` while that is not known."""


def stocks_left(
    players: Sequence[Player],
    entered: Sequence[int],
    winner: int | None,
    corrected: Mapping[int, int],
) -> list[int]:
    """The stocks that the player of each side leaves a game with that counts. `winner` is the place of the winner.

    Losers have lost everything that they came with, also when time ran out. Winners cannot have more than they came
    with: those who forgot to lose stocks on purpose keep what they had. They have at least one stock left, also when
    the replay shows none: when sudden death decided, or when the operator names the winner. `corrected` has the
    operator's numbers by player index.
    """
    left = []
    for place, (player, had) in enumerate(zip(players, entered, strict=True)):
        counted = 0 if place != winner else had if player.stocks is None else max(1, min(player.stocks, had))
        left.append(corrected.get(player.index, counted))
    return left
