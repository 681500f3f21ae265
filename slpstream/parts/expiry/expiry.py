"""Keeps the index of games within its limits for age and size.

The index only forgets games, and never touches their files.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import trio

from slpstream.config import Store
from slpstream.parts.interface import Host, RunningPart
from slpstream.store.index import GameIndex
from slpstream.stream.channel import Hub
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics

_LOOK_SECONDS = 300.0
_DAY_SECONDS = 86_400


class Expiry(RunningPart):
    """Keeps the index of one daemon within its limits."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def run(self) -> None:
        """Enforce the limits until cancelled."""
        host = self._host
        await expire_games(host.index, host.hub, host.metrics, lambda: host.config.store)


async def expire_games(
    index: GameIndex,
    hub: Hub,
    metrics: Metrics,
    limits: Callable[[], Store],
    *,
    look_seconds: float = _LOOK_SECONDS,
    wall_clock: Callable[[], float] = time.time,
) -> None:
    """Enforce the limits until cancelled. `limits` is called for each sweep, because a reload can change them."""
    log = get_logger()
    while True:
        limit = limits()
        before_ms = None
        if limit.max_age_days:
            before_ms = round(1000 * (wall_clock() - limit.max_age_days * _DAY_SECONDS))
        running = [game.game_id for channel in hub.channels.values() for game in channel.games if game.in_progress]
        expired = await index.expire(before_ms=before_ms, max_bytes=limit.max_size_bytes or None, spared=running)
        if expired:
            log.info("games expired from the index", games=expired)
            metrics.counter("slpstream_expired_games_total").inc(expired)
        await trio.sleep(look_seconds)
