"""The files that a station follows, their tail, and their entries in the index of games."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.formats.registry import of_name
from slpstream.game.log_reader import ReadUnwritten
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.game.record import record_of
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity

if TYPE_CHECKING:
    from slpstream.daemon.station.choice import Candidate
    from slpstream.daemon.station.counters import StationCounters
    from slpstream.daemon.station.services import SharedServices
    from slpstream.formats.interface import Reader
    from slpstream.model.events import Event
    from slpstream.sources.tail.folder import FolderTail
    from slpstream.store.index import GameIndex
    from slpstream.stream.game import Game

OnBytes = Callable[[FollowedFile, int, bytes], None]
"""Called with the next bytes of a file and their offset. There are no gaps between the calls. It must not block.

If a file wasn't followed for a while and is then read again, it comes again from its beginning.
"""


class StationIndex:
    """Reports the files and games of one station to the index. Without an index, it only updates their summaries."""

    def __init__(self, station: str, index: GameIndex | None, wall_clock: Callable[[], float]) -> None:
        self._station = station
        self._index = index
        self._wall_clock = wall_clock

    def listed(self, files: Iterable[TailedFile]) -> None:
        """Report files that aren't followed. The index will read those that it does not know."""
        if self._index is not None:
            self._index.listed(self._station, [(file.path, file.mtime_ns, file.size_bytes) for file in files])

    def gone(self, path: Path) -> None:
        """Report that a file can no longer be followed."""
        if self._index is not None:
            self._index.gone(path)

    def update(self, followed: FollowedFile, events: Sequence[Event] = (), *, over: bool = False) -> None:
        """Update the summary of a game from notable events, and also its record if they change it.

        With `over`, the record is written in any case.
        """
        changed = followed.describe(events, round(1000 * self._wall_clock()))
        if followed.game is not None and followed.game.secondary and not over:
            return  # in the index it would look like the game in progress
        described = followed.record.described
        if self._index is None or described is None or not (changed or over):
            return
        file = followed.file
        self._index.played(
            self._station,
            file.path,
            file.mtime_ns,
            file.size_bytes,
            record_of(described),
            arrived_at_ms=followed.arrived_at_ms,
            ended_at_ms=followed.record.ended_at_ms,
            pacing=followed.pacing,
        )


