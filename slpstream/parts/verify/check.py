"""The check of finished games."""

from __future__ import annotations

from slpstream.game.replay_check import ReplayCheck
from slpstream.parts.interface import Host, RunningPart


class CheckedGames(RunningPart):
    """Decodes finished games again. This provides a `ReplayCheck`, to which the stations pass their games."""

    def __init__(self, host: Host) -> None:
        metrics = host.metrics
        self._check = ReplayCheck(
            lambda station, result: metrics.counter("slpstream_verified_games_total", station, result).inc()
        )
        host.provide(ReplayCheck, self._check)

    async def run(self) -> None:
        """Check games until cancelled."""
        await self._check.run()
