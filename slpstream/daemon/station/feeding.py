"""The way of new bytes from a file into its pipeline, and the bytes and messages that wait while they have no reader.

Decoding many bytes together takes a fraction of the time. So the bytes of a game that no client reads are held back,
and published when a client, a request or the clock asks for them.
"""

from __future__ import annotations

import trio

from slpstream.daemon.station.containment import FileContainment
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.current_game import CurrentGame
from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.daemon.station.followed_files import FollowedFiles
from slpstream.daemon.station.publishing import Publisher
from slpstream.formats.registry import of_name
from slpstream.game.log_reader import MODES
from slpstream.stream import Channel


class Feeder:
    """Feeds the files of one station to their pipelines."""

    def __init__(
        self,
        channel: Channel,
        files: FollowedFiles,
        publisher: Publisher,
        current: CurrentGame,
        counters: StationCounters,
        containment: FileContainment,
    ) -> None:
        self._channel = channel
        self._files = files
        self._publisher = publisher
        self._current = current
        self._counters = counters
        self._containment = containment
        self._held: FollowedFile | None = None
        """The file whose last bytes are held back."""
        self._unwritten: dict[FollowedFile, None] = {}
        """Files with messages that wait because the log of their mode has no reader."""

    def feed(self, followed: FollowedFile, offset: int, data: bytes) -> None:
        """Take bytes of a file that begin at an offset. They may overlap the bytes before, and may come after a gap."""
        followed.growth.note_growth(trio.current_time())
        if followed.whole is not None or followed.is_copy():  # read once it has stopped changing, or not at all
            self._counters.count_bytes(len(data))
            self._files.stop_reading_if_exhausted(followed)
            return
        pipeline = followed.pipeline
        if offset == 0 and followed.read_bytes:  # read before it reached the disk, except for later rewrites
            rewritable = data[: of_name(followed.file.path.name).rewritable_bytes]
            self._feed_held()
            if not self._files.follows(followed):
                return
            self._publisher.publish(followed, pipeline.rewrite(rewritable))
        offset, data = followed.after_read(offset, data)
        if not data:
            return
        self._counters.count_bytes(len(data))
        if self._can_wait(followed) and followed.hold(data):
            self._held = followed
        else:
            self._feed_held()
            if not self._files.follows(followed):
                return  # its held bytes have failed, so its pipeline is not used any more
            self._feed_pipeline(followed, data)
        if followed.is_copy():
            return
        if self._files.on_bytes is not None:
            self._files.on_bytes(followed, offset, data)
        self._current.note_growth(followed)
        if pipeline.closed:
            self._files.stop_reading_if_exhausted(followed)
            self._files.release_if_done(followed)

    def rewrite(self, followed: FollowedFile, header: bytes) -> None:
        """Take the first bytes of a file again, after they have changed."""
        followed.growth.note_growth(trio.current_time())
        self._publisher.publish(followed, followed.pipeline.rewrite(header))
        self._files.release_if_done(followed)

    def publish_held(self) -> None:
        """Publish everything that waits for a reader."""
        self._feed_held()
        while self._unwritten:
            followed, _ = self._unwritten.popitem()
            self._containment.run(followed.file, self._settle, followed)

    def discard_held(self) -> None:
        """Forget everything that waits, because its files are not followed any more."""
        self._held = None
        self._unwritten.clear()

    def _can_wait(self, followed: FollowedFile) -> bool:
        """Whether the next bytes of a file may wait: they belong to the running game, and the station has no reader.

        Reading the station's state publishes them first.
        """
        if len(self._channel.unread_modes) < len(MODES):
            return False
        game = followed.game
        return game is not None and game is self._channel.current and game.in_progress and not game.catching_up

    def _feed_held_of(self, followed: FollowedFile) -> None:
        self._feed_pipeline(followed, followed.take_held(), held=True)

    def _feed_pipeline(self, followed: FollowedFile, data: bytes, *, held: bool = False) -> None:
        unread = self._channel.unread_modes
        if unread:
            self._unwritten[followed] = None
        self._publisher.publish(followed, followed.pipeline.feed(data, unread), held=held)
        if not followed.is_copy():
            followed.keep_checkpoint()

    def _feed_held(self) -> None:
        followed, self._held = self._held, None
        if followed is not None:
            self._containment.run(followed.file, self._feed_held_of, followed)

    def _settle(self, followed: FollowedFile) -> None:
        self._publisher.publish(followed, followed.pipeline.settle())
