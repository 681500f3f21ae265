"""How a station reacts to the events of its tail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream.formats.registry import of_name
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
    TailEvent,
    Touched,
)
from slpstream.system.files import printable
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.containment import FileContainment
    from slpstream.daemon.station.counters import StationCounters
    from slpstream.daemon.station.current_game import CurrentGame
    from slpstream.daemon.station.folder_health import FolderHealth
    from slpstream.daemon.station.followed_files import FollowedFiles, StationIndex
    from slpstream.daemon.station.games_by_file import GamesByFile
    from slpstream.daemon.station.publishing import Feeder, Publisher
    from slpstream.stream.channel import Channel
    from slpstream.system.metrics import StationMetrics


class Following:
    """Follows the files of one station: it opens, feeds and releases them as the tail reports."""

    def __init__(
        self,
        channel: Channel,
        files: FollowedFiles,
        games: GamesByFile,
        publisher: Publisher,
        current: CurrentGame,
        feeder: Feeder,
        *,
        health: FolderHealth,
        containment: FileContainment,
        index: StationIndex,
        counters: StationCounters,
        metrics: StationMetrics,
    ) -> None:
        self._channel = channel
        self._files = files
        self._games = games
        self._publisher = publisher
        self._current = current
        self._feeder = feeder
        self._health = health
        self._containment = containment
        self._index = index
        self._counters = counters
        self._metrics = metrics
        self._log = get_logger()

    def take(self, event: TailEvent) -> None:
        """React to an event. If there is a bug in the work on one file, this file is put into quarantine."""
        if type(event) is Grew:
            # This is sixty times a second, so we do without the calls of `get` and `run`.
            if event.file in self._files.by_file:
                followed = self._files.by_file[event.file]
                try:
                    self._feeder.feed(followed, event.offset, event.data, event.read_at)
                except BaseException as error:  # noqa: BLE001 -- raised again if it isn't to be contained
                    self._containment.failed(event.file, error)
            return
        self._feeder.publish_held()
        react = self.REACTIONS[type(event)]
        if isinstance(event, Scanned | Settled | Touched):
            react(self, event)
        else:
            file = None if isinstance(event, Refused) else event.file
            self._containment.run(file, react, self, event)

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Take bytes of a file in the folder that the disk hasn't accepted.

        Returns the file offset up to which we know all bytes. You have to offer the later ones again.
        """
        self._feeder.publish_held()
        followed = self._files.by_path(path)
        if followed is None:
            if offset:
                return 0
            placeholder = self._files.placeholder(path)
            if self._containment.holds(placeholder):
                return offset + len(data)
            followed = self._files.follow(placeholder, existed=False)
            followed.unwritten = True
        followed.growth.note_end()  # bytes that are offered next were written after this
        self._containment.run(followed.file, self._feeder.feed, followed, offset, data, trio.current_time())
        return followed.pipeline.bytes_read

    def _scanned(self, event: Scanned) -> None:
        self._index.listed(event.files)
        tail = self._files.tail
        if tail is None or tail.root_trouble is None:  # a missing folder has not been scanned
            self._log.info("folder scanned", folder=str(self._files.folder), finished=len(event.files))

    def _touched(self, event: Touched) -> None:
        self._index.listed(event.files)

    def _settled(self, event: Settled) -> None:
        self._channel.settled = True
        self._health.check()
        self._channel.notify()

    def _opened(self, event: Opened) -> None:
        file = event.file
        if event.changed:
            self._games.forget_file(file)  # which no longer has their logs
        if self._containment.holds(file):
            return
        self._log.debug("file opened", file=printable(file.path, self._files.folder), existed=event.existed)
        unwritten = self._files.by_path(file.path)
        if unwritten is not None and unwritten.unwritten:
            self._files.note_written(unwritten, file)
            if unwritten.game is not None:
                self._games.put(file, unwritten.game)
        else:
            # A file written in one go has another game once its bytes have changed, and that game is not an old one.
            is_another = event.changed and of_name(file.path.name).written_whole
            self._files.follow(file, existed=event.existed and not is_another)

    def _rewritten(self, event: Rewritten) -> None:
        followed = self._files.get(event.file)
        if followed is not None and followed.copy_of is None:
            self._feeder.rewrite(followed, event.data)

    def _caught_up(self, event: CaughtUp) -> None:
        followed = self._files.get(event.file)
        if followed is None:
            return
        followed.growth.note_end()
        if followed.copy_of is not None:
            followed.existed = False
            if followed.file.arrived_whole:
                self._files.release_copy(followed)
            return
        if followed.whole is not None and followed.existed:  # a game that was over before: known, not streamed
            followed.whole.played_size_bytes = followed.file.size_bytes
            self._files.release(followed)
            self._index.listed([followed.file])
            return
        followed.existed = False
        game = followed.game
        if game is None or not game.catching_up:
            self._files.release_if_done(followed)
            return
        was_over = followed.pipeline.closed and not self._channel.settled
        if was_over:  # before the daemon started: known, not streamed
            self._channel.retire(game, followed.file.mtime_ns, followed.file.path.name)
            self._files.release(followed)
        self._channel.caught_up(game)
        if game.in_progress:
            if game is self._channel.current:
                self._current.note_played(game)
        elif not was_over:
            self._files.release_if_done(followed)

    def _lost(self, event: Lost) -> None:
        followed = self._files.drop(event.file)
        self._metrics.source_error(event.error.code)
        self._index.gone(event.file.path)
        self._log.warning(
            "file lost",
            game_id=None if followed is None else followed.pipeline.game_id,
            file=printable(event.file.path, self._files.folder),
            what=event.error.what,
        )
        if followed is None:
            return
        self._counters.flush([followed.pipeline.reader])
        if followed.game is not None and not isinstance(event.error, Vanished | Unreadable):
            self._games.forget(followed.game)  # if the file comes back, it is not the same log
        self._publisher.lose(followed, event.error.what)

    def _refused(self, event: Refused) -> None:
        error = event.error
        self._metrics.source_error(error.code)
        self._log.warning("file refused", file=printable(event.path, self._files.folder), what=error.what)
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
    """The reactions to the types of events. `Grew` isn't here, because it is so frequent that it is handled
    separately."""
