"""Computes the odds of games on request. Those of games that were asked for before continue where they ended."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict

import trio
from msgspec import UNSET

from slpstream.config.checks import expanded
from slpstream.model.errors import ConfigError, CursorGone
from slpstream.model.messages import START
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.odds.log_odds import LogOdds
from slpstream.parts.odds.model import ModelError, OddsModel, packaged_model, read_model
from slpstream.parts.odds.part import Odds
from slpstream.parts.odds.schemas import GameOddsFound, OddsPoint, OddsQuery
from slpstream.stream.game import Game

_KEPT_GAMES = 32
_MESSAGES_PER_TURN = 250
"""These take about a millisecond. After that, other tasks may run."""


class _Asked:
    """A game that was asked for, and how far its log was read."""

    def __init__(self, log: Game, model: OddsModel) -> None:
        self.log = log
        self.odds = LogOdds(model)
        self.position = START


class AskedOdds(RunningPart):
    """The odds of the games of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._model = _configured_model(host.config.section(Odds).model)
        self._games: OrderedDict[str, _Asked] = OrderedDict()
        self._computing = trio.Lock()

    async def odds(self, game_id: str, query: OddsQuery) -> GameOddsFound | None:
        """Return the odds of a game so far, or `None` if it is unknown or its file is missing."""
        async with self._computing:  # one game at a time
            log = await self._host.games.log(game_id)
            if log is None:
                return None
            asked = self._games.get(game_id)
            if asked is None or asked.log is not log:
                asked = self._games[game_id] = _Asked(log, self._model)
            self._games.move_to_end(game_id)
            while len(self._games) > _KEPT_GAMES:
                self._games.popitem(last=False)
            try:
                await _read_on(asked)
            except CursorGone:  # the file was replaced, so the next request begins again
                del self._games[game_id]
                return None
            return _found(game_id, asked.odds, query)


async def _read_on(asked: _Asked) -> None:
    """Read the messages that are new."""
    taken = 0
    while messages := await asked.log.log_reader.messages("finalized", asked.position):
        for message in messages:
            asked.odds.take(message)
            asked.position = message.position
            taken += 1
            if taken % _MESSAGES_PER_TURN == 0:
                await trio.lowlevel.checkpoint()


def _found(game_id: str, odds: LogOdds, query: OddsQuery) -> GameOddsFound:
    first = 0 if query.after is UNSET else bisect_right(odds.points, query.after, key=lambda point: point.frame)
    return GameOddsFound(
        game_id=game_id,
        final=odds.is_over,
        without_odds=odds.without_odds,
        players=odds.players,
        points=[
            OddsPoint(frame=point.frame, odds=point.odds, stocks=[point.state.stocks, point.state.opponent_stocks])
            for point in odds.points[first:]
        ],
        turning_points=odds.turning_points(),
    )


def _configured_model(path: str) -> OddsModel:
    if not path:
        return packaged_model()
    try:
        return read_model(expanded(path, "configuration", "odds.model"))
    except ModelError as error:
        raise ConfigError("configuration", "odds.model", "expected a model", found=error) from None
    except OSError as error:
        raise ConfigError("configuration", "odds.model", "expected a file that can be read", found=error) from None
