"""Files that a game writes in one go, such as saved ghosts. Each of them is played once it has stopped changing.

The format of these files doesn't show whether a file is complete. Because of this, we only read a file after it has
been at rest for a moment. If it changes later, it holds another game.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from slpstream.formats.interface import REST_SECONDS, SNIFFED_BYTES
from slpstream.formats.registry import choose
from slpstream.game.log_writer import MODES, Batch
from slpstream.game.pipeline import Pipeline
from slpstream.system.files import printable, read_regular
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.containment import FileContainment
    from slpstream.daemon.station.followed_file import FollowedFile
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.publishing import Publisher
    from slpstream.daemon.station.services import Settings, SharedServices

_PACED_SECONDS = 0.05
_UNPACED_FRAMES = 256
"""The number of frames that are published together if they aren't paced."""


class WholeFiles:
    """Plays those files of one station that were written in one go."""

    def __init__(
        self,
        files: FollowedFiles,
        publisher: Publisher,
        containment: FileContainment,
        settings: Settings,
        shared: SharedServices,
    ) -> None:
        self._files = files
        self._publisher = publisher
        self._containment = containment
        self._settings = settings
        self._shared = shared
        self._log = get_logger()

    def play_files_at_rest(self, nursery: trio.Nursery) -> None:
        """Start to play each file that hasn't grown for a moment."""
        now = trio.current_time()
        for followed in self._files:
            is_waiting = followed.written_whole and followed.has_unread_bytes and not followed.existed
            if is_waiting and now - followed.growth.grown_at >= REST_SECONDS:
                followed.played_size_bytes, followed.playing = followed.file.size_bytes, True
                nursery.start_soon(self._play_contained, followed)

    async def _play_contained(self, followed: FollowedFile) -> None:
        with self._shared.errors.contain("file") as contained:
            await self._play(followed)
        if contained.error_id is not None:
            self._containment.quarantine(followed.file, contained.error_id)

    async def _play(self, followed: FollowedFile) -> None:
        """Publish the start, the frames and the end of one file, either paced or as fast as possible."""
        file, limiter = followed.file, self._shared.limiter
        try:
            decoded = await trio.to_thread.run_sync(_decode, file.path, limiter=limiter)
        except OSError as error:
            self._log.warning("file unreadable", file=printable(file.path, self._files.folder), what=error.strerror)
            followed.playing = False
            return
        if not self._files.follows(followed):  # lost while it was read
            return
        if decoded is None:
            self._log.debug("not a replay", file=printable(file.path, self._files.folder))
            self._files.release(followed)
            return
        pipeline, batch = decoded
        followed.pipeline = pipeline
        self._publisher.publish(followed, batch)
        frame_seconds, batch_frames = 0.0, _UNPACED_FRAMES
        if self._settings.watch.pace and batch.start is not None and batch.start.rate[0] > 0:
            numerator, denominator = batch.start.rate
            frame_seconds = denominator / numerator
            batch_frames = max(1, round(_PACED_SECONDS / frame_seconds))
        due = trio.current_time()
        while pipeline.pending:
            batch = await trio.to_thread.run_sync(pipeline.more, batch_frames, limiter=limiter)
            if not self._files.follows(followed) or followed.pipeline is not pipeline:
                return  # lost, or another game by now
            self._publisher.publish(followed, batch)
            followed.growth.grown_at = trio.current_time()  # the game continues, though its file does not grow
            due += batch_frames * frame_seconds
            await trio.sleep_until(due)
        followed.playing = False
        if self._files.follows(followed):
            self._files.release_if_done(followed)


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