class FollowedFiles:
    """The files that one station follows. You can add and release files while you iterate over it."""

    def __init__(
        self, station: str, folder: Path, index: StationIndex, counters: StationCounters, shared: SharedServices
    ) -> None:
        self.folder = folder
        self.tail: FolderTail | None = None
        """Reads the files. This is `None` before the station runs."""
        self.read_unwritten: ReadUnwritten | None = None
        """Reads bytes that the disk hasn't accepted yet. The recorder of the console sets this."""
        self.on_bytes: OnBytes | None = None
        """Receives the bytes of all files. The relay of the station sets this."""
        self._station = station
        self._index = index
        self._counters = counters
        self._shared = shared
        self.by_file: dict[TailedFile, FollowedFile] = {}
        """The followed files, by the files of the tail. Only this class changes it."""

    def __len__(self) -> int:
        return len(self.by_file)

    def __iter__(self) -> Iterator[FollowedFile]:
        return iter(list(self.by_file.values()))

    def follows(self, followed: FollowedFile) -> bool:
        """Whether we still follow this file."""
        return self.by_file.get(followed.file) is followed

    def get(self, file: TailedFile) -> FollowedFile | None:
        """Return the followed file for a file of the tail, or `None` if we don't follow it."""
        return self.by_file.get(file)

    def by_path(self, path: Path) -> FollowedFile | None:
        """Return the followed file at the given path, or `None` if no such file is followed."""
        return next((followed for followed in self.by_file.values() if followed.file.path == path), None)

    def of_game(self, game: Game | None) -> FollowedFile | None:
        """Return the file that is followed for the given game, or `None` if no file is."""
        if game is None:
            return None
        return next((followed for followed in self.by_file.values() if followed.game is game), None)

    def candidates(self) -> Iterator[Candidate]:
        """Return the games in the files that we follow. The current game is chosen from these."""
        return (candidate for followed in self if (candidate := followed.candidate) is not None)

    def readers(self) -> Iterator[Reader]:
        """Return the readers of all files, as the formats have made them."""
        return (followed.pipeline.reader for followed in self)

    def archived(self) -> Sequence[TailedFile]:
        """Return the files that are known but not followed."""
        return () if self.tail is None else self.tail.listed

    def follow(self, file: TailedFile, *, existed: bool) -> FollowedFile:
        """Add a file. For the meaning of `existed`, have a look at `FollowedFile`."""
        pipeline = Pipeline(of_name(file.path.name).new_reader(file.path.name), MODES)
        seen_at_ms = round(1000 * self._shared.wall_clock())
        followed = self.by_file[file] = FollowedFile(file, pipeline, existed=existed, seen_at_ms=seen_at_ms)
        return followed

    def placeholder(self, path: Path) -> TailedFile:
        """Return a placeholder for a file that doesn't exist yet, because the disk has not accepted any of its
        bytes.
        """
        return TailedFile(path, FileIdentity(0, 0), 0, int(self._shared.wall_clock() * 1e9))

    def note_written(self, followed: FollowedFile, file: TailedFile) -> None:
        """Note that the disk has accepted the first bytes of an unwritten file, which is now `file`."""
        del self.by_file[followed.file]
        followed.file, followed.unwritten = file, False
        self.by_file[file] = followed

    def drop(self, file: TailedFile) -> FollowedFile | None:
        """Remove a file without any other effect."""
        return self.by_file.pop(file, None)

    def abandon(self) -> None:
        """Stop following all files, because the work on the folder has ended.

        Their games resume when the files are read again.
        """
        abandoned = list(self)
        self.by_file = {}
        for followed in abandoned:
            followed.release(self._shared.limiter)
            if followed.game is not None:
                followed.game.leave()

    def release(self, followed: FollowedFile) -> None:
        """Stop following a file. It is read again if it changes."""
        file = followed.file
        self._counters.flush([followed.pipeline.reader])
        self._index.update(followed, over=True)
        if self._shared.finished_games is not None:
            self._shared.finished_games.released(self._station, file.path, followed.pipeline)
        del self.by_file[file]
        followed.release(self._shared.limiter)
        self.release_in_tail(file)

    def release_copy(self, followed: FollowedFile) -> None:
        """Stop following a file whose game is already in another file. It is read again if it changes."""
        del self.by_file[followed.file]
        self.release_in_tail(followed.file)
        self._index.listed([followed.file])

    def release_in_tail(self, file: TailedFile) -> None:
        """Let the tail close a file."""
        if self.tail is not None:
            self.tail.release(file)

    def index_all(self) -> None:
        """Report all files to the index, whether they are followed or not."""
        self._index.listed({*self.archived(), *self.by_file})

    def read_again(self, file: TailedFile) -> None:
        """Let the tail open a file again."""
        if self.tail is not None:
            self.tail.read_again(file)

    def stop_reading_if_exhausted(self, followed: FollowedFile) -> None:
        """Stop reading a file if its further bytes have no effect.

        This matters because a hole can make a file a terabyte long.
        """
        if self.tail is not None and followed.is_exhausted:
            followed.exhausted_size_bytes = followed.file.size_bytes
            self.tail.stop_reading(followed.file)

    def release_if_done(self, followed: FollowedFile) -> None:
        """Release a file if it is closed and its game is complete.

        This matters because thousands of files can be copied in together.
        """
        pipeline = followed.pipeline
        if followed.ahead_of_disk:
            return
        if pipeline.closed and pipeline.failure is None and not followed.has_unread_bytes and not followed.existed:
            self.release(followed)

    @property
    def lag_seconds(self) -> float:
        """How long unread bytes have been waiting, or 0 without unread bytes. You can read this from any thread."""
        # Other files that arrived whole are read when there is time.
        files = [f for f in self if f.whole is not None or not f.file.arrived_whole]
        waiting_since = [f.file.mtime_ns / 1e9 for f in files if f.has_unread_bytes]
        return max(0.0, self._shared.wall_clock() - min(waiting_since)) if waiting_since else 0.0
