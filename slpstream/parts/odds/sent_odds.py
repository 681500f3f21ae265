"""The messages `odds` of a station, for one subscription."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import msgspec
import trio

from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, Cursor
from slpstream.parts.odds.followed_game import FollowedGame
from slpstream.parts.odds.schemas import SentOdds
from slpstream.stream.channel import Channel, Send
from slpstream.stream.game import Game
from slpstream.stream.subscription import Start

_COLLECT_SECONDS = 0.45
"""Reading half a second of frames together takes much less time than reading each of them when it arrives."""


async def send_odds(
    channel: Channel, start: Start | Cursor, send: Send, follow: Callable[[Game], FollowedGame]
) -> None:
    """Send the odds of all games from `start` on: the newest ones at that place, and then all later ones."""
    while not channel.settled or any(game.catching_up for game in channel.games):
        await channel.changed()
    first, offset = _beginning(channel, start)
    first_order = channel.next_order() if first is None else first.order
    games: dict[Game, _SentGame] = {}
    while True:
        played = [game for game in channel.games if game.order >= first_order and not game.secondary]
        games = {game: games.get(game) or _SentGame(follow(game)) for game in played}
        for game, sent in games.items():
            await sent.send_new(send, offset if game is first else START.offset)
        await channel.changed()
        await trio.sleep(_COLLECT_SECONDS)


def _beginning(channel: Channel, start: Start | Cursor) -> tuple[Game | None, int]:
    """Return the game in which a subscription begins, and the offset there. It is `None` for the next game."""
    if isinstance(start, Cursor) and start.position is not None:
        for game in reversed(channel.games):
            if game.game_id == start.game_id:
                return game, start.position.offset
    current = channel.current
    if current is None or not (start == "start" or current.in_progress):
        return None, START.offset
    return current, START.offset


class _SentGame:
    """One game, and how much of its odds was sent."""

    def __init__(self, followed: FollowedGame) -> None:
        self._followed = followed
        self._sent: int | None = None
        self._gone = False

    async def send_new(self, send: Send, offset: int) -> None:
        """Send the odds that are new. The first time, these are the newest up to the offset, and all later ones."""
        followed = self._followed
        if self._gone:
            return
        try:
            await followed.read_on()
        except CursorGone:  # if the file comes back, the log of the station has another game
            self._gone = True
            return
        if self._sent is None:
            self._sent = max(0, bisect_right(followed.positions, offset, key=lambda position: position.offset) - 1)
        while self._sent < len(followed.positions):
            await send(msgspec.to_builtins(self._message(self._sent)))
            self._sent += 1

    def _message(self, number: int) -> SentOdds:
        followed = self._followed
        point, game_id = followed.odds.points[number], followed.log.game_id
        return SentOdds(
            game_id=game_id,
            frame=point.frame,
            frame_cursor=str(Cursor(game_id, "finalized", followed.positions[number])),
            players=followed.odds.players,
            odds=point.odds,
            stocks=[point.state.stocks, point.state.opponent_stocks],
        )
