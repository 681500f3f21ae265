"""The settings of a station, and the services that it shares with the other stations of a daemon."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from slpstream.daemon.station.choice import GameChoice
from slpstream.system.internal_errors import InternalErrors

if TYPE_CHECKING:
    from slpstream.config.sections import Watch
    from slpstream.parts.services import FinishedGameCheck
    from slpstream.store.index import GameIndex


@dataclass(frozen=True)
class Timing:
    """Periods of a station that are not configured."""

    tick_seconds: float = 0.5
    release_seconds: float = 2.0
    """Broken files and copies are released when they have not grown for this long."""
    played_seconds: float = 0.25
    """A file replaces a game that is being played once it has been open for this long. Copying a file can take a
    moment."""
    retry_seconds: float = 1.0
    """Pause before a quarantined file is tried again. It doubles with each failure."""
    stable_seconds: float = 10.0
    """A station that has run this long since its last failure works again."""


class Settings:
    """The settings of one station. A reload of the configuration replaces `watch`."""

    def __init__(self, watch: Watch, timing: Timing) -> None:
        self.watch = watch
        self.timing = timing

    @property
    def choice(self) -> GameChoice:
        """The rules for the choice of the current game."""
        return GameChoice(self.watch.stalled_seconds, self.watch.idle_seconds, self.timing.played_seconds)


@dataclass(frozen=True)
class SharedServices:
    """Services that the stations of a daemon share."""

    limiter: trio.CapacityLimiter
    """Bounds the threads that read files."""
    index: GameIndex | None = None
    finished_games: FinishedGameCheck | None = None
    wall_clock: Callable[[], float] = time.time
    errors: InternalErrors = field(default_factory=InternalErrors)
    searching: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))
    """Bounds the threads that search old files for a game."""
