"""How a station reacts to the events of its tail.

Decoding many bytes together takes only a fraction of the time. Because of this, we hold the bytes of a game back as
long as no client reads them. They are published when a client, a request or the clock asks for them.

Some games write their files in one go, for example saved ghosts. The format of these files doesn't show whether a file
is complete. Because of this, we only read a file after it has been at rest for a moment, and then play it. If it
changes later, it holds another game.

A bug ends the work on one file, and nothing else. The file is put into quarantine until it changes, because the same
bytes would raise the same exception again. But a file that is growing changes all the time. This is why it is only
tried again after a pause, which doubles with each failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from slpstream.daemon.station.context import StationContext
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_files import FollowedFile, FollowedFiles
from slpstream.daemon.station.publishing import Publisher
from slpstream.daemon.station.status import StationStatus
from slpstream.formats.interface import REST_SECONDS, SNIFFED_BYTES
from slpstream.formats.registry import choose, of_name
from slpstream.game.log_writer import MODES, Batch
from slpstream.game.pipeline import Pipeline
from slpstream.model.errors import Unreadable, Vanished
from slpstream.sources.tail.events import (
    CaughtUp,
    Grew,
    Lost,
    Opened,
    Refused,
    Rewritten,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
    Touched,
)
from slpstream.sources.tail.identity import FileIdentity
from slpstream.stream.channel import Channel
from slpstream.system.backoff import backoff_seconds
from slpstream.system.files import printable, read_regular
from slpstream.system.logs import get_logger

_PACED_SECONDS = 0.05
_UNPACED_FRAMES = 256
"""The number of frames that are published together if they aren't paced."""
_MAX_QUARANTINED = 256


@dataclass
class _Quarantined:
    """One file in quarantine."""

    failures: int = 0
    retry_at: float = 0.0
    changed: TailedFile | None = None
    """The file, if it was opened again before `retry_at`."""


