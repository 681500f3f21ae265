"""One setup: its folder, the games that are played on it, and its state.

A station follows each growing file below its folder with a pipeline, and publishes the messages that come out of it. If
a game never ends, it is left after a while, and it resumes if its file grows. Games from before the start of this
daemon are known but not streamed (see `archive`).

This module puts the pieces of a station together. When the tail reports an event, `following` takes it and decodes its
bytes. `publishing` publishes the resulting messages. After that, `status` turns to the game that is being played. The
work that is only caused by the passing of time is done twice a second. If no file has grown for a while, it is done
every five seconds. In between, we only check twice a second whether it is needed earlier.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import structlog
import trio

from slpstream.config.sections import Watch
from slpstream.daemon.station.archive import Archive
from slpstream.daemon.station.context import StationContext
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_files import FollowedFiles
from slpstream.daemon.station.following import Following
from slpstream.daemon.station.publishing import Publisher
from slpstream.daemon.station.status import StationStatus
from slpstream.formats.kernel import send_to_all
from slpstream.formats.registry import formats, is_finished, suffixes
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.notifications import Strategy
from slpstream.stream.channel import Channel, StationState
from slpstream.system.stagger import next_moment

_MAX_UNFINISHED_FILES = 8
"""For a moment, we keep at most this many broken files open, and at most this many files that the disk has never
accepted."""
_STILL_TICK_SECONDS = 5.0
"""The time between two ticks while no file has grown for a while."""
_STILL = "still"
"""The phase of the upkeep of all stations where no file grows."""


class Station:
    """One setup. Call `run` once. It only ends by being cancelled."""

    def __init__(self, context: StationContext) -> None:
        self.id = context.id
        self.name = context.name or context.id
        self.folder = context.folder
        self.notifications = context.notifications
        self.channel = channel = Channel(
            context.id,
            self._locate,
            publish_held=lambda: self.following.publish_held(),
            errors=context.errors,
            send_to_all=send_to_all,
        )
        self._context = context
        self._counters = counters = StationCounters(context)
        self.files = files = FollowedFiles(context, self._new_tail(), counters)
        self.archive = Archive(context, lambda: files.tail.listed)
        self.status = status = StationStatus(context, channel, files)
        self.publisher = publisher = Publisher(context, channel, files, status, counters)
        self.following = Following(context, channel, files, publisher, status, counters)
        self._is_still = True
        """Whether no file has grown for a while, and nothing is wrong."""
        self._due_at = 0.0
        """When the open files need the next upkeep, even if nothing happens."""

    @property
    def state(self) -> StationState:
        """The state of the station: `idle`, `playing`, `stalled` or `offline`."""
        return self.status.state

    @property
    def ready(self) -> bool:
        """Whether the folder can be read and has been searched once."""
        return self.channel.settled and self.state != "offline"

    @property
    def starting(self) -> bool:
        """Whether the folder hasn't been searched yet, and we do not know of any trouble.

        By then, we may already follow a game that was running before, so the state is not always `offline`.
        """
        return self.status.starting or (self.state != "offline" and not self.channel.settled)

    @property
    def strategy(self) -> Strategy:
        """How we notice changes of files. As long as nothing is reported to us, this is `polling`."""
        notifications = self.notifications
        return "polling" if notifications is None or notifications.degraded else notifications.strategy

    @property
    def followed(self) -> list[Path]:
        """The files that are followed. They must not be deleted."""
        return [followed.file.path for followed in self.files]

    @property
    def ring_bytes(self) -> int:
        """How much memory the rings of all games use."""
        return sum(log.size_bytes for game in list(self.channel.games) for log in game.logs.values())

    def describe(self) -> dict[str, Any]:
        """Return the station as `/v1/stations` shows it."""
        self.following.publish_held()
        game = self.channel.current
        description: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "reason": self.status.reason,
            "subscribers": self.channel.subscribers,
            "files": {"inProgress": len(self.files), "finished": len(self.files.tail.listed)},
            "watching": self.strategy,
        }
        if self.status.starting:
            description["starting"] = True
        if self.notifications is not None and self.notifications.degraded:
            description["degraded"] = self.notifications.degraded
        if game is not None:
            snapshot = self.channel.snapshot(game, "live")
            shown = ("gameId", "format", "settings", "summary", "cursor")
            description["game"] = {key: snapshot[key] for key in shown if key in snapshot}
            description["game"] |= {"inProgress": game.in_progress, "lastFrame": game.newest_frame_number}
        return description

    def index_again(self) -> None:
        """Report all files to the index again, because it has lost the games in them."""
        self.files.list_in_index({*self.files.tail.listed, *self.files.by_file})

    async def run(self) -> None:
        """Follow the folder until cancelled. After a bug outside of any file, this begins again after a pause."""
        structlog.contextvars.bind_contextvars(station=self.id)
        errors = self._context.errors
        await errors.keep_running("station", self._follow_folder, on_failure=self._failed, station=self.id)

    async def _follow_folder(self) -> None:
        self.status.began()
        tail = self.files.tail = self._new_tail()
        async with tail, trio.open_nursery() as nursery:
            tail.hand_over_growth(self.following.take)
            nursery.start_soon(self._keep_up, nursery)
            try:
                async for event in tail:
                    self.following.take(event)
            finally:
                self._counters.flush(self.files)

    async def _keep_up(self, nursery: trio.Nursery) -> None:
        """Do the upkeep regularly. It is staggered, so that fifty stations don't all do it at the same moment.

        All stations where no file grows share one timer. Files that were written in one go are played in `nursery`.
        """
        while True:
            phase = _STILL if self._is_still else self.id
            await self._context.ticks.wait(self._context.timing.tick_seconds, phase, self._needs_upkeep)
            self._tick(nursery)

    def _needs_upkeep(self, now: float) -> bool:
        """Whether `_tick` has to be called at `now`, on trio's clock. This is never so if nobody plays."""
        if self._counters.are_buffered or self.following.quarantined or not self.status.is_well:
            return True
        return now >= self._due_at and len(self.files) > 0

    def _tick(self, nursery: trio.Nursery) -> None:
        self.following.publish_held()
        self._counters.tick(self.files)
        if len(self.files):
            self._release_quiet_files()
            self.publisher.prefer_growing()
            self.following.play_files_at_rest(nursery)
        self.following.try_again()
        self.status.check_folder()
        if self.status.unreachable is None:
            self.status.check_growth()
        now, context = trio.current_time(), self._context
        grown_at = max((followed.grown_at for followed in self.files), default=-math.inf)
        # These changes happen soon after the last growth, and must not be late. The later ones can wait for a tick.
        prompt_seconds = max(context.watch.stalled_seconds, context.timing.release_seconds)
        is_well = self.status.is_well and not self.following.quarantined
        self._is_still = is_well and now - grown_at > prompt_seconds + 1
        # Stations whose players pause together don't do their upkeep together.
        self._due_at = next_moment(self.id, _STILL_TICK_SECONDS, now) if self._is_still else now

    def _release_quiet_files(self) -> None:
        """Release all files that never end and have been quiet for long enough.

        These are broken files, copies, and games that were never finished. If one of them grows later, it is read
        again, and its log continues. The current game is kept, because it may be paused.
        """
        now = trio.current_time()
        for followed in self.files:
            # Files that we no longer read don't report their growth, but we see it in their size.
            size_bytes = followed.file.size_bytes
            if followed.exhausted_size_bytes is not None and followed.exhausted_size_bytes != size_bytes:
                followed.exhausted_size_bytes, followed.grown_at = size_bytes, now
        release_seconds = self._context.timing.release_seconds
        quiet = [f for f in self.files if not (f.has_unread_bytes or f.existed)]
        for followed in [f for f in quiet if f.copy_of is not None and now - f.grown_at > release_seconds]:
            with self.following.contain(followed.file):
                self.files.release_unpublished(followed)
        quiet = sorted((f for f in quiet if f.copy_of is None), key=lambda followed: followed.grown_at)
        broken = [f for f in quiet if f.pipeline.failure is not None]
        for followed in broken:
            if now - followed.grown_at > release_seconds or len(broken) > _MAX_UNFINISHED_FILES:
                with self.following.contain(followed.file):
                    self.files.release(followed)
        idle_seconds, current = self._context.watch.idle_seconds, self.channel.current
        idle = [f for f in quiet if f.pipeline.failure is None and now - f.grown_at > idle_seconds]
        idle = [f for f in idle if not f.playing and (f.game is None or f.game is not current)]
        on_disk = [f for f in idle if not f.ahead_of_disk]
        not_on_disk = [f for f in idle if f.ahead_of_disk]  # the disk may never accept the rest of them
        for followed in [*on_disk, *not_on_disk[:-_MAX_UNFINISHED_FILES]]:
            with self.following.contain(followed.file):
                self.publisher.leave(followed)

    def _new_tail(self) -> FolderTail:
        watch = self._context.watch
        return FolderTail(
            self.folder,
            suffixes=suffixes(),
            rewritable_bytes=max(format_.rewritable_bytes for format_ in formats()),
            is_finished=is_finished,
            notifications=self.notifications,
            poll_seconds=watch.poll_seconds,
            scan_seconds=watch.scan_seconds,
            idle_seconds=watch.idle_seconds,
        )

    def _failed(self, error_id: str, failures: int) -> None:
        """Note that a bug has ended the work on the folder, which will begin again after a pause."""
        self.files.abandon()
        self.status.failed(error_id, failures)
        self.channel.notify()

    def configure(self, watch: Watch) -> None:
        """Use other settings from now on. Only the intervals of polling and scanning stay as they are."""
        self._context.watch = watch

    def leave(self, reason: str) -> None:
        """Tell the subscribers why the station is about to end."""
        self.status.change("offline", reason)

    async def _locate(self, game_id: str) -> None:
        """Make the game with this id and all later games known, if they are in files that we don't follow."""
        # Only scans show that a folder is there, and a missing folder shows nothing about its games.
        while self.files.tail.root_trouble is not None:  # noqa: ASYNC110
            await trio.sleep(self._context.timing.tick_seconds)
        live = {game.game_id for game in self.channel.games if not game.archived}
        found = await self.archive.games_from(game_id)
        self.channel.insert_archived([game for game in found if game.game_id not in live])
