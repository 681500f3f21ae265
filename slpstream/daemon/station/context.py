"""Everything that a station gets from its daemon."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from slpstream.config.sections import Watch
from slpstream.sources.tail.notifications import Notifications
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import StationMetrics
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
class StationContext:
    """The settings of one station, and the services that it uses. It shares most of them with other stations."""

    id: str
    folder: Path
    watch: Watch
    """If the configuration is reloaded, this is replaced."""
    ring_bytes: int
    """The limit for the newest messages of a game in memory, for each `frames` mode."""
    metrics: StationMetrics
    limiter: trio.CapacityLimiter
    """Limits the number of threads that read files."""
    name: str = ""
    """The name for people. If it is empty, the id is shown."""
    notifications: Notifications | None = None
    """Notifications about changes in the folder. Without them, it is polled."""
    timing: Timing = field(default_factory=Timing)
    index: GameIndex | None = None
    finished_games: FinishedGameCheck | None = None
    errors: InternalErrors = field(default_factory=InternalErrors)
    ticks: SharedTicks = field(default_factory=SharedTicks)
    """Wakes the stations for their upkeep."""
