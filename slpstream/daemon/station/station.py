"""One setup: its folder, the games that are played on it, and its state.

A station follows each growing file below its folder with a pipeline, and publishes the messages that come out of it. If
a game never ends, it is left after a while, and it resumes if its file grows. Games from before the start of this
daemon are known but not streamed (see `archive`).

This module puts the pieces of a station together. When the tail reports an event, `following` takes it and decodes its
bytes. `publishing` publishes the resulting messages. After that, `status` turns to the game that is being played.
Finally, `upkeep` does the work that is only caused by the passing of time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
import trio

from slpstream.daemon.station.archive import Archive
from slpstream.daemon.station.containment import FileContainment
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_files import FollowedFiles
from slpstream.daemon.station.following import Following
from slpstream.daemon.station.publishing import Publisher
from slpstream.daemon.station.services import Settings, SharedServices, Timing
from slpstream.daemon.station.status import StationStatus
from slpstream.daemon.station.upkeep import Upkeep
from slpstream.daemon.station.whole_files import WholeFiles
from slpstream.formats.kernel import send_to_all
from slpstream.formats.registry import formats, is_finished, suffixes
from slpstream.sources.tail.folder import FolderTail
from slpstream.stream.channel import Channel, StationState

if TYPE_CHECKING:
    from slpstream.config.sections import Watch
    from slpstream.sources.tail.notifications import Notifications, Strategy
    from slpstream.system.metrics import StationMetrics

_TIMING = Timing()


class Station:
    """One setup. Call `run` once. It only ends by being cancelled."""

    def __init__(
        self,
        station: str,
        folder: Path,
        *,
        name: str,
        watch: Watch,
        ring_bytes: int,
        notifications: Notifications | None,
        metrics: StationMetrics,
        shared: SharedServices,
        timing: Timing = _TIMING,
    ) -> None:
        self.id = station
        self.name = name or station
        self.folder = folder
        self.channel = channel = Channel(
            station,
            self._locate,
            publish_held=lambda: self.following.publish_held(),
            errors=shared.errors,
            send_to_all=send_to_all,
        )
        self.notifications = notifications
        self._shared = shared
        self._settings = settings = Settings(watch, timing)
        self._counters = counters = StationCounters(metrics, folder, shared.wall_clock)
        self.files = files = FollowedFiles(station, folder, self._new_tail(), counters, shared)
        stored_ids = None if shared.index is None else partial(shared.index.game_ids, station)
        self.archive = Archive(folder, lambda: files.tail.listed, shared, stored_ids)
        self.status = status = StationStatus(channel, files, settings, shared.wall_clock)
        self.publisher = publisher = Publisher(channel, files, status, counters, shared, ring_bytes=ring_bytes)
        containment = FileContainment(station, files, publisher, shared.errors, timing.retry_seconds)
        self.following = following = Following(channel, files, publisher, status, containment, counters)
        whole = WholeFiles(files, publisher, containment, settings, shared)
        self._upkeep = Upkeep(channel, files, following, publisher, counters, whole, containment, status, settings)

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
    def active_files(self) -> int:
        """The number of files that are followed."""
        return len(self.files)

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
        await self._shared.errors.keep_running("station", self._follow_folder, on_failure=self._failed, station=self.id)

    async def _follow_folder(self) -> None:
        self.status.began()
        tail = self.files.tail = self._new_tail()
        async with tail, trio.open_nursery() as nursery:
            tail.hand_over_growth(self.following.take)
            nursery.start_soon(self._upkeep.run, self._shared.ticks, nursery)
            try:
                async for event in tail:
                    self.following.take(event)
            finally:
                self._counters.flush(self.files.readers())

    def _new_tail(self) -> FolderTail:
        watch = self._settings.watch
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
        self.following.discard_held()
        self.files.abandon()
        self.status.failed(error_id, failures)
        self.channel.notify()

    def configure(self, watch: Watch) -> None:
        """Use other settings from now on. Only the intervals of polling and scanning stay as they are."""
        self._settings.watch = watch

    def leave(self, reason: str) -> None:
        """Tell the subscribers why the station is about to end."""
        self.status.change("offline", reason)

    async def _locate(self, game_id: str) -> None:
        """Make the game with this id and all later games known, if they are in files that we don't follow."""
        # Only scans show that a folder is there, and a missing folder shows nothing about its games.
        while self.files.tail.root_trouble is not None:  # noqa: ASYNC110
            await trio.sleep(self._settings.timing.tick_seconds)
        live = {game.game_id for game in self.channel.games if not game.archived}
        found = await self.archive.games_from(game_id)
        self.channel.insert_archived([game for game in found if game.game_id not in live])
