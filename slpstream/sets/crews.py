"""Crew battles: two crews of players, whose stocks carry over from game to game.

One player of each crew plays in each game. The loser, who has no stocks left, leaves, and the next player of that crew
enters with new stocks. The winner stays with the remaining stocks. The game gives each player four stocks, so winners
who stay first lose stocks on purpose until they have as many as before. Replays show the stocks at the end of a game.
The stocks at its beginning follow from the previous game, so it does not matter when, or whether, stocks were lost on
purpose.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

CREWS = 2


class Crew(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One crew."""

    name: Annotated[str, Meta(max_length=60, description="Empty: the name of the player whose turn it is.")] = ""
    stocks: Annotated[int, Meta(ge=1, le=999, description="Stocks of all its players together.")] = 20


class CrewBattle(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The crews of a set that is a crew battle."""

    crews: Annotated[
        tuple[Crew, Crew], Meta(description="In the order of `sides`: that of the ports in the first game.")
    ] = (Crew(), Crew())
    stocks_per_player: Annotated[int, Meta(ge=1, le=99, description="Stocks of a player who enters.")] = 4

    @property
    def max_games(self) -> int:
        """The maximum number of games: after each game but the last, both crews still have a player."""
        players = [-(-crew.stocks // self.stocks_per_player) for crew in self.crews]
        return sum(players) - 1
