"""The stocks of the players before and after each game of a crew battle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slpstream.sets.games import Player


class Turn(NamedTuple):
    """One player's part in a game of a crew battle."""

    name: str
    entered: int
    """The stocks at the beginning of the game."""
    left: int | None
    """The stocks at the end of the game; `None` while they are not known."""


def stocks_left(
    players: Sequence[Player],
    entered: Sequence[int],
    winner: int | None,
    corrected: Mapping[int, int],
) -> list[int]:
    """Return each player's stocks at the end of a game that counts. `winner` is the place of the winner.

    Losers have no stocks left, even if time ran out. Winners cannot have more stocks than at the beginning, even if
    they forgot to lose stocks on purpose. Winners have at least one stock left even if the replay shows 0: if sudden
    death decided, or if the operator named the winner. `corrected` has the operator's numbers by player index.
    """
    left = []
    for place, (player, had) in enumerate(zip(players, entered, strict=True)):
        counted = 0 if place != winner else had if player.stocks is None else max(1, min(player.stocks, had))
        left.append(corrected.get(player.index, counted))
    return left
