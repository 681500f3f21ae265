"""The work of a station that is only caused by the passing of time. It is done twice a second.

If no file has grown for a while, it is done every five seconds. In between, we only check twice a second whether it is
needed earlier.

`QuietFiles` releases the files that never end. These are broken files, copies, and games that were never finished.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from slpstream.system.stagger import next_moment

if TYPE_CHECKING:
    from slpstream.daemon.station.containment import FileContainment
    from slpstream.daemon.station.counters import StationCounters
    from slpstream.daemon.station.current_game import CurrentGame
    from slpstream.daemon.station.folder_health import FolderHealth
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.publishing import Copies, Feeder
    from slpstream.daemon.station.services import Settings
    from slpstream.daemon.station.whole_files import WholeFiles
    from slpstream.stream.channel import Channel

_MAX_UNFINISHED_FILES = 8
"""For a moment, we keep at most this many broken files open, and at most this many files that the disk has never
accepted."""
_STILL_TICK_SECONDS = 5.0
"""The time between two ticks while no file has grown for a while."""


class QuietFiles:
    """Releases those files of one station that have stopped growing."""

    def __init__(
        self, channel: Channel, files: FollowedFiles, copies: Copies, containment: FileContainment, settings: Settings
    ) -> None:
        self._channel = channel
        self._files = files
        self._copies = copies
        self._containment = containment
        self._settings = settings

    def release(self) -> None:
        """Release all files that have been quiet for long enough.

        If one of them grows later, it is read again, and its log continues. The current game is kept, because it may be
        paused.
        """
        now = trio.current_time()
        self._note_growth_of_exhausted(now)
        quiet = [f for f in self._files if not (f.has_unread_bytes or f.existed)]
        quiet.sort(key=lambda followed: followed.growth.grown_at)
        release_seconds = self._settings.timing.release_seconds
        for followed in [f for f in quiet if f.copy_of is not None]:
            if now - followed.growth.grown_at > release_seconds:
                self._files.release_copy(followed)
        quiet = [f for f in quiet if f.copy_of is None]
        broken = [f for f in quiet if f.pipeline.failure is not None]
        for followed in broken:
            if now - followed.growth.grown_at > release_seconds or len(broken) > _MAX_UNFINISHED_FILES:
                self._containment.run(followed.file, self._files.release, followed)
        idle_seconds, current = self._settings.watch.idle_seconds, self._channel.current
        idle = [f for f in quiet if f.pipeline.failure is None and now - f.growth.grown_at > idle_seconds]
        idle = [f for f in idle if not (f.whole is not None and f.whole.playing)]
        idle = [f for f in idle if f.game is None or f.game is not current]
        on_disk = [f for f in idle if not f.ahead_of_disk]
        not_on_disk = [f for f in idle if f.ahead_of_disk]  # the disk may never accept the rest of them
        for followed in [*on_disk, *not_on_disk[:-_MAX_UNFINISHED_FILES]]:
            game = followed.game
            if game is None:
                self._containment.run(followed.file, self._files.release, followed)
            else:
                self._containment.run(followed.file, self._copies.leave, followed, game)

    def _note_growth_of_exhausted(self, now: float) -> None:
        """Look for growth in files that we no longer read. They don't report it, but we see it in their size."""
        for followed in self._files:
            size_bytes = followed.file.size_bytes
            if followed.exhausted_size_bytes is not None and followed.exhausted_size_bytes != size_bytes:
                followed.exhausted_size_bytes, followed.growth.grown_at = size_bytes, now


class Upkeep:
    """The regular work of one station."""

    def __init__(
        self,
        station: str,
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
        self._station = station
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
        self._due_at = 0.0
        """When the open files need the next tick, even if nothing happens."""
        self.is_still = True
        """Whether no file has grown for a while, and nothing is wrong."""

    def is_needed(self, now: float) -> bool:
        """Whether `tick` has to be called at `now`, on trio's clock. On a station where nobody plays, it never does."""
        if self._counters.are_buffered or self._containment.has_quarantined or not self._health.is_well:
            return True
        return now >= self._due_at and len(self._files) > 0

    def tick(self, nursery: trio.Nursery) -> None:
        """Do the work once. Files that were written in one go are played in `nursery`."""
        self._feeder.publish_held()
        self._counters.tick(self._files.readers())
        if len(self._files):
            self._quiet.release()
            self._copies.prefer_growing(self._settings.watch.stalled_seconds)
            self._whole.play_files_at_rest(nursery)
        self._containment.try_again()
        self._health.check_stable()
        self._health.check()
        if self._health.is_reachable:
            self._current.check_growth()
        now, settings = trio.current_time(), self._settings
        grown_at = max((followed.growth.grown_at for followed in self._files), default=-math.inf)
        # These changes happen soon after the last growth, and must not be late. The later ones can wait for a tick.
        prompt_seconds = max(settings.watch.stalled_seconds, settings.timing.release_seconds)
        is_well = self._health.is_well and not self._containment.has_quarantined
        self.is_still = is_well and now - grown_at > prompt_seconds + 1
        # Stations whose players pause together don't do their upkeep together.
        self._due_at = next_moment(self._station, _STILL_TICK_SECONDS, now) if self.is_still else now

    def end(self) -> None:
        """Flush the counters."""
        self._counters.flush(self._files.readers())
