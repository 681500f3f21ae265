"""The settings of a station, and the services that it shares with the other stations of a daemon."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from slpstream.config.sections import Watch
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.ticks import SharedTicks

if TYPE_CHECKING:
    from slpstream.parts.services import FinishedGameCheck
    from slpstream.store.index import GameIndex


@dataclass(frozen=True)
class Timing:
    """The periods of a station that can't be configured."""

    tick_seconds: float = 0.5
    release_seconds: float = 2.0
    """Broken files and copies are released when they haven't grown for this long."""
    played_seconds: float = 0.25
    """Once a file has been open for this long, its game replaces a game that is being played. It is not zero, because
    copying a file can take a moment."""
    retry_seconds: float = 1.0
    """The pause before we try a file in quarantine again. It doubles with each failure."""
    stable_seconds: float = 10.0
    """Once a station has run for this long since its last failure, it counts as working again."""


@dataclass
class Settings:
    """The settings of one station. If the configuration is reloaded, this gets another `watch`."""

    watch: Watch
    timing: Timing


@dataclass(frozen=True)
class SharedServices:
    """The services that all stations of a daemon share."""

    limiter: trio.CapacityLimiter
    """Limits the number of threads that read files."""
    index: GameIndex | None = None
    finished_games: FinishedGameCheck | None = None
    wall_clock: Callable[[], float] = time.time
    errors: InternalErrors = field(default_factory=InternalErrors)
    ticks: SharedTicks = field(default_factory=SharedTicks)
    """Wakes the stations for their upkeep."""
    searching: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))
    """Limits the number of threads that search old files for a game."""
