"""One setup: its folder, the games that are played on it, and its state.

A station follows every growing file below its folder with a pipeline of its own and publishes what comes out. Its
current game is the one with the newest Game Start; another one that never ended is left after a while, and goes on if
its file does.
What was played before this daemon started is not streamed, but it is known: see `archive`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog
import trio

from slpstream.daemon.station.archive import Archive, printable
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_file import ByteConsumer, FollowedFile, GamesByFile, Index, unwritten_file
from slpstream.formats.interface import REST_SECONDS, SNIFFED_BYTES
from slpstream.formats.registry import choose, formats, of_name, suffixes
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import MODES, ReadUnwritten
from slpstream.game.pipeline import Pipeline
from slpstream.game.replay_check import Proof, Unproven
from slpstream.model.errors import SourceError, Unreadable, Vanished
from slpstream.model.events import DESCRIBING, Diagnostic, Event, GameEnd, GameStart, first_of
from slpstream.model.messages import FramesMode, LogMessage, body_of, timestamp
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
    TailedFile,
    TailEvent,
)
from slpstream.stream import Channel, Game
from slpstream.system.files import read_regular
from slpstream.system.logs import get_logger
from slpstream.system.metrics import StationMetrics
from slpstream.system.stagger import phase_of

_PACED_SECONDS = 0.05
_PLAYED_AT_ONCE = 256
"""Frames of such a file that are published in one go, when nobody asked for their pace."""
_UNFINISHED_FILES = 8
"""Kept at most of those that are broken, for a moment, and of those that the disk never took."""
_RELEASE_SECONDS = 2.0
_TICK_SECONDS = 0.5


class Station:
    """One setup. `run` it once; it ends only by cancellation."""

    def __init__(
        self,
        station: str,
        folder: Path,
        *,
        name: str,
        notifications: Notifications | None,
        metrics: StationMetrics,
        limiter: trio.CapacityLimiter,
        poll_seconds: float,
        scan_seconds: float,
        stalled_seconds: float,
        idle_seconds: float,
        ring_bytes: int,
        index: Index | None = None,
        proof: Proof | None = None,
        pace: bool = False,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`pace`: a file that is written in one go is played out in real time, not at once."""
        self.id = station
        self.name = name or station
        self.folder = folder
        self.channel = Channel(station, self._locate)
        self.notifications = notifications
        self._metrics = metrics
        self._tally = StationCounters(metrics, folder, wall_clock)
        self._limiter = limiter
        self._poll_seconds = poll_seconds
        self._scan_seconds = scan_seconds
        self._stalled_seconds = stalled_seconds
        self._idle_seconds = idle_seconds
        self._ring_bytes = ring_bytes
        self._index = index
        self._proof = proof or Unproven()
        self._pace = pace
        self._nursery: trio.Nursery | None = None
        self._wall_clock = wall_clock
        self._log = get_logger()
        self._tail: FolderTail | None = None
        self._following: dict[TailedFile, FollowedFile] = {}
        self._games = GamesByFile()
        self._archive = Archive(folder, limiter, self._listed)
        self._state = "offline"
        self._reason = "starting"
        self._state_game: str | None = None
        self._remark: str | None = None
        self._unreachable: str | None = None
        self.read_unwritten: ReadUnwritten | None = None
        """Where bytes are to be had that the disk has not taken."""
        self.byte_tap: ByteConsumer | None = None
        """Who is handed the bytes of all games as they come, to serve them again."""

    # -- what the outside asks ----------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """`idle`, `playing`, `stalled` or `offline`."""
        return self._state

    @property
    def ready(self) -> bool:
        """The folder can be read and the first look at it is over."""
        return self.channel.settled and self._state != "offline"

    @property
    def active_files(self) -> int:
        """Files that are open."""
        return len(self._following)

    @property
    def followed(self) -> list[Path]:
        """The files that are open, for whoever may delete some."""
        return [following.file.path for following in self._following.values()]

    @property
    def lag_seconds(self) -> float:
        """How long bytes have been waiting in files that are being caught up with; 0 when there are none."""
        following = list(self._following.values())  # asked from a worker thread
        behind = [f.file.mtime_ns / 1e9 for f in following if f.behind]
        return max(0.0, self._wall_clock() - min(behind)) if behind else 0.0

    @property
    def ring_bytes(self) -> int:
        """Memory of the rings of all games."""
        return sum(log.size_bytes for game in list(self.channel.games) for log in game.logs.values())

    def describe(self) -> dict[str, Any]:
        """The station as `/v1/stations` shows it."""
        game = self.channel.current
        description: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "state": self._state,
            "reason": self._reason if self._remark is None else f"{self._reason}; {self._remark}",
            "subscribers": self.channel.subscribers,
            "files": {"inProgress": len(self._following), "finished": len(self._listed())},
        }
        if self.notifications is not None and self.notifications.degraded:
            description["degraded"] = self.notifications.degraded
        if game is not None:
            snapshot = self.channel.snapshot(game, "live")
            shown = ("gameId", "format", "settings", "summary", "cursor")
            description["game"] = {key: snapshot[key] for key in shown if key in snapshot}
            description["game"] |= {"inProgress": game.in_progress, "lastFrame": game.newest_frame_number}
        return description

    def recordings(self) -> list[dict[str, Any]]:
        """The newest files that are not being followed, as `/v1/stations/{id}` lists them. Names only, never paths."""
        return self._archive.newest()

    # -- running ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Follows the folder until cancelled."""
        structlog.contextvars.bind_contextvars(station=self.id)
        tail = FolderTail(
            self.folder,
            suffixes=suffixes(),
            rewritable_bytes=max(format_.rewritable_bytes for format_ in formats()),
            notifications=self.notifications,
            poll_seconds=self._poll_seconds,
            scan_seconds=self._scan_seconds,
            idle_seconds=self._idle_seconds,
        )
        async with tail, trio.open_nursery() as nursery:
            self._tail, self._nursery = tail, nursery
            nursery.start_soon(self._watch_time)
            try:
                async for event in tail:
                    self._take(event)
            finally:
                self._tally.write(self._following.values())

    def configure(self, *, stalled_seconds: float, pace: bool) -> None:
        """What can be changed while it runs; see the constructor."""
        self._stalled_seconds = stalled_seconds
        self._pace = pace

    def leave(self, reason: str) -> None:
        """The station is about to end: its subscribers are told why."""
        self._set_state("offline", reason)

    def _take(self, event: TailEvent) -> None:
        handle = self._TAKES[type(event)]
        handle(self, event)

    def _scanned(self, event: Scanned) -> None:
        if self._index is not None:
            self._index.listed(self.id, [(f.path, f.mtime_ns, f.size_bytes) for f in event.files])
        self._log.info("folder scanned", folder=str(self.folder), finished=len(event.files))

    def _settled(self, event: Settled) -> None:
        self.channel.settled = True
        self._watch_folder()
        self.channel.notify()

    def _opened(self, event: Opened) -> None:
        file = event.file
        self._log.debug("file opened", file=printable(file.path, self.folder), existed=event.existed)
        ahead = self._of_path(file.path)
        if ahead is not None and ahead.unwritten:
            del self._following[ahead.file]
            ahead.file, ahead.unwritten = file, False
            self._following[file] = ahead
            if ahead.game is not None:
                self._games.put(file, ahead.game)
        else:
            self._follow(file, existed=event.existed)

    def _follow(self, file: TailedFile, *, existed: bool) -> FollowedFile:
        pipeline = Pipeline(of_name(file.path.name).new_reader(file.path.name), MODES)
        following = self._following[file] = FollowedFile(file, pipeline, existed=existed)
        return following

    def _of_path(self, path: Path) -> FollowedFile | None:
        return next((following for following in self._following.values() if following.file.path == path), None)

    def _grew(self, event: Grew) -> None:
        following = self._following.get(event.file)
        if following is not None:
            self._feed(following, event.offset, event.data)

    def _feed(self, following: FollowedFile, offset: int, data: bytes) -> None:
        following.grown_at = trio.current_time()
        if following.written_whole:  # read when it has come to rest
            self._tally.count_bytes(len(data))
            return
        pipeline = following.pipeline
        if offset == 0 and pipeline.bytes_read:  # handed past the disk, but for what was rewritten since
            rewritable = data[: of_name(following.file.path.name).rewritable_bytes]
            self._publish(following, pipeline.rewrite(rewritable))
        offset, data = following.unread(offset, data)
        if data:
            self._tally.count_bytes(len(data))
            self._publish(following, pipeline.feed(data))
            if following.keep is not None:
                following.keep(pipeline)
            if self.byte_tap is not None:
                self.byte_tap.grew(following, offset, data)
            self._release_if_done(following)

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Bytes of a file in the folder that the disk has not taken. The file offset up to which all bytes are known;
        what is beyond that must be offered again."""
        following = self._of_path(path)
        if following is None:
            if offset:
                return 0
            following = self._follow(unwritten_file(path, self._wall_clock()), existed=False)
            following.unwritten = True
        self._feed(following, offset, data)
        return following.pipeline.bytes_read

    def _rewritten(self, event: Rewritten) -> None:
        following = self._following.get(event.file)
        if following is not None:
            following.grown_at = trio.current_time()
            self._publish(following, following.pipeline.rewrite(event.data))
            self._release_if_done(following)

    def _caught_up(self, event: CaughtUp) -> None:
        following = self._following.get(event.file)
        if following is None:
            return
        if following.written_whole and following.existed:  # a game that was over before: known, not streamed
            file = following.file
            following.play_of = file.size_bytes
            self._release(following)
            if self._index is not None:
                self._index.listed(self.id, [(file.path, file.mtime_ns, file.size_bytes)])
            return
        following.existed = False
        game = following.game
        if game is None or not game.catching_up:
            self._release_if_done(following)
            return
        was_over = following.pipeline.closed and not self.channel.settled
        if was_over:  # before the daemon started: known, not streamed
            self.channel.retire(game, following.file.mtime_ns, following.file.path.name)
            self._release(following)
        self.channel.caught_up(game)
        if game.in_progress:
            self._set_state("playing", "game in progress", game.game_id)
        elif not was_over:
            self._release_if_done(following)

    def _lost(self, event: Lost) -> None:
        following = self._following.pop(event.file, None)
        self._metrics.source_error(event.error.code)
        if self._index is not None:
            self._index.gone(event.file.path)
        self._log.warning(
            "file lost",
            game_id=None if following is None else following.pipeline.game_id,
            file=printable(event.file.path, self.folder),
            what=event.error.what,
        )
        if following is None:
            return
        self._tally.write([following])
        if following.game is None:
            return
        game = following.game
        following.let_go(self._limiter)
        was_running = game.in_progress
        game.lost = True
        if not isinstance(event.error, Vanished | Unreadable):  # should it come back, it is not the same log
            self._games.forget(game)
        if game.catching_up:
            self.channel.caught_up(game)
        if was_running:
            self._metrics.game("lost")
        if game is self.channel.current and was_running:
            self._set_state("idle", event.error.what, game.game_id)
        self.channel.notify()

    def _refused(self, event: Refused) -> None:
        error: SourceError = event.error
        name = printable(event.path, self.folder)
        self._metrics.source_error(error.code)
        self._log.warning("file refused", file=name, what=error.what)
        self._publish_loose(Diagnostic(0, "warning", error.code, 0, f"{name}: {error.what}"))

    _TAKES: Mapping[type[TailEvent], Callable[[Station, Any], None]] = {
        Scanned: _scanned,
        Settled: _settled,
        Opened: _opened,
        Grew: _grew,
        Rewritten: _rewritten,
        CaughtUp: _caught_up,
        Lost: _lost,
        Refused: _refused,
    }

    # -- games --------------------------------------------------------------------------------------------------------

    def _publish(self, following: FollowedFile, logs: Sequence[Sequence[LogMessage]]) -> None:
        """Hands the messages of one file to the channel, and counts."""
        events = following.pipeline.events
        if not events:
            return
        self._proof.published(following.pipeline, logs)
        start = first_of(GameStart, events)
        loose = [message for message in logs[0] if message.game_id is None]
        for message in loose:
            self.channel.publish_loose(message)
        if start is not None:
            self._begin(following, start)
        game = following.game
        if game is not None:
            batch: dict[FramesMode, Sequence[LogMessage]] = {
                mode: messages[len(loose) :] if loose else messages for mode, messages in zip(MODES, logs, strict=True)
            }
            self.channel.publish(game, batch)
        self._note(following, [event for event in events if type(event) in DESCRIBING])
        self._tally.count(following, events)
        self._follow_state(following, events)

    def _note(self, following: FollowedFile, events: Sequence[Event], *, over: bool = False) -> None:
        """Update the summary of the game and its record in the index."""
        changed = following.take(events)
        if following.described is not None and self._index is not None and (changed or over):
            file, record = following.file, following.described.record()
            self._index.played(self.id, file.path, file.mtime_ns, file.size_bytes, record)

    def _begin(self, following: FollowedFile, start: GameStart) -> None:
        file = following.file
        following.described = DescribedGame(start)
        replay = following.replay(start.game_id, self._limiter, self.read_unwritten)
        known = self._games.find(file, start.game_id)
        if known is not None and (known.left or known in self.channel.games):
            # A file that was closed, left alone for long, or gone for a while, and is read again: the log is a function
            # of its bytes, so it goes on where it was.
            self._games.put(file, known)
            known.read_back_by(replay)
            following.game = known
            self.channel.take_back(known)
            return
        game = Game(
            start.game_id,
            replay.messages,
            replay.find_frame,
            ring_bytes=self._ring_bytes,
            order=self.channel.next_order(),
            forget_replay=replay.forget,
        )
        numerator, denominator = start.rate
        game.frames_per_second = round(numerator / denominator)
        game.catching_up = following.existed
        following.game = game
        if self._tail is not None:
            self._games.prune(self.channel.games, self._tail.knows)
        self._games.put(file, game)
        self.channel.drop_oldest({other.game for other in self._following.values()})
        self.channel.begin(game)
        self._log.info("game start", game_id=start.game_id, file=printable(file.path, self.folder), format=start.format)

    def _listed(self) -> Sequence[TailedFile]:
        """The files that are known and not followed."""
        return () if self._tail is None else self._tail.listed

    # -- files that are written in one go -----------------------------------------------------------------------------

    def _play_what_rests(self) -> None:
        """Such a file is complete when it has not grown for a moment; should it change later, it is another game."""
        now = trio.current_time()
        for following in self._following.values():
            rested = now - following.grown_at >= REST_SECONDS
            if following.written_whole and not following.existed and following.behind and rested and self._nursery:
                following.play_of, following.playing = following.file.size_bytes, True
                self._nursery.start_soon(self._play, following)

    async def _play(self, following: FollowedFile) -> None:
        """Start, frames and end of one file, at once or paced."""
        file = following.file
        try:
            data = await trio.to_thread.run_sync(read_regular, file.path, limiter=self._limiter)
        except OSError as error:
            self._log.warning("file unreadable", file=printable(file.path, self.folder), what=error.strerror)
            following.playing = False
            return
        if self._following.get(file) is not following:  # gone while it was read
            return
        format_ = choose(file.path.name, data[:SNIFFED_BYTES], len(data))
        if format_ is None:
            self._log.debug("not a replay", file=printable(file.path, self.folder))
            self._release(following)
            return
        pipeline = following.pipeline = Pipeline(format_.new_reader(file.path.name), MODES)
        pipeline.feed(data)
        self._publish(following, pipeline.finish())
        start = first_of(GameStart, pipeline.events)
        seconds = start.rate[1] / start.rate[0] if self._pace and start is not None and start.rate[0] > 0 else 0.0
        at_once = _PLAYED_AT_ONCE if not seconds else max(1, round(_PACED_SECONDS / seconds))
        due = trio.current_time()
        while pipeline.pending:
            logs = await trio.to_thread.run_sync(pipeline.more, at_once, limiter=self._limiter)
            if self._following.get(file) is not following or following.pipeline is not pipeline:
                return  # gone, or it is another game by now
            self._publish(following, logs)
            following.grown_at = trio.current_time()  # it goes on, though the file does not grow
            due += at_once * seconds
            await trio.sleep_until(due)
        following.playing = False
        if self._following.get(file) is following:
            self._release_if_done(following)

    def _release_if_done(self, following: FollowedFile) -> None:
        """A game that is complete, and whose file is closed, needs no descriptor any more: thousands can be copied
        in."""
        pipeline = following.pipeline
        if following.ahead:  # the disk has yet to take the rest
            return
        if pipeline.closed and pipeline.failure is None and not following.behind and not following.existed:
            self._release(following)

    def _release_quiet(self) -> None:
        """Gives back what is kept of files that never end: broken ones, and games that were never finished. Should one
        go on, it is read again and its log goes on. The current game is kept: it may be paused."""
        now = trio.current_time()
        quiet = [f for f in self._following.values() if not (f.behind or f.existed)]
        quiet.sort(key=lambda following: following.grown_at)
        broken = [f for f in quiet if f.pipeline.failure is not None]
        for following in broken:
            if now - following.grown_at > _RELEASE_SECONDS or len(broken) > _UNFINISHED_FILES:
                self._release(following)
        left = [f for f in quiet if f.pipeline.failure is None and now - f.grown_at > self._idle_seconds]
        left = [f for f in left if not f.playing and (f.game is None or f.game is not self.channel.current)]
        ahead = [f for f in left if f.ahead]  # the disk has yet to take the rest; of some it never will
        for following in [*(f for f in left if not f.ahead), *ahead[:-_UNFINISHED_FILES]]:
            self._release(following)
            if following.game is not None:
                following.game.left = not following.game.ended
                following.game.forget()

    def _release(self, following: FollowedFile) -> None:
        """The file goes back among those that are known and not followed; if it changes, it is read again."""
        file = following.file
        self._tally.write([following])
        self._note(following, (), over=True)
        self._proof.released(self.id, file.path, following.pipeline)
        del self._following[file]
        following.let_go(self._limiter)
        if self._tail is not None:
            self._tail.release(file)

    # -- state --------------------------------------------------------------------------------------------------------

    def _follow_state(self, following: FollowedFile, events: Sequence[Event]) -> None:
        game = following.game
        if game is None or game is not self.channel.current or game.catching_up:
            return
        if game.ended:
            if any(isinstance(event, GameEnd) for event in events):
                self._set_state("idle", "game ended", game.game_id)
        elif self._state != "playing" or self._state_game != game.game_id:
            self._set_state("playing", "game in progress", game.game_id)

    async def _watch_time(self) -> None:
        """What time alone brings about; of fifty stations not at the same moment."""
        await trio.sleep(_TICK_SECONDS * phase_of(self.id))
        while True:
            await trio.sleep(_TICK_SECONDS)
            self._tally.tick(self._following.values())
            self._release_quiet()
            self._play_what_rests()
            self._watch_folder()
            self._watch_growth()

    def _watch_growth(self) -> None:
        """Says when a running game has stopped growing."""
        current = self.channel.current
        following = next((f for f in self._following.values() if f.game is current), None)
        if following is None or current is None or not current.in_progress or current.catching_up:
            return
        if self._unreachable is not None:
            return
        quiet_seconds = trio.current_time() - following.grown_at
        if quiet_seconds > self._idle_seconds:
            self._set_state("idle", "the file has not grown for long", current.game_id)
        elif quiet_seconds > self._stalled_seconds and self._state == "playing":
            self._set_state("stalled", "the file does not grow", current.game_id)

    def set_reachable(self, trouble: str | None) -> None:
        """Why what writes into the folder cannot be reached, `None` when it is."""
        if trouble != self._unreachable:
            self._unreachable = trouble
            if self.channel.settled or trouble is not None:
                self._watch_folder()

    def set_remark(self, remark: str | None) -> None:
        """What people should know beside the state's reason."""
        if remark != self._remark:
            self._remark = remark
            state, reason, game_id = self._state, self._reason, self._state_game
            self._reason = ""
            self._set_state(state, reason, game_id)

    def publish_diagnostic(self, code: str, path: Path, offset: int, what: str) -> None:
        """Something about a file that is not in its bytes: a diagnostic of no game, and a count."""
        self._metrics.diagnostic(code)
        name = printable(path, self.folder)
        self._publish_loose(Diagnostic(0, "warning", code, offset, f"{name}: {what}"))

    def _watch_folder(self) -> None:
        trouble = None if self._tail is None else self._tail.root_trouble
        if self._unreachable is not None:
            self._set_state("offline", self._unreachable, self._state_game)
        elif self._tail is None or not self._tail.root_present or (trouble is not None and self._state != "playing"):
            self._set_state("offline", trouble or "the folder is missing")
        elif self._state == "offline" and self.channel.settled:
            self._set_state("idle", "watching")

    def _set_state(self, state: str, reason: str, game_id: str | None = None) -> None:
        if (state, reason, game_id) == (self._state, self._reason, self._state_game):
            return
        self._state, self._reason, self._state_game = state, reason, game_id
        said = reason if self._remark is None else f"{reason}; {self._remark}"
        payload: dict[str, Any] = {"state": state, "reason": said, "at": timestamp(self._wall_clock())}
        if game_id is not None:
            payload["gameId"] = game_id
        self._log.info("station", state=state, reason=reason, game_id=game_id)
        self.channel.publish_state(payload)

    def _publish_loose(self, diagnostic: Diagnostic) -> None:
        kind, body, _ = body_of(diagnostic)
        self.channel.publish_loose(LogMessage(kind, None, "live", 0, 0, body, None))

    async def _locate(self, game_id: str) -> None:
        """Makes all games known from the one with this id on, by the files that are not followed."""
        while self._tail is None or self._tail.root_trouble is not None:  # noqa: ASYNC110 -- scans find that out
            await trio.sleep(_TICK_SECONDS)  # nothing is known of a folder that is away
        live = {game.game_id for game in self.channel.games if not game.archived}
        found = await self._archive.games_from(game_id)
        self.channel.insert_archived([game for game in found if game.game_id not in live])
