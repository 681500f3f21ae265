"""How many stocks the players have before and after each game of a crew battle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slpstream.sets.games import Player


class Turn(NamedTuple):
    """What one player did in a game of a crew battle."""

    name: str
    entered: int
    """The stocks at the beginning of the game."""
    left: int | None
    """The stocks at the end of the game, or `None` while they are not known."""


def stocks_left(
    players: Sequence[Player],
    entered: Sequence[int],
    winner: int | None,
    corrected: Mapping[int, int],
) -> list[int]:
    """Return how many stocks each player has left after a game that counts. `winner` is the place of the winner.

    The losers have no stocks left, even if time ran out. The winners can't have more stocks than at the beginning, even
    if they forgot to lose some on purpose. They have at least one stock left, even if the replay shows 0, which happens
    if sudden death decided the game, or if the operator named the winner. `corrected` contains the numbers that the
    operator has entered, by player index.
    """
    left = []
    for place, (player, had) in enumerate(zip(players, entered, strict=True)):
        counted = 0 if place != winner else had if player.stocks is None else max(1, min(player.stocks, had))
        left.append(corrected.get(player.index, counted))
    return left
