"""Computes the odds of games on request. Those of games that were asked for before continue where they ended."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakValueDictionary

import trio
from msgspec import UNSET

from slpstream.config.checks import expanded
from slpstream.model.errors import ConfigError, CursorGone
from slpstream.model.messages import Cursor
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.odds.followed_game import FollowedGame
from slpstream.parts.odds.log_odds import LogOdds
from slpstream.parts.odds.model import ModelError, OddsModel, packaged_model, read_model
from slpstream.parts.odds.part import Odds as OddsSection
from slpstream.parts.odds.schemas import GameOddsFound, OddsPoint, OddsQuery, SetTurningPoint, SetTurningPoints
from slpstream.parts.odds.sent_odds import send_odds
from slpstream.parts.odds.turning_points import MAX_TURNING_POINTS
from slpstream.parts.services import Odds, Span, Swing
from slpstream.stream.channel import Channel, Send
from slpstream.stream.game import Game
from slpstream.stream.subscription import Start

_KEPT_GAMES = 64
"""As many as there are games that are played at the stations of a large tournament."""


class AskedOdds(RunningPart):
    """The odds of the games of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._model = _configured_model(host.config.section(OddsSection).model)
        self._followed: WeakValueDictionary[str, FollowedGame] = WeakValueDictionary()
        """The games that somebody asked for, as long as a subscription has them or they are kept."""
        self._kept: OrderedDict[str, FollowedGame] = OrderedDict()
        self._computing = trio.Lock()
        host.provide(Odds, self)

    async def odds(self, game_id: str, query: OddsQuery) -> GameOddsFound | None:
        """Return the odds of a game so far, or `None` if it is unknown or its file is missing."""
        odds = await self._read(game_id)
        return None if odds is None else _found(game_id, odds, query)

    async def turning_points_of_set(self, station: str) -> SetTurningPoints:
        """Return the turning points of a station's newest set."""
        score = await self._host.sets.score(station)
        final = True
        found: list[SetTurningPoint] = []
        for game in score.games:
            odds = await self._read(game.game_id) if game.counts else None
            if odds is not None:
                final = final and (odds.is_over or bool(odds.without_odds))
                found += [SetTurningPoint(game_id=game.game_id, turning_point=each) for each in odds.turning_points()]
        found.sort(key=lambda each: -each.turning_point.swing)
        return SetTurningPoints(set_id=score.set_id, final=final, turning_points=found[:MAX_TURNING_POINTS])

    async def swings(self, game_id: str, spans: Sequence[Span]) -> list[Swing | None]:
        """Return how much the odds have changed in each part of a game. It is `None` for those without odds."""
        odds = await self._read(game_id) if spans else None
        return [None if odds is None else odds.swing(span) for span in spans]

    async def send_messages(self, kind: str, channel: Channel, start: Start | Cursor, send: Send) -> None:
        """Send the odds of a station to one subscription."""
        await send_odds(channel, start, send, self._follow)

    async def _read(self, game_id: str) -> LogOdds | None:
        async with self._computing:  # one game at a time
            log = await self._host.games.log(game_id)
            if log is None:
                return None
            asked = self._kept[game_id] = self._follow(log)
            self._kept.move_to_end(game_id)
            while len(self._kept) > _KEPT_GAMES:
                self._kept.popitem(last=False)
            try:
                await asked.read_on()
            except CursorGone:  # the file was replaced, so the next request begins again
                del self._kept[game_id]
                self._followed.pop(game_id, None)
                return None
            return asked.odds

    def _follow(self, log: Game) -> FollowedGame:
        followed = self._followed.get(log.game_id)
        if followed is None or followed.log is not log:
            followed = self._followed[log.game_id] = FollowedGame(log, self._model)
        return followed


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