class Following:
    """Follows the files of one station: it opens, feeds and releases them as the tail reports."""

    def __init__(
        self,
        context: StationContext,
        channel: Channel,
        files: FollowedFiles,
        publisher: Publisher,
        status: StationStatus,
        counters: StationCounters,
    ) -> None:
        self._context = context
        self._channel = channel
        self._files = files
        self._publisher = publisher
        self._status = status
        self._counters = counters
        self._containment = context.errors.contain("file", station=context.id)
        self._held: FollowedFile | None = None
        """The file whose last bytes are held back."""
        self.quarantined: dict[tuple[FileIdentity, Path], _Quarantined] = {}
        """The files in quarantine. The one that has failed last comes last."""
        self._log = get_logger()

    def take(self, event: TailEvent) -> None:
        """React to an event. If there is a bug in the work on one file, this file is put into quarantine."""
        if type(event) is Grew:
            # This is sixty times a second, so we do without the calls of `get` and `contain`.
            if event.file in self._files.by_file:
                followed = self._files.by_file[event.file]
                try:
                    self.feed(followed, event.offset, event.data, event.read_at)
                except BaseException as error:  # noqa: BLE001 -- raised again if it isn't to be contained
                    self._quarantine(event.file, self._containment.caught(error))
            return
        self.publish_held()
        react = self.REACTIONS[type(event)]
        if isinstance(event, Scanned | Settled | Touched):
            react(self, event)
        else:
            file = None if isinstance(event, Refused) else event.file
            with self.contain(file):
                react(self, event)

    @contextmanager
    def contain(self, file: TailedFile | None) -> Iterator[None]:
        """Contain bugs in the block. After an unexpected exception, this puts the file (if any) into quarantine."""
        with self._context.errors.contain("file", station=self._context.id) as contained:
            yield
        if contained.error_id is not None and file is not None:
            self._quarantine(file, contained.error_id)

    def _quarantine(self, file: TailedFile, error_id: str) -> None:
        """Ignore a file until it changes, because of the bug that was logged under this id."""
        self._log.warning("file set aside", file=printable(file.path, self._context.folder), error_id=error_id)
        failures = 1 + self.quarantined.pop((file.identity, file.path), _Quarantined()).failures
        retry_at = trio.current_time() + backoff_seconds(failures, self._context.timing.retry_seconds)
        self.quarantined[file.identity, file.path] = _Quarantined(failures, retry_at)
        if len(self.quarantined) > _MAX_QUARANTINED:
            del self.quarantined[next(iter(self.quarantined))]
        followed = self._files.drop(file)
        self._files.tail.release(file)
        offset = 0 if followed is None else followed.pipeline.bytes_read
        text = f"internal error {error_id}, set aside until it changes"
        self._publisher.publish_diagnostic("internal_error", file.path, offset, text)
        if followed is not None:
            self._publisher.lose(followed, f"internal error {error_id}")

    def _has_to_wait(self, file: TailedFile) -> bool:
        """Whether a file that was just opened has to wait in quarantine. If so, `try_again` will read it later."""
        quarantined = self.quarantined.get((file.identity, file.path))
        if quarantined is None or trio.current_time() >= quarantined.retry_at:
            return False
        quarantined.changed = file
        return True

    def try_again(self) -> None:
        """Read those files in quarantine again that have changed and whose pause is over."""
        now = trio.current_time()
        for quarantined in self.quarantined.values():
            if quarantined.changed is not None and now >= quarantined.retry_at:
                file, quarantined.changed = quarantined.changed, None
                self._files.tail.read_again(file)

    def feed(self, followed: FollowedFile, offset: int, data: bytes, now: float) -> None:
        """Take bytes of a file, which begin at the given offset. `now` is the time on trio's clock.

        They may overlap the bytes before, and may come after a gap.
        """
        followed.grown_at, followed.seen_to_grow = now, followed.read_to_end
        was_copy = followed.copy_of is not None
        if followed.written_whole or was_copy:  # read once it has stopped changing, or not at all
            self._counters.read_bytes += len(data)
            self._files.stop_reading_if_exhausted(followed)
            return
        pipeline = followed.pipeline
        if offset == 0 and followed.read_bytes:  # read before it reached the disk, except for later rewrites
            rewritable = data[: of_name(followed.file.path.name).rewritable_bytes]
            self.publish_held()
            if not self._files.follows(followed):
                return
            self._publisher.publish(followed, pipeline.rewrite(rewritable))
        read_bytes = pipeline.bytes_read + followed.held_bytes
        if offset != read_bytes:
            offset, data = read_bytes, data[read_bytes - offset :] if offset < read_bytes else b""
        if not data:
            return
        may_be_closed = False
        try:
            if not self._channel.groups and self._can_wait(followed) and followed.hold(data):
                self._held = followed
            else:
                if self._held is not None:
                    self.publish_held()
                    if not self._files.follows(followed):
                        return  # its held bytes have failed, so its pipeline is not used any more
                batch = pipeline.feed(data)
                self._publisher.publish(followed, batch)
                may_be_closed = batch.end is not None or not batch.frames  # a closed log of a game has its end
        finally:
            self._counters.read_bytes += pipeline.bytes_read + followed.held_bytes - read_bytes
        if followed.copy_of is not None:
            return
        if self._files.on_bytes is not None:
            self._files.on_bytes(followed, offset, data)
        if followed.game is not self._channel.current:
            self._status.note_growth(followed)
        if may_be_closed and pipeline.closed:
            self._files.stop_reading_if_exhausted(followed)
            self._files.release_if_done(followed)

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Take bytes of a file in the folder that the disk hasn't accepted.

        Returns the file offset up to which we know all bytes. You have to offer the later ones again.
        """
        self.publish_held()
        followed = self._files.by_path(path)
        if followed is None:
            if offset:
                return 0
            placeholder = TailedFile(path, FileIdentity(0, 0), 0, int(1e9 * time.time()))
            if self._has_to_wait(placeholder):
                return offset + len(data)
            followed = self._files.follow(placeholder, existed=False)
            followed.unwritten = True
        followed.read_to_end = True  # bytes that are offered next were written after this
        with self.contain(followed.file):
            self.feed(followed, offset, data, trio.current_time())
        return followed.pipeline.bytes_read

    def publish_held(self) -> None:
        """Publish the bytes that are held back, unless their file is no longer followed."""
        followed, self._held = self._held, None
        if followed is not None and self._files.follows(followed):
            with self.contain(followed.file):
                self._publisher.publish(followed, followed.pipeline.feed(followed.take_held()), held=True)

    def _can_wait(self, followed: FollowedFile) -> bool:
        """Whether the next bytes of a file belong to the running game, and nothing reads it except live subscribers."""
        if self._channel.readers:
            return False
        game = followed.game
        return game is not None and game is self._channel.current and game.in_progress and not game.catching_up

    def play_files_at_rest(self, nursery: trio.Nursery) -> None:
        """Start to play each file that hasn't grown for a moment."""
        now = trio.current_time()
        for followed in self._files:
            is_waiting = followed.written_whole and followed.has_unread_bytes and not followed.existed
            if is_waiting and now - followed.grown_at >= REST_SECONDS:
                followed.played_size_bytes, followed.playing = followed.file.size_bytes, True
                nursery.start_soon(self._play_contained, followed)

    async def _play_contained(self, followed: FollowedFile) -> None:
        with self.contain(followed.file):
            await self._play(followed)

    async def _play(self, followed: FollowedFile) -> None:
        """Publish the start, the frames and the end of one file, either paced or as fast as possible."""
        file, limiter = followed.file, self._context.limiter
        try:
            decoded = await trio.to_thread.run_sync(_decode, file.path, limiter=limiter)
        except OSError as error:
            self._log.warning("file unreadable", file=printable(file.path, self._context.folder), what=error.strerror)
            followed.playing = False
            return
        if not self._files.follows(followed):  # lost while it was read
            return
        if decoded is None:
            self._log.debug("not a replay", file=printable(file.path, self._context.folder))
            self._files.release(followed)
            return
        pipeline, batch = decoded
        followed.pipeline = pipeline
        self._publisher.publish(followed, batch)
        frame_seconds, batch_frames = 0.0, _UNPACED_FRAMES
        if self._context.watch.pace and batch.start is not None and batch.start.rate[0] > 0:
            numerator, denominator = batch.start.rate
            frame_seconds = denominator / numerator
            batch_frames = max(1, round(_PACED_SECONDS / frame_seconds))
        due = trio.current_time()
        while pipeline.pending:
            batch = await trio.to_thread.run_sync(pipeline.more, batch_frames, limiter=limiter)
            if not self._files.follows(followed) or followed.pipeline is not pipeline:
                return  # lost, or another game by now
            self._publisher.publish(followed, batch)
            followed.grown_at = trio.current_time()  # the game continues, though its file does not grow
            due += batch_frames * frame_seconds
            await trio.sleep_until(due)
        followed.playing = False
        self._files.release_if_done(followed)

    def _scanned(self, event: Scanned) -> None:
        self._files.list_in_index(event.files)
        if self._files.tail.root_trouble is None:  # a missing folder has not been scanned
            self._log.info("folder scanned", folder=str(self._context.folder), finished=len(event.files))

    def _touched(self, event: Touched) -> None:
        self._files.list_in_index(event.files)

    def _settled(self, event: Settled) -> None:
        self._channel.settled = True
        self._status.check_folder()
        self._channel.notify()

    def _opened(self, event: Opened) -> None:
        file = event.file
        if event.changed:
            self._files.forget_games(file)
        if self._has_to_wait(file):
            return
        self._log.debug("file opened", file=printable(file.path, self._context.folder), existed=event.existed)
        unwritten = self._files.by_path(file.path)
        if unwritten is not None and unwritten.unwritten:
            self._files.note_written(unwritten, file)
        else:
            # A file written in one go has another game once its bytes have changed, and that game is not an old one.
            is_another = event.changed and of_name(file.path.name).written_whole
            self._files.follow(file, existed=event.existed and not is_another)

    def _rewritten(self, event: Rewritten) -> None:
        followed = self._files.by_file.get(event.file)
        if followed is not None and followed.copy_of is None:
            followed.grown_at, followed.seen_to_grow = trio.current_time(), followed.read_to_end
            self._publisher.publish(followed, followed.pipeline.rewrite(event.data))
            self._files.release_if_done(followed)

    def _caught_up(self, event: CaughtUp) -> None:
        followed = self._files.by_file.get(event.file)
        if followed is None:
            return
        followed.read_to_end = True
        if followed.copy_of is not None:
            followed.existed = False
            if followed.file.arrived_whole:
                self._files.release_unpublished(followed)
            return
        if followed.written_whole and followed.existed:  # a game that was over before: known, not streamed
            self._files.release_unpublished(followed)
            return
        followed.existed = False
        game = followed.game
        if game is not None and game.catching_up:
            if followed.pipeline.closed and not self._channel.settled:  # over before we started: known, not streamed
                self._channel.retire(game, followed.file.mtime_ns, followed.file.path.name)
                self._files.release(followed)
            self._channel.caught_up(game)
            if game.in_progress and game is self._channel.current:
                self._status.note_played(game)
        self._files.release_if_done(followed)

    def _lost(self, event: Lost) -> None:
        followed = self._files.drop(event.file)
        self._counters.metrics.source_error(event.error.code)
        if self._context.index is not None:
            self._context.index.gone(event.file.path)
        if not isinstance(event.error, Vanished | Unreadable):
            self._files.forget_games(event.file)
        self._log.warning(
            "file lost",
            game_id=None if followed is None else followed.pipeline.game_id,
            file=printable(event.file.path, self._context.folder),
            what=event.error.what,
        )
        if followed is not None:
            self._counters.flush([followed])
            self._publisher.lose(followed, event.error.what)

    def _refused(self, event: Refused) -> None:
        error = event.error
        self._counters.metrics.source_error(error.code)
        self._log.warning("file refused", file=printable(event.path, self._context.folder), what=error.what)
        self._publisher.publish_loose(error.code, event.path, 0, error.what)

    REACTIONS: Mapping[type[TailEvent], Callable[[Following, Any], None]] = {
        Scanned: _scanned,
        Touched: _touched,
        Settled: _settled,
        Opened: _opened,
        Rewritten: _rewritten,
        CaughtUp: _caught_up,
        Lost: _lost,
        Refused: _refused,
    }
    """The reactions to events by their types, except for `Grew`, which is so frequent that it is handled separately."""


def _decode(path: Path) -> tuple[Pipeline, Batch] | None:
    """Read and decode a file. Return its pipeline and the events before its frames, or `None` if it isn't a replay.

    This blocks, and for a large file this is too long for the event loop. Raises `OSError` if the file cannot be read.
    """
    data = read_regular(path)
    format_ = choose(path.name, data[:SNIFFED_BYTES], len(data))
    if format_ is None:
        return None
    pipeline = Pipeline(format_.new_reader(path.name), MODES)
    fed = pipeline.feed(data)
    return pipeline, fed if pipeline.failure is not None else pipeline.finish()
