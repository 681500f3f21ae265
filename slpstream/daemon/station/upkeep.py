"""The work of a station that time alone causes, twice a second."""

from __future__ import annotations

import trio

from slpstream.daemon.station.containment import FileContainment
from slpstream.daemon.station.copies import Copies
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.current_game import CurrentGame
from slpstream.daemon.station.feeding import Feeder
from slpstream.daemon.station.folder_health import FolderHealth
from slpstream.daemon.station.followed_files import FollowedFiles
from slpstream.daemon.station.quiet_files import QuietFiles
from slpstream.daemon.station.services import Settings
from slpstream.daemon.station.whole_files import WholeFiles


class Upkeep:
    """The regular work of one station."""

    def __init__(
        self,
        files: FollowedFiles,
        feeder: Feeder,
        counters: StationCounters,
        quiet: QuietFiles,
        copies: Copies,
        whole: WholeFiles,
        containment: FileContainment,
        health: FolderHealth,
        current: CurrentGame,
        settings: Settings,
    ) -> None:
        self._files = files
        self._feeder = feeder
        self._counters = counters
        self._quiet = quiet
        self._copies = copies
        self._whole = whole
        self._containment = containment
        self._health = health
        self._current = current
        self._settings = settings

    def tick(self, nursery: trio.Nursery) -> None:
        """Do the work once. Files that were written in one go are played in `nursery`."""
        self._feeder.publish_held()
        self._counters.tick(self._files.readers())
        self._quiet.release()
        self._copies.prefer_growing(self._settings.watch.stalled_seconds)
        self._whole.play_files_at_rest(nursery)
        self._containment.try_again()
        self._health.check_stable()
        self._health.check()
        if self._health.is_reachable:
            self._current.check_growth()

    def end(self) -> None:
        """Flush the counters."""
        self._counters.flush(self._files.readers())
