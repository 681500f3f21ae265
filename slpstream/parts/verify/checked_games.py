"""Checks finished games."""

from __future__ import annotations

from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import FinishedGameCheck
from slpstream.parts.verify.replay_check import ReplayCheck


class CheckedGames(RunningPart):
    """Decodes finished games again. This provides a `FinishedGameCheck`, to which the stations pass their games."""

    def __init__(self, host: Host) -> None:
        metrics = host.metrics
        self._check = ReplayCheck(
            lambda station, result: metrics.counter("slpstream_verified_games_total", station, result).inc()
        )
        host.provide(FinishedGameCheck, self._check)

    async def run(self) -> None:
        """Check games until cancelled."""
        await self._check.run()
