"""A game whose odds somebody asked for. Its log is read once, for all requests and subscriptions."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from slpstream.model.messages import START, LogMessage, Position
from slpstream.parts.odds.log_odds import LogOdds
from slpstream.parts.odds.model import OddsModel
from slpstream.stream.game import Game

_MESSAGES_PER_TURN = 250
"""These take about a millisecond. After that, other tasks may run."""


class FollowedGame:
    """The odds of a game, as far as its log was read."""

    def __init__(self, log: Game, model: OddsModel) -> None:
        self.log = log
        self.odds = LogOdds(model)
        self.positions: list[Position] = []
        """The position of each point's frame in the finalized log."""
        self._position = START
        self._reading = trio.Lock()

    async def read_on(self) -> None:
        """Read the messages that are new. Raises `CursorGone`."""
        if self.odds.is_over or (self._position > START and self.odds.without_odds):
            return
        async with self._reading:
            while messages := await self._next():
                for first in range(0, len(messages), _MESSAGES_PER_TURN):
                    if first:
                        await trio.lowlevel.checkpoint()
                    self._take(messages[first : first + _MESSAGES_PER_TURN])

    def _take(self, messages: Sequence[LogMessage]) -> None:
        take = self.odds.take
        self.positions += [message.position for message in messages if take(message) is not None]
        self._position = messages[-1].position

    async def _next(self) -> Sequence[LogMessage]:
        """Return the next messages: those in memory, or if these are later ones, some from the file."""
        if not self.log.archived:
            messages = self.log.logs["finalized"].since(self._position)
            if messages is not None:
                return messages
        return await self.log.log_reader.messages("finalized", self._position)
