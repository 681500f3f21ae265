"""Crew battles, in which two crews of players compete, and stocks carry over from one game to the next.

In each game, one player of each crew plays. The loser has no stocks left and leaves, and the next player of that crew
comes in with new stocks. The winner stays, but only with the stocks that are left. Since the game always gives each
player four stocks, the winner has to lose some of them on purpose first. In a replay, we only see the stocks at the end
of a game. We know how many there were at its beginning from the game before it, so we don't care when, or whether,
stocks were lost on purpose.
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
        """The maximum number of games.

        It follows from the fact that after each game except for the last, both crews still have a player.
        """
        players = [-(-crew.stocks // self.stocks_per_player) for crew in self.crews]
        return sum(players) - 1
