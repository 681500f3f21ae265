"""One setup: its folder, the games that are played on it, and its state.

A station follows every growing file below its folder, each with a pipeline of its own, and publishes what comes out.
A game that never ended is left after a while, and goes on if its file does. Games from before this daemon started are
known, but not streamed: see `archive`.

The current game is the one that is played: of the games whose files grow, the one with the newest Game Start. A file
that arrives whole, such as a copy of an old replay, is indexed and delivered to lossless subscribers as a secondary
game: it does not become the current game of a station on which one has been played. Until then, the newest file is
shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import structlog
import trio

from slpstream.config import Watch
from slpstream.daemon.station.archive import Archive
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_file import FollowedFile, GamesByFile, unwritten_file
from slpstream.daemon.station.set_aside import SetAsideFiles
from slpstream.daemon.station.state import StateMachine
from slpstream.formats.interface import REST_SECONDS, SNIFFED_BYTES, Reader
from slpstream.formats.registry import choose, formats, is_finished, of_name, suffixes
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import MODES, ReadUnwritten
from slpstream.game.pipeline import Batch, Pipeline
from slpstream.game.record import record_of
from slpstream.game.replay_check import ReplayCheck
from slpstream.model.errors import SourceError, Unreadable, Vanished
from slpstream.model.events import Diagnostic, Event, GameStart
from slpstream.model.messages import LogMessage, body_of
from slpstream.sources.tail import (
    CaughtUp,
    FolderTail,
    Grew,
    Lost,
    Notifications,
    Opened,
    Refused,
    Rewritten,
    Scanned,
    Settled,
    Strategy,
    TailedFile,
    TailEvent,
    Touched,
)
from slpstream.store.index import GameIndex
from slpstream.stream import Channel, Game, Role, StationState
from slpstream.system.files import printable, read_regular
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.system.metrics import StationMetrics
from slpstream.system.stagger import phase_of

_PACED_SECONDS = 0.05
_PLAYED_AT_ONCE = 256
"""Frames of a file written in one go that are published together when they are not paced."""
_UNFINISHED_FILES = 8
"""Broken files that are kept open for a moment, and files that the disk never took: at most this many of each."""
_COPIED_BYTES = 1 << 16
"""A game that is begun again has fewer bytes than this when its Game Start is read; a copy usually has more."""
_MAX_FAILURES = 1
"""A station that fails more often in a row is offline until it has run for a while."""


@dataclass(frozen=True)
class Timing:
    """Periods of a station that are not configured."""

    tick_seconds: float = 0.5
    release_seconds: float = 2.0
    """Broken files and copies are released when they have not grown for this long."""
    played_seconds: float = 0.25
    """A file takes the place of a game that is played once it has grown for this long. Copying a file can take a
    moment."""
    retry_seconds: float = 1.0
    """Pause before a file that was set aside is tried again. It doubles with each failure."""
    stable_seconds: float = 10.0
    """A station that has run this long since its last failure works again."""


@dataclass(frozen=True)
class SharedServices:
    """Services that the stations of a daemon share."""

    limiter: trio.CapacityLimiter
    """Bounds the threads that read files."""
    index: GameIndex | None = None
    replay_check: ReplayCheck | None = None
    wall_clock: Callable[[], float] = time.time
    errors: InternalErrors = field(default_factory=InternalErrors)
    searching: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))
    """Bounds the threads that search old files for a game."""


class Station:
    """One setup. `run` it once; it ends only by cancellation."""

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
        timing: Timing = Timing(),
    ) -> None:
        self.id = station
        self.name = name or station
        self.folder = folder
        self.channel = Channel(station, self._locate, publish_held=self._publish_held, errors=shared.errors)
        self.notifications = notifications
        self.read_unwritten: ReadUnwritten | None = None
        """Reads bytes that the disk has not taken."""
        self.on_bytes: Callable[[FollowedFile, int, bytes], None] | None = None
        """Called with the next bytes of a file and their offset, without gaps; must return at once.

        A file that is read again, because it was not followed for a while, comes again from its beginning.
        """
        self._watch = watch
        self._timing = timing
        self._ring_bytes = ring_bytes
        self._metrics = metrics
        self._shared = shared
        self._counters = StationCounters(metrics, folder, shared.wall_clock)
        self._archive = Archive(
            folder,
            shared.limiter,
            self._archived_files,
            searching=shared.searching,
            stored_ids=None if shared.index is None else partial(shared.index.game_ids, station),
        )
        self._state = StateMachine(self.channel, shared.wall_clock)
        self._log = get_logger()
        self._nursery: trio.Nursery | None = None
        self._tail: FolderTail | None = None
        self._followed: dict[TailedFile, FollowedFile] = {}
        self._held: FollowedFile | None = None
        """The file whose last bytes wait because nobody reads the station."""
        self._unwritten: dict[FollowedFile, None] = {}
        """Files with messages that wait because nobody reads the log of their mode."""
        self._games = GamesByFile()
        self._set_aside = SetAsideFiles(timing.retry_seconds)
        self._containment = shared.errors.contain("file", station=station)
        self._unreachable: str | None = None
        self._broken: str | None = None
        self._began_at = 0.0

    @property
    def state(self) -> StationState:
        """`idle`, `playing`, `stalled` or `offline`."""
        return self._state.state

    @property
    def ready(self) -> bool:
        """Whether the folder can be read and has been searched once."""
        return self.channel.settled and self.state != "offline"

    @property
    def starting(self) -> bool:
        """Whether the folder has not been searched yet and no trouble is known.

        A game that was running before can be followed by then, so the state need not be `offline`.
        """
        return self._state.starting or (self.state != "offline" and not self.channel.settled)

    @property
    def strategy(self) -> Strategy:
        """How changes of files are noticed; `polling` while nothing is reported."""
        notifications = self.notifications
        return "polling" if notifications is None or notifications.degraded else notifications.strategy

    @property
    def active_files(self) -> int:
        """Number of files that are followed."""
        return len(self._followed)

    @property
    def followed(self) -> list[Path]:
        """The files that are followed, and must not be deleted."""
        return [followed.file.path for followed in self._followed.values()]

    @property
    def lag_seconds(self) -> float:
        """How long unread bytes have been waiting in the followed files; 0 without unread bytes."""
        files = list(self._followed.values())  # called from a worker thread
        files = [f for f in files if f.written_whole or not f.file.arrived_whole]  # others are read when there is time
        waiting_since = [f.file.mtime_ns / 1e9 for f in files if f.has_unread_bytes]
        return max(0.0, self._shared.wall_clock() - min(waiting_since)) if waiting_since else 0.0

    @property
    def ring_bytes(self) -> int:
        """Memory of the rings of all games."""
        return sum(log.size_bytes for game in list(self.channel.games) for log in game.logs.values())

    def describe(self) -> dict[str, Any]:
        """The station as `/v1/stations` shows it."""
        self._publish_held()
        game = self.channel.current
        description: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "reason": self._state.reason,
            "subscribers": self.channel.subscribers,
            "files": {"inProgress": len(self._followed), "finished": len(self._archived_files())},
        }
        description["watching"] = self.strategy
        if self._state.starting:
            description["starting"] = True
        if self.notifications is not None and self.notifications.degraded:
            description["degraded"] = self.notifications.degraded
        if game is not None:
            snapshot = self.channel.snapshot(game, "live")
            shown = ("gameId", "format", "settings", "summary", "cursor")
            description["game"] = {key: snapshot[key] for key in shown if key in snapshot}
            description["game"] |= {"inProgress": game.in_progress, "lastFrame": game.newest_frame_number}
        return description

    def recordings(self) -> list[dict[str, Any]]:
        """The newest files that are not followed, as `/v1/stations/{id}` lists them. Names only, never paths."""
        return self._archive.newest()

    def index_again(self) -> None:
        """Report all files to the index, which has lost the games in them."""
        self._report_listed({*self._archived_files(), *self._followed})

    async def run(self) -> None:
        """Follow the folder until cancelled. A bug outside of any file starts the work again, after a pause."""
        structlog.contextvars.bind_contextvars(station=self.id)
        await self._shared.errors.keep_running("station", self._follow_folder, on_failure=self._failed, station=self.id)

    async def _follow_folder(self) -> None:
        self._began_at = trio.current_time()
        tail = FolderTail(
            self.folder,
            suffixes=suffixes(),
            rewritable_bytes=max(format_.rewritable_bytes for format_ in formats()),
            is_finished=is_finished,
            notifications=self.notifications,
            poll_seconds=self._watch.poll_seconds,
            scan_seconds=self._watch.scan_seconds,
            idle_seconds=self._watch.idle_seconds,
        )
        async with tail, trio.open_nursery() as nursery:
            self._tail, self._nursery = tail, nursery
            tail.hand_over_growth(self._take)
            nursery.start_soon(self._tick)
            try:
                async for event in tail:
                    self._take(event)
            finally:
                self._counters.flush(self._readers())

    def _take(self, event: TailEvent) -> None:
        take = self.REACTIONS[type(event)]
        if take is not Station._grew:
            self._publish_held()
        if isinstance(event, Scanned | Settled | Touched):
            take(self, event)
            return
        with self._containment as contained:
            take(self, event)
        if contained.error_id is not None and not isinstance(event, Refused):
            self._put_aside(event.file, contained.error_id)

    def _guard(self, file: TailedFile, work: Callable[[], None]) -> None:
        """Do something for one file. An unexpected exception ends the work on this file alone."""
        with self._containment as contained:
            work()
        if contained.error_id is not None:
            self._put_aside(file, contained.error_id)

    def _put_aside(self, file: TailedFile, error_id: str) -> None:
        """Leave a file alone until it changes, because of a bug that was logged under this id."""
        self._log.warning("file set aside", file=printable(file.path, self.folder), error_id=error_id)
        self._set_aside.add(file, trio.current_time())
        followed = self._followed.pop(file, None)
        if self._tail is not None:
            self._tail.release(file)
        offset = 0 if followed is None else followed.pipeline.bytes_read
        self.publish_diagnostic(
            "internal_error", file.path, offset, f"internal error {error_id}, set aside until it changes"
        )
        if followed is not None:
            self._lose_game(followed, f"internal error {error_id}")

    def _failed(self, error_id: str, failures: int) -> None:
        """The work on the folder has ended because of a bug, and begins anew after a pause."""
        followed_files, self._followed = list(self._followed.values()), {}
        self._held = None
        self._unwritten.clear()
        for followed in followed_files:
            followed.release(self._shared.limiter)
            if followed.game is not None:
                followed.game.leave()
        if failures > _MAX_FAILURES:
            self._broken = f"internal error {error_id}, tried again"
            self._check_folder()
        self.channel.notify()

    def configure(self, watch: Watch) -> None:
        """Use other settings from now on. The intervals of polling and scanning stay as they are."""
        self._watch = watch

    def leave(self, reason: str) -> None:
        """The station is about to end: tell its subscribers why."""
        self._state.change("offline", reason)

    def set_reachable(self, trouble: str | None) -> None:
        """`trouble` is why the source that writes into the folder cannot be reached, `None` when it can."""
        if trouble != self._unreachable:
            self._unreachable = trouble
            if self.channel.settled or trouble is not None:
                self._check_folder()

    def set_remark(self, remark: str | None) -> None:
        """Add something that people should know besides the state's reason; `None` takes it away."""
        self._state.remark(remark)

    def publish_diagnostic(self, code: str, path: Path, offset: int, what: str) -> None:
        """Publish and count something about a file that its bytes do not show."""
        self._metrics.diagnostic(code)
        name = printable(path, self.folder)
        self._publish_loose(Diagnostic(0, "warning", code, offset, f"{name}: {what}"))

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Take bytes of a file in the folder that the disk has not taken.

        Returns the file offset up to which all bytes are known; what is beyond it must be offered again.
        """
        self._publish_held()
        followed = self._by_path(path)
        if followed is None:
            if offset:
                return 0
            file = unwritten_file(path, self._shared.wall_clock())
            if self._set_aside.holds(file, trio.current_time()):
                return offset + len(data)
            followed = self._follow(file, existed=False)
            followed.unwritten = True
        followed.note_end()  # what is offered next has been written since
        self._guard(followed.file, partial(self._feed, followed, offset, data))
        return followed.pipeline.bytes_read

    def _scanned(self, event: Scanned) -> None:
        self._report_listed(event.files)
        if self._tail is None or self._tail.root_trouble is None:  # a missing folder has not been scanned
            self._log.info("folder scanned", folder=str(self.folder), finished=len(event.files))

    def _touched(self, event: Touched) -> None:
        self._report_listed(event.files)

    def _report_listed(self, files: Iterable[TailedFile]) -> None:
        """Report files to the index, which reads those that it does not know."""
        if self._shared.index is not None:
            self._shared.index.listed(self.id, [(file.path, file.mtime_ns, file.size_bytes) for file in files])

    def _settled(self, event: Settled) -> None:
        self.channel.settled = True
        self._check_folder()
        self.channel.notify()

    def _opened(self, event: Opened) -> None:
        file = event.file
        if event.changed:
            self._games.forget_file(file)  # which no longer has their logs
        if self._set_aside.holds(file, trio.current_time()):
            return
        self._log.debug("file opened", file=printable(file.path, self.folder), existed=event.existed)
        unwritten = self._by_path(file.path)
        if unwritten is not None and unwritten.unwritten:  # now the disk has taken it
            del self._followed[unwritten.file]
            unwritten.file, unwritten.unwritten = file, False
            self._followed[file] = unwritten
            if unwritten.game is not None:
                self._games.put(file, unwritten.game)
        else:
            # A file written in one go has another game once its bytes have changed, and that game is not an old one.
            is_another = event.changed and of_name(file.path.name).written_whole
            self._follow(file, existed=event.existed and not is_another)

    def _follow(self, file: TailedFile, *, existed: bool) -> FollowedFile:
        pipeline = Pipeline(of_name(file.path.name).new_reader(file.path.name), MODES)
        seen_at_ms = round(1000 * self._shared.wall_clock())
        followed = self._followed[file] = FollowedFile(file, pipeline, existed=existed, seen_at_ms=seen_at_ms)
        return followed

    def _by_path(self, path: Path) -> FollowedFile | None:
        return next((followed for followed in self._followed.values() if followed.file.path == path), None)

    def _grew(self, event: Grew) -> None:
        followed = self._followed.get(event.file)
        if followed is not None:
            self._feed(followed, event.offset, event.data)

    def _feed(self, followed: FollowedFile, offset: int, data: bytes) -> None:
        followed.note_growth()
        if followed.written_whole or followed.is_copy():  # read when it has come to rest, or not at all
            self._counters.count_bytes(len(data))
            self._stop_reading_if_exhausted(followed)
            return
        pipeline = followed.pipeline
        if offset == 0 and followed.read_bytes:  # read before it reached the disk, except for later rewrites
            rewritable = data[: of_name(followed.file.path.name).rewritable_bytes]
            self._feed_held()
            if self._followed.get(followed.file) is not followed:
                return
            self._publish(followed, pipeline.rewrite(rewritable))
        offset, data = followed.after_read(offset, data)
        if data:
            self._counters.count_bytes(len(data))
            if self._can_wait(followed) and followed.hold(data):
                self._held = followed
            else:
                self._feed_held()
                if self._followed.get(followed.file) is not followed:
                    return  # its held bytes have failed, so its pipeline is not used any more
                self._feed_pipeline(followed, data)
            if followed.is_copy():
                return
            if self.on_bytes is not None:
                self.on_bytes(followed, offset, data)
            self._turn_if_played(followed)
            if pipeline.closed:
                self._stop_reading_if_exhausted(followed)
                self._release_if_done(followed)

    def _feed_pipeline(self, followed: FollowedFile, data: bytes, *, held: bool = False) -> None:
        unread = self.channel.unread_modes
        if unread:
            self._unwritten[followed] = None
        self._publish(followed, followed.pipeline.feed(data, unread), held=held)
        if not followed.is_copy():
            followed.keep_checkpoint()

    def _can_wait(self, followed: FollowedFile) -> bool:
        """Whether the next bytes of a file may wait, because they are of the running game and nobody reads the station.

        Together with later bytes they take a fraction of the time. Whoever looks at the station has it catch up first.
        """
        if len(self.channel.unread_modes) < len(MODES):
            return False
        game = followed.game
        return game is not None and game is self.channel.current and game.in_progress and not game.catching_up

    def _publish_held(self) -> None:
        """Publish everything that waits because nobody read it."""
        self._feed_held()
        while self._unwritten:
            followed, _ = self._unwritten.popitem()
            self._guard(followed.file, partial(self._settle, followed))

    def _feed_held(self) -> None:
        followed, self._held = self._held, None
        if followed is not None:
            self._guard(followed.file, lambda: self._feed_pipeline(followed, followed.take_held(), held=True))

    def _settle(self, followed: FollowedFile) -> None:
        self._publish(followed, followed.pipeline.settle())

    def _rewritten(self, event: Rewritten) -> None:
        followed = self._followed.get(event.file)
        if followed is not None and not followed.is_copy():
            followed.note_growth()
            self._publish(followed, followed.pipeline.rewrite(event.data))
            self._release_if_done(followed)

    def _caught_up(self, event: CaughtUp) -> None:
        followed = self._followed.get(event.file)
        if followed is None:
            return
        followed.note_end()
        if followed.is_copy():
            followed.existed = False
            if followed.file.arrived_whole:
                self._release_copy(followed)
            return
        if followed.written_whole and followed.existed:  # a game that was over before: known, not streamed
            file = followed.file
            followed.played_size_bytes = file.size_bytes
            self._release(followed)
            if self._shared.index is not None:
                self._shared.index.listed(self.id, [(file.path, file.mtime_ns, file.size_bytes)])
            return
        followed.existed = False
        game = followed.game
        if game is None or not game.catching_up:
            self._release_if_done(followed)
            return
        was_over = followed.pipeline.closed and not self.channel.settled
        if was_over:  # before the daemon started: known, not streamed
            self.channel.retire(game, followed.file.mtime_ns, followed.file.path.name)
            self._release(followed)
        self.channel.caught_up(game)
        if game.in_progress:
            if game is self.channel.current:
                self._state.change("playing", "game in progress", game.game_id)
        elif not was_over:
            self._release_if_done(followed)

    def _lost(self, event: Lost) -> None:
        followed = self._followed.pop(event.file, None)
        self._metrics.source_error(event.error.code)
        if self._shared.index is not None:
            self._shared.index.gone(event.file.path)
        self._log.warning(
            "file lost",
            game_id=None if followed is None else followed.pipeline.game_id,
            file=printable(event.file.path, self.folder),
            what=event.error.what,
        )
        if followed is None:
            return
        self._counters.flush([followed.pipeline.reader])
        if followed.game is not None and not isinstance(event.error, Vanished | Unreadable):
            self._games.forget(followed.game)  # if the file comes back, it is not the same log
        self._lose_game(followed, event.error.what)

    def _lose_game(self, followed: FollowedFile, what: str) -> None:
        """The file of a game is no longer followed, for the reason `what`."""
        if followed.game is None:
            return
        game = followed.game
        followed.release(self._shared.limiter)
        was_running = game.in_progress
        was_catching_up = game.catching_up
        game.lose()
        if was_catching_up:
            self.channel.caught_up(game)
        if was_running:
            self._metrics.game("lost")
        self._go_on_in_copies(game)
        if game is self.channel.current and was_running and not self._turn_to_another():
            self._state.change("idle", what, game.game_id)
        self.channel.notify()

    def _refused(self, event: Refused) -> None:
        error: SourceError = event.error
        name = printable(event.path, self.folder)
        self._metrics.source_error(error.code)
        self._log.warning("file refused", file=name, what=error.what)
        self._publish_loose(Diagnostic(0, "warning", error.code, 0, f"{name}: {error.what}"))

    REACTIONS: Mapping[type[TailEvent], Callable[[Station, Any], None]] = {
        Scanned: _scanned,
        Touched: _touched,
        Settled: _settled,
        Opened: _opened,
        Grew: _grew,
        Rewritten: _rewritten,
        CaughtUp: _caught_up,
        Lost: _lost,
        Refused: _refused,
    }
    """What a station does with each event of its tail."""

    def _publish(self, followed: FollowedFile, batch: Batch, *, held: bool = False) -> None:
        """Publish, index and count what came out of one file; `held` if nobody has waited for it."""
        if not (batch.events or any(batch.logs.values())):
            return
        if batch.start is not None and self._is_copy(followed, batch.start.game_id):
            self._log.info(
                "copy of a game", game_id=batch.start.game_id, file=printable(followed.file.path, self.folder)
            )
            return
        if self._shared.replay_check is not None:
            self._shared.replay_check.published(followed.pipeline, batch)
        for message in batch.loose:
            self.channel.publish_loose(message)
        if batch.start is not None:
            self._begin(followed, batch.start)
        if followed.game is not None:
            self.channel.publish(followed.game, batch.logs)
        if batch.frames and followed.grows and followed.game is not None and followed.game.frames_per_second:
            followed.note_frames(batch.frames - batch.resent_frames, followed.game.frames_per_second)
        if batch.notable:
            self._describe(followed, batch.notable)
        self._counters.count(
            batch,
            followed.file,
            game_id=followed.pipeline.game_id,
            live=followed.game is None or not followed.game.catching_up,
            failed=followed.pipeline.failure is not None,
            held=held,
        )
        self._update_state(followed, batch)

    def _readers(self) -> Iterator[Reader]:
        return (followed.pipeline.reader for followed in self._followed.values())

    def _describe(self, followed: FollowedFile, events: Sequence[Event], *, over: bool = False) -> None:
        """Update the summary of the game, and its record in the index."""
        changed = followed.describe(events, round(1000 * self._shared.wall_clock()))
        if followed.game is not None and followed.game.secondary and not over:
            return  # in the index it would look like the game in progress
        if followed.described is not None and self._shared.index is not None and (changed or over):
            file = followed.file
            record = record_of(followed.described)
            self._shared.index.played(
                self.id,
                file.path,
                file.mtime_ns,
                file.size_bytes,
                record,
                arrived_at_ms=followed.arrived_at_ms,
                ended_at_ms=followed.ended_at_ms,
                pacing=followed.pacing,
            )

    def _begin(self, followed: FollowedFile, start: GameStart) -> None:
        file = followed.file
        followed.described = DescribedGame(start)
        log_reader = followed.open_log(start.game_id, self._shared.limiter, self.read_unwritten)
        known = self._games.find(file, start.game_id) or self._abandoned_game(start.game_id)
        if known is not None and (known.left or known in self.channel.games):
            # A file that was released, left alone for long, or gone for a while, and is read again: its log goes on
            # where it was, because it is a function of the bytes.
            self._games.put(file, known)
            known.log_reader = log_reader
            followed.game = known
            self.channel.take_back(known)
            return
        game = Game(start.game_id, log_reader, ring_bytes=self._ring_bytes, order=self.channel.next_order())
        numerator, denominator = start.rate
        game.frames_per_second = round(numerator / denominator)
        if followed.existed:
            game.catch_up()
        game.role = self._role_of(followed)
        followed.game = game
        if self._tail is not None:
            self._games.prune(self.channel.games, self._tail.knows)
        self._games.put(file, game)
        self.channel.drop_oldest({other.game for other in self._followed.values()})
        self.channel.begin(game)
        self._log.info("game start", game_id=start.game_id, file=printable(file.path, self.folder), format=start.format)

    def _role_of(self, followed: FollowedFile) -> Role:
        """Return the role of a game that begins in this file. It must not displace a game that is played."""
        current, arrived_whole = self.channel.current, followed.file.arrived_whole
        if current is not None and current.role is Role.PLAYED:
            is_copied = arrived_whole and not followed.written_whole
            if is_copied or self._is_played(self._file_of(current), self._watch.idle_seconds):
                return Role.SECONDARY
        return Role.RECORDED if arrived_whole or followed.written_whole else Role.PLAYED

    def _file_of(self, game: Game | None) -> FollowedFile | None:
        """The file that is followed for a game."""
        return None if game is None else next((f for f in self._followed.values() if f.game is game), None)

    def _is_played(self, followed: FollowedFile | None, max_quiet_seconds: float) -> bool:
        """Whether a file holds a game in progress and was seen to grow, the last time at most this long ago."""
        if followed is None or followed.game is None or not followed.game.in_progress or not followed.grows:
            return False
        return trio.current_time() - followed.grown_at <= max_quiet_seconds

    def _turn_if_played(self, followed: FollowedFile) -> None:
        """Turn to the game in a file that has just grown, unless the current game is played and began later."""
        game, current = followed.game, self.channel.current
        if game is None or game is current or followed.file.arrived_whole or game.catching_up:
            return
        if not self._is_played(followed, self._max_quiet_seconds):
            return
        if current is not None and self._is_played(self._file_of(current), self._max_quiet_seconds):
            is_newer = game.order > current.order
            if not is_newer or trio.current_time() - followed.opened_at < self._timing.played_seconds:
                return
        self._turn_to(followed, game)

    def _turn_to_another(self) -> bool:
        """Turn to another game whose file still grows. Returns whether there is one."""
        current = self.channel.current
        playing = [
            (followed.game.order, followed, followed.game)
            for followed in self._followed.values()
            if followed.game is not None
            and followed.game is not current
            and not followed.file.arrived_whole
            and self._is_played(followed, self._max_quiet_seconds)
        ]
        if not playing:
            return False
        _, followed, game = max(playing, key=itemgetter(0))
        self._turn_to(followed, game)
        return True

    def _turn_to(self, followed: FollowedFile, game: Game) -> None:
        self.channel.turn_to(game)
        self._describe(followed, (), over=True)
        self._state.change("playing", "game in progress", game.game_id)

    @property
    def _max_quiet_seconds(self) -> float:
        """A game whose file has not grown for this many seconds gives way to one whose file grows."""
        return self._watch.stalled_seconds

    def _is_copy(self, followed: FollowedFile, game_id: str) -> bool:
        """Whether the game that begins in this file is in another file already; if so, keep it from being published."""
        if followed.written_whole or self._games.find(followed.file, game_id) is not None:
            return False
        is_whole = followed.file.arrived_whole
        # A game whose file has other bytes now cannot be read from there any more, so this is no copy of it.
        live = (game for game in reversed(self.channel.games) if not game.archived and self._games.can_continue(game))
        games = (game for game in live if game.game_id == game_id)
        game = next((game for game in games if game.ended or game.in_progress), None)
        if game is None or (game.role is not Role.PLAYED and not is_whole):
            return False  # in the second case, an old replay is written again as a game would write it
        other = self._file_of(game)
        if not game.ended and is_whole and other is not None and not other.grows:
            self._leave(other, game)  # it is cut off, and this file has the rest
            return False
        if game.ended and not is_whole and followed.file.size_bytes <= _COPIED_BYTES:
            return False  # the same game is written once more
        followed.copy_of = game
        return True

    def _abandoned_game(self, game_id: str) -> Game | None:
        """The unfinished game with this id whose file is left or has vanished, so that it can go on in a copy."""
        stopped = (game for game in self.channel.games if (game.left or game.lost) and not game.ended)
        return next((g for g in stopped if g.game_id == game_id and self._games.can_continue(g)), None)

    def _leave(self, followed: FollowedFile, game: Game) -> None:
        """Stop following the file of a game that has not ended."""
        self._release(followed)
        game.leave()
        game.forget()
        self._go_on_in_copies(game)

    def _go_on_in_copies(self, game: Game) -> None:
        """The game's file is lost or left: have its copies opened again, to publish what was kept back.

        The log is a function of the bytes, so it goes on where it was.
        """
        if game.ended:
            return
        for copy in [followed for followed in self._followed.values() if followed.copy_of is game]:
            del self._followed[copy.file]
            if self._tail is not None:
                self._tail.read_again(copy.file)

    def _prefer_growing_copies(self) -> None:
        """Leave a file that has stopped growing for a copy that still grows."""
        now = trio.current_time()
        for copy in [followed for followed in self._followed.values() if followed.is_copy()]:
            game = copy.copy_of
            followed = self._file_of(game)
            if game is None or followed is None or not copy.grows or now - copy.grown_at > self._max_quiet_seconds:
                continue
            if not game.ended and now - followed.grown_at > self._max_quiet_seconds:
                self._leave(followed, game)

    def _release_copy(self, followed: FollowedFile) -> None:
        """Stop following a file whose game another file holds; if it changes, it is read again."""
        file = followed.file
        del self._followed[file]
        if self._tail is not None:
            self._tail.release(file)
        if self._shared.index is not None:
            self._shared.index.listed(self.id, [(file.path, file.mtime_ns, file.size_bytes)])

    def _archived_files(self) -> Sequence[TailedFile]:
        """The files that are known and not followed."""
        return () if self._tail is None else self._tail.listed

    def _play_files_at_rest(self) -> None:
        """Play each file written in one go that has not grown for a moment; if it changes later, it is another game."""
        now = trio.current_time()
        for followed in self._followed.values():
            at_rest = now - followed.grown_at >= REST_SECONDS
            if followed.written_whole and not followed.existed and followed.has_unread_bytes and at_rest:
                followed.played_size_bytes, followed.playing = followed.file.size_bytes, True
                if self._nursery is not None:
                    self._nursery.start_soon(self._play_contained, followed)

    async def _play_contained(self, followed: FollowedFile) -> None:
        with self._shared.errors.contain("file") as contained:
            await self._play(followed)
        if contained.error_id is not None:
            self._put_aside(followed.file, contained.error_id)

    async def _play(self, followed: FollowedFile) -> None:
        """Publish start, frames and end of one file, at once or paced."""
        file, limiter = followed.file, self._shared.limiter
        try:
            decoded = await trio.to_thread.run_sync(_decode_whole, file.path, limiter=limiter)
        except OSError as error:
            self._log.warning("file unreadable", file=printable(file.path, self.folder), what=error.strerror)
            followed.playing = False
            return
        if self._followed.get(file) is not followed:  # lost while it was read
            return
        if decoded is None:
            self._log.debug("not a replay", file=printable(file.path, self.folder))
            self._release(followed)
            return
        pipeline, batch = decoded
        followed.pipeline = pipeline
        self._publish(followed, batch)
        start = batch.start
        paced = self._watch.pace and start is not None and start.rate[0] > 0
        seconds = start.rate[1] / start.rate[0] if paced and start is not None else 0.0
        at_once = _PLAYED_AT_ONCE if not seconds else max(1, round(_PACED_SECONDS / seconds))
        due = trio.current_time()
        while pipeline.pending:
            batch = await trio.to_thread.run_sync(pipeline.more, at_once, limiter=limiter)
            if self._followed.get(file) is not followed or followed.pipeline is not pipeline:
                return  # lost, or another game by now
            self._publish(followed, batch)
            followed.grown_at = trio.current_time()  # the game goes on, though its file does not grow
            due += at_once * seconds
            await trio.sleep_until(due)
        followed.playing = False
        if self._followed.get(file) is followed:
            self._release_if_done(followed)

    def _stop_reading_if_exhausted(self, followed: FollowedFile) -> None:
        """Stop reading a file once nothing more can come of it: a hole can make it a terabyte long."""
        if self._tail is not None and followed.is_exhausted:
            followed.exhausted_size_bytes = followed.file.size_bytes
            self._tail.stop_reading(followed.file)

    def _release_if_done(self, followed: FollowedFile) -> None:
        """Release a file that is closed and whose game is complete: thousands can be copied in at once."""
        pipeline = followed.pipeline
        if followed.ahead_of_disk:
            return
        if pipeline.closed and pipeline.failure is None and not followed.has_unread_bytes and not followed.existed:
            self._release(followed)

    def _release_quiet(self) -> None:
        """Release files that never end: broken ones, and games that were never finished.

        If one of them grows, it is read again and its log goes on. The current game stays: it may be paused.
        """
        now = trio.current_time()
        for followed in self._followed.values():
            size_bytes = followed.file.size_bytes
            if followed.exhausted_size_bytes is not None and followed.exhausted_size_bytes != size_bytes:
                followed.exhausted_size_bytes, followed.grown_at = size_bytes, now
        quiet = [f for f in self._followed.values() if not (f.has_unread_bytes or f.existed)]
        quiet.sort(key=lambda followed: followed.grown_at)
        for followed in [f for f in quiet if f.is_copy()]:
            if now - followed.grown_at > self._timing.release_seconds:
                self._release_copy(followed)
        quiet = [f for f in quiet if not f.is_copy()]
        broken = [f for f in quiet if f.pipeline.failure is not None]
        for followed in broken:
            if now - followed.grown_at > self._timing.release_seconds or len(broken) > _UNFINISHED_FILES:
                self._guard(followed.file, partial(self._release, followed))
        idle = [f for f in quiet if f.pipeline.failure is None and now - f.grown_at > self._watch.idle_seconds]
        idle = [f for f in idle if not f.playing and (f.game is None or f.game is not self.channel.current)]
        on_disk = [f for f in idle if not f.ahead_of_disk]
        not_on_disk = [f for f in idle if f.ahead_of_disk]  # the disk may never take the rest of them
        for followed in [*on_disk, *not_on_disk[:-_UNFINISHED_FILES]]:
            game = followed.game
            leave = partial(self._release, followed) if game is None else partial(self._leave, followed, game)
            self._guard(followed.file, leave)

    def _release(self, followed: FollowedFile) -> None:
        """Stop following a file; if it changes, it is read again."""
        file = followed.file
        self._counters.flush([followed.pipeline.reader])
        self._describe(followed, (), over=True)
        if self._shared.replay_check is not None:
            self._shared.replay_check.released(self.id, file.path, followed.pipeline)
        del self._followed[file]
        followed.release(self._shared.limiter)
        if self._tail is not None:
            self._tail.release(file)

    def _update_state(self, followed: FollowedFile, batch: Batch) -> None:
        game = followed.game
        if game is None or game is not self.channel.current or game.catching_up:
            return
        if game.ended:
            if batch.end is not None and not self._turn_to_another():
                self._state.change("idle", "game ended", game.game_id)
        elif self.state != "playing" or self._state.game_id != game.game_id:
            self._state.change("playing", "game in progress", game.game_id)

    async def _tick(self) -> None:
        """Do what time alone brings about, staggered so that fifty stations do not do it at the same moment."""
        await trio.sleep(self._timing.tick_seconds * phase_of(self.id))
        while True:
            await trio.sleep(self._timing.tick_seconds)
            self._publish_held()
            self._counters.tick(self._readers())
            self._release_quiet()
            self._prefer_growing_copies()
            self._play_files_at_rest()
            self._try_again()
            self._check_folder()
            self._check_growth()

    def _try_again(self) -> None:
        """Read files that were set aside and have changed since, and take note that the station works again."""
        for file in self._set_aside.due(trio.current_time()):
            if self._tail is not None:
                self._tail.read_again(file)
        if self._broken is not None and trio.current_time() - self._began_at > self._timing.stable_seconds:
            self._broken = None

    def _check_growth(self) -> None:
        """Notice when the current game has stopped growing."""
        current = self.channel.current
        followed = next((f for f in self._followed.values() if f.game is current), None)
        if followed is None or current is None or not current.in_progress or current.catching_up:
            return
        if self._unreachable is not None:
            return
        quiet_seconds = trio.current_time() - followed.grown_at
        if quiet_seconds > self._max_quiet_seconds and self._turn_to_another():
            return
        if quiet_seconds > self._watch.idle_seconds:
            self._state.change("idle", "the file has not grown for long", current.game_id)
        elif quiet_seconds > self._watch.stalled_seconds and self.state == "playing":
            self._state.change("stalled", "the file does not grow", current.game_id)

    def _check_folder(self) -> None:
        """Notice when the folder, or the source that writes into it, goes away or comes back."""
        trouble = None if self._tail is None else self._tail.root_trouble
        if self._broken is not None:
            self._state.change("offline", self._broken, self._state.game_id)
        elif self._unreachable is not None:
            self._state.change("offline", self._unreachable, self._state.game_id)
        elif self._tail is None or not self._tail.searched:
            return
        elif not self._tail.root_present or (trouble is not None and self.state != "playing"):
            self._state.change("offline", trouble or "the folder is missing")
        elif self.state == "offline" and self.channel.settled:
            self._state.change("idle", "watching")

    def _publish_loose(self, diagnostic: Diagnostic) -> None:
        kind, body, _ = body_of(diagnostic)
        self.channel.publish_loose(LogMessage(kind, None, "live", 0, 0, body, None))

    async def _locate(self, game_id: str) -> None:
        """Make all games known from the one with this id on, as far as they are in files that are not followed."""
        while self._tail is None or self._tail.root_trouble is not None:  # noqa: ASYNC110 -- found out by scans
            await trio.sleep(self._timing.tick_seconds)  # nothing is known of a folder that is away
        live = {game.game_id for game in self.channel.games if not game.archived}
        found = await self._archive.games_from(game_id)
        self.channel.insert_archived([game for game in found if game.game_id not in live])


def _decode_whole(path: Path) -> tuple[Pipeline, Batch] | None:
    """Read and decode a file that its game writes in one go. Returns its pipeline and the events before its frames.

    `None` if it is not a replay. Blocks, too long for the event loop if the file is large. Raises `OSError`.
    """
    data = read_regular(path)
    format_ = choose(path.name, data[:SNIFFED_BYTES], len(data))
    if format_ is None:
        return None
    pipeline = Pipeline(format_.new_reader(path.name), MODES)
    fed = pipeline.feed(data)
    return pipeline, fed if pipeline.failure is not None else pipeline.finish()
