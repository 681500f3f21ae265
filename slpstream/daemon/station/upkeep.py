"""The work of a station that is only caused by the passing of time. It is done twice a second.

If no file has grown for a while, it is done every five seconds. In between, we only check twice a second whether it is
needed earlier.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import trio

from slpstream.system.stagger import next_moment

if TYPE_CHECKING:
    from slpstream.daemon.station.containment import FileContainment
    from slpstream.daemon.station.counters import StationCounters
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.following import Following
    from slpstream.daemon.station.publishing import Publisher
    from slpstream.daemon.station.services import Settings
    from slpstream.daemon.station.status import StationStatus
    from slpstream.daemon.station.whole_files import WholeFiles
    from slpstream.stream.channel import Channel
    from slpstream.system.ticks import SharedTicks

_MAX_UNFINISHED_FILES = 8
"""For a moment, we keep at most this many broken files open, and at most this many files that the disk has never
accepted."""
_STILL_TICK_SECONDS = 5.0
"""The time between two ticks while no file has grown for a while."""
_STILL = "still"
"""The phase of the upkeep of all stations where no file grows."""


class Upkeep:
    """The regular work of one station."""

    def __init__(
        self,
        channel: Channel,
        files: FollowedFiles,
        following: Following,
        publisher: Publisher,
        counters: StationCounters,
        whole: WholeFiles,
        containment: FileContainment,
        status: StationStatus,
        settings: Settings,
    ) -> None:
        self._channel = channel
        self._files = files
        self._following = following
        self._publisher = publisher
        self._counters = counters
        self._whole = whole
        self._containment = containment
        self._status = status
        self._settings = settings
        self._due_at = 0.0
        """When the open files need the next tick, even if nothing happens."""
        self._is_still = True
        """Whether no file has grown for a while, and nothing is wrong."""

    async def run(self, ticks: SharedTicks, nursery: trio.Nursery) -> None:
        """Do the work regularly. It is staggered, so that fifty stations don't all do it at the same moment.

        All stations where no file grows share one timer. Files that were written in one go are played in `nursery`.
        """
        while True:
            phase = _STILL if self._is_still else self._channel.station
            await ticks.wait(self._settings.timing.tick_seconds, phase, self._is_needed)
            self._tick(nursery)

    def _is_needed(self, now: float) -> bool:
        """Whether `_tick` has to be called at `now`, on trio's clock. This is never so if nobody plays."""
        if self._counters.are_buffered or self._containment.quarantined or not self._status.is_well:
            return True
        return now >= self._due_at and len(self._files) > 0

    def _tick(self, nursery: trio.Nursery) -> None:
        self._following.publish_held()
        self._counters.tick(self._files.readers())
        if len(self._files):
            self._release_quiet_files()
            self._publisher.prefer_growing(self._settings.watch.stalled_seconds)
            self._whole.play_files_at_rest(nursery)
        self._containment.try_again()
        self._status.check_folder()
        if self._status.unreachable is None:
            self._status.check_growth()
        now, settings = trio.current_time(), self._settings
        grown_at = max((followed.growth.grown_at for followed in self._files), default=-math.inf)
        # These changes happen soon after the last growth, and must not be late. The later ones can wait for a tick.
        prompt_seconds = max(settings.watch.stalled_seconds, settings.timing.release_seconds)
        is_well = self._status.is_well and not self._containment.quarantined
        self._is_still = is_well and now - grown_at > prompt_seconds + 1
        # Stations whose players pause together don't do their upkeep together.
        self._due_at = next_moment(self._channel.station, _STILL_TICK_SECONDS, now) if self._is_still else now

    def _release_quiet_files(self) -> None:
        """Release all files that never end and have been quiet for long enough.

        These are broken files, copies, and games that were never finished. If one of them grows later, it is read
        again, and its log continues. The current game is kept, because it may be paused.
        """
        now = trio.current_time()
        for followed in self._files:
            # Files that we no longer read don't report their growth, but we see it in their size.
            size_bytes = followed.file.size_bytes
            if followed.exhausted_size_bytes is not None and followed.exhausted_size_bytes != size_bytes:
                followed.exhausted_size_bytes, followed.growth.grown_at = size_bytes, now
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
        idle = [f for f in idle if not f.playing and (f.game is None or f.game is not current)]
        on_disk = [f for f in idle if not f.ahead_of_disk]
        not_on_disk = [f for f in idle if f.ahead_of_disk]  # the disk may never accept the rest of them
        for followed in [*on_disk, *not_on_disk[:-_MAX_UNFINISHED_FILES]]:
            self._containment.run(followed.file, self._publisher.leave, followed)
