"""The trends of players in a daemon's index. They are computed on request, and kept for a while."""

from __future__ import annotations

from functools import partial
from typing import Any

import trio

from slpstream.config import Config
from slpstream.model.messages import timestamp
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.trends.own_games import GROUPINGS, Group, OwnGames, Trend, names_folded
from slpstream.parts.trends.rows import trend_row
from slpstream.parts.trends.schemas import LeftOut, Trends
from slpstream.parts.trends.stored_games import add_games
from slpstream.store import Database
from slpstream.store.kept_answers import KeptAnswers
from slpstream.store.player_games import Place, newest_places

MAX_GAMES = 10_000
"""The newest games of a player that are read."""
MAX_ROWS = 520
"""The most frequent groups that are listed, or the newest weeks: those of ten years."""
_GAMES_PER_READ = 500
_MAX_KEPT = 32


class NoIndex(Exception):
    """Raised if the index of games can't be read."""


class PlayerTrends(RunningPart):
    """The trends of players in one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._own_codes = tuple(host.config.search.me)
        self._kept = KeptAnswers[Trends](_MAX_KEPT)

    def games_changed(self, station: str | None) -> None:
        """Note that trends might have changed."""
        self._kept.games_changed()

    def configure(self, config: Config) -> None:
        """Use the connect codes of another configuration."""
        self._own_codes = tuple(config.search.me)

    async def trends_of(self, name: str | None, since_ms: int) -> Trends:
        """Return the trends of the player with a connect code, name or tag, or of the one that `search.me` names.

        Raises `NoIndex`.
        """
        me = self._own_codes if name is None else (name,)
        return await self._kept.get((me, since_ms), partial(self._computed, me, since_ms))

    async def _computed(self, me: tuple[str, ...], since_ms: int) -> Trends:
        index, names, own = self._host.index, names_folded(me), OwnGames()
        await index.written()
        places = await index.read(partial(_newest, names=names, since_ms=since_ms))
        if places is None:
            raise NoIndex
        is_limited = len(places) > MAX_GAMES
        places = places[:MAX_GAMES][::-1]
        for start in range(0, len(places), _GAMES_PER_READ):
            some = places[start : start + _GAMES_PER_READ]
            # Between the reads, the event loop and other readers have their turn.
            if await index.read(partial(_add, own=own, names=names, places=some)) is None:
                raise NoIndex
        limited_to = timestamp(places[0][0] / 1000) if is_limited else None
        return await trio.to_thread.run_sync(partial(_described, me, own, limited_to))


def _newest(database: Database, names: frozenset[str], since_ms: int) -> list[Place]:
    with database.reader() as reader:
        return newest_places(reader, names, MAX_GAMES + 1, since_ms=since_ms)


def _add(database: Database, **how: Any) -> bool:
    add_games(database, **how)
    return True


def _described(me: tuple[str, ...], own: OwnGames, limited_to: str | None) -> Trends:
    left_out = own.left_out
    trends = Trends(
        me=list(me),
        all=trend_row(Trend(Group(""), own.total())),
        left_out=LeftOut(
            not_two_players=left_out["notTwoPlayers"],
            computer=left_out["computer"],
            undecided=left_out["undecided"],
            same_name=left_out["sameName"],
        ),
        limited_to=limited_to,
    )
    for grouping in GROUPINGS:
        found = own.by(grouping)
        shown = found[-MAX_ROWS:] if grouping == "week" else found[:MAX_ROWS]
        setattr(trends, grouping, [trend_row(trend) for trend in shown])
        if len(shown) < len(found):
            trends.more[grouping] = len(found) - len(shown)
    return trends
