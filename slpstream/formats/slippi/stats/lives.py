"""Stocks, which are the lives of a player. A life begins in the first frame in which the player isn't dying, and ends
with its loss.

We use these Post-Frame fields: `action_state_id` (dying is 0x00 to 0x0A), `stocks_remaining` and `percent`. The percent
at the end is the one in the frame before the loss. In modes without stocks, a life ends in the first frame in which the
player is dying.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from slpstream.formats.slippi.stats.game_state import GameState, Player
from slpstream.formats.slippi.stats.schema import Stock
from slpstream.formats.slippi.stats.states import DYING, FLAGS


def spawn(game: GameState, player: Player) -> None:
    """Begin a life, unless the player is dying."""
    post = player.post
    if FLAGS[post.action_state_id] & DYING:
        return
    count = post.stocks_remaining if game.falls is None else UNSET
    player.stocks.begin(Stock(player.index, game.number, current_percent=post.percent, count=count))
    values = {} if count is UNSET else {"stocksRemaining": count}
    game.emit("player_spawned", playerIndex=player.index, **values)


def end_lives(game: GameState, present: Iterable[Player], changed: list[Player]) -> list[Player]:
    """Return the players who lose a life in a frame, and begin their next ones.

    `present` are the players in the frame, and `changed` are those whose number of stocks has changed.
    """
    if game.falls is None:
        return [player for player in changed if _change_stocks(game, player, changed)]
    falls = game.falls.take({player.index: player for player in present})
    for index, by in falls.items():
        values: dict[str, Any] = {"selfDestruct": by is None, "life": _end(game, game.by_index[index])}
        if by is not None:
            values["byPlayerIndex"] = by
        game.emit("fall", playerIndex=index, **values, scores=game.falls.scores())
    return [game.by_index[index] for index in falls]


def _change_stocks(game: GameState, player: Player, changed: list[Player]) -> bool:
    """Take a change in the number of a player's stocks, and return whether a stock was lost.

    If it was given to a team-mate, this doesn't count as lost.
    """
    post, prev, stocks, teams = player.post, player.prev, player.stocks, game.teams
    if post.stocks_remaining > prev.stocks_remaining:
        if stocks.open is None:
            spawn(game, player)
        return False
    if teams and not FLAGS[post.action_state_id] & DYING:
        mates = [other for other in changed if teams[other.index] == teams[player.index]]
        if any(mate.post.stocks_remaining > mate.prev.stocks_remaining for mate in mates):
            return False
    if stocks.open is not None:
        stock = _end(game, player)
        game.emit("stock_lost", playerIndex=player.index, stocksRemaining=post.stocks_remaining, stock=stock)
        if not game.compat:  # slippi-js waits for the next frame
            spawn(game, player)
    return True


def _end(game: GameState, player: Player) -> Stock:
    percent, state = player.prev.percent, player.post.action_state_id
    return player.stocks.close(
        end_frame=game.number, end_percent=percent, current_percent=percent, death_animation=state
    )
