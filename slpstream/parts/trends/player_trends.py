"""The trends of players in a daemon's index. They are computed on request, and kept for a while."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any, NamedTuple

import trio

from slpstream.config import Config
from slpstream.model.messages import timestamp
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.trends.own_games import GROUPINGS, Group, OwnGames, Trend, names_folded
from slpstream.parts.trends.rows import trend_row
from slpstream.parts.trends.schemas import LeftOut, Trends
from slpstream.parts.trends.stored_games import add_games, newest_places

MAX_GAMES = 10_000
"""The newest games of a player that are read."""
MAX_ROWS = 520
"""The most frequent groups that are listed, or the newest weeks: those of ten years."""
_GAMES_PER_READ = 500
_KEPT = 32
_KEPT_SECONDS = 10
"""How long trends are kept although the index has changed."""


class NoIndex(Exception):
    """Raised if the index of games can't be read."""


class _Kept(NamedTuple):
    trends: Trends
    generation: int
    at_seconds: float


class PlayerTrends(RunningPart):
    """The trends of players in one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._own_codes = tuple(host.config.search.me)
        self._generation = 0
        """Counts the changes of the index."""
        self._kept: OrderedDict[Any, _Kept] = OrderedDict()
        self._computing = trio.Lock()

    def games_changed(self, station: str | None) -> None:
        """Note that trends might have changed."""
        self._generation += 1

    def configure(self, config: Config) -> None:
        """Use the connect codes of another configuration."""
        self._own_codes = tuple(config.search.me)

    async def trends_of(self, name: str | None, since_ms: int) -> Trends:
        """Return the trends of the player with a connect code, name or tag, or of the one that `search.me` names.

        Raises `NoIndex`.
        """
        me = self._own_codes if name is None else (name,)
        key = (me, since_ms)
        async with self._computing:  # one at a time
            kept, now = self._kept.get(key), trio.current_time()
            if kept is None or (kept.generation != self._generation and now - kept.at_seconds > _KEPT_SECONDS):
                generation = self._generation
                kept = self._kept[key] = _Kept(await self._computed(me, since_ms), generation, now)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return kept.trends

    async def _computed(self, me: tuple[str, ...], since_ms: int) -> Trends:
        index, names, own = self._host.index, names_folded(me), OwnGames()
        await index.written()
        places = await index.read(partial(newest_places, names=names, since_ms=since_ms, limit=MAX_GAMES + 1))
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


def _add(database: Any, **how: Any) -> bool:
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
