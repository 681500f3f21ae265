"""The files that a station follows, their tail, and the games in them, also as entries in the index of games."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.formats.registry import of_name
from slpstream.game.log_reader import ReadUnwritten
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity, key_of
from slpstream.system.files import WHOLE_FILE_BYTES

if TYPE_CHECKING:
    from slpstream.daemon.station.counters import StationCounters
    from slpstream.daemon.station.services import SharedServices
    from slpstream.formats.interface import Reader
    from slpstream.model.events import Event
    from slpstream.sources.tail.folder import FolderTail
    from slpstream.stream.game import Game


class GamesByFile:
    """The games of one station by their files. If a file is read again, this lets its game continue."""

    def __init__(self) -> None:
        self._games: dict[tuple[FileIdentity, str], tuple[Game, TailedFile]] = {}

    def put(self, file: TailedFile, game: Game) -> None:
        """Record that `file` holds `game`."""
        self._games[file.identity, game.game_id] = (game, file)

    def find(self, file: TailedFile, game_id: str) -> Game | None:
        """Return the game with this id that `file` holds or used to hold, or `None` if it never held such a game."""
        game, _ = self._games.get((file.identity, game_id), (None, None))
        return game

    def can_continue(self, game: Game) -> bool:
        """Whether a game that has stopped will resume if its file, or a copy of it, grows."""
        return any(held is game for held, _ in self._games.values())

    def forget(self, game: Game) -> None:
        """Forget a game that won't continue, whatever its file contains later."""
        self._keep(lambda held, _: held is not game)

    def forget_file(self, file: TailedFile) -> None:
        """Forget the games in a file whose bytes have changed."""
        changed = key_of(file.identity, str(file.path))
        self._keep(lambda _, held: key_of(held.identity, str(held.path)) != changed)

    def prune(self, known: Collection[Game], exists: Callable[[TailedFile], bool]) -> None:
        """Forget all games except for those in `known`, and those that we left and whose files still exist."""
        kept = set(known)
        self._keep(lambda game, file: game in kept or (game.left and exists(file)))

    def _keep(self, is_kept: Callable[[Game, TailedFile], bool]) -> None:
        self._games = {key: held for key, held in self._games.items() if is_kept(*held)}


class FollowedFiles:
    """The files that one station follows. You can add and release files while you iterate over it."""

    def __init__(
        self, station: str, folder: Path, tail: FolderTail, counters: StationCounters, shared: SharedServices
    ) -> None:
        self.folder = folder
        self.tail = tail
        """Reads the files. If the work on the folder begins again after a bug, it gets another one."""
        self.games = GamesByFile()
        self.read_unwritten: ReadUnwritten | None = None
        """Reads bytes that the disk hasn't accepted yet. The recorder of the console sets this."""
        self.on_bytes: Callable[[FollowedFile, int, bytes], None] | None = None
        """Receives the bytes of all files with their offsets, without gaps. The relay of the station sets this.

        If a file wasn't followed for a while and is then read again, it comes again from its beginning. The function
        must not block.
        """
        self._station = station
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

    def by_path(self, path: Path) -> FollowedFile | None:
        """Return the followed file at the given path, or `None` if no such file is followed."""
        return next((followed for followed in self.by_file.values() if followed.file.path == path), None)

    def of_game(self, game: Game | None) -> FollowedFile | None:
        """Return the file that is followed for the given game, or `None` if no file is."""
        if game is None:
            return None
        return next((followed for followed in self.by_file.values() if followed.game is game), None)

    def readers(self) -> Iterator[Reader]:
        """Return the readers of all files, as the formats have made them."""
        return (followed.pipeline.reader for followed in self)

    def follow(self, file: TailedFile, *, existed: bool) -> FollowedFile:
        """Add a file. For the meaning of `existed`, have a look at `FollowedFile`."""
        pipeline = Pipeline(of_name(file.path.name).new_reader(file.path.name), MODES)
        followed = self.by_file[file] = FollowedFile(file, pipeline, existed=existed, seen_at_ms=self._now_ms)
        return followed

    def placeholder(self, path: Path) -> TailedFile:
        """Return a placeholder for a file that doesn't exist yet, because the disk hasn't accepted its first bytes."""
        return TailedFile(path, FileIdentity(0, 0), 0, int(self._shared.wall_clock() * 1e9))

    def note_written(self, followed: FollowedFile, file: TailedFile) -> None:
        """Note that the disk has accepted the first bytes of an unwritten file, which is now `file`."""
        del self.by_file[followed.file]
        followed.file, followed.unwritten = file, False
        self.by_file[file] = followed
        if followed.game is not None:
            self.games.put(file, followed.game)

    def drop(self, file: TailedFile) -> FollowedFile | None:
        """Remove a file without any other effect, and return it if it was followed."""
        return self.by_file.pop(file, None)

    def abandon(self) -> None:
        """Stop following all files. Their games resume when the files are read again."""
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
        self.update_index(followed, over=True)
        if self._shared.finished_games is not None:
            self._shared.finished_games.released(self._station, file.path, followed.pipeline)
        del self.by_file[file]
        followed.release(self._shared.limiter)
        self.tail.release(file)

    def release_copy(self, followed: FollowedFile) -> None:
        """Stop following a file whose game is already in another file. It is read again if it changes."""
        del self.by_file[followed.file]
        self.tail.release(followed.file)
        self.list_in_index([followed.file])

    def stop_reading_if_exhausted(self, followed: FollowedFile) -> None:
        """Stop reading a file if its further bytes have no effect. A hole can make a file a terabyte long."""
        size_bytes = followed.file.size_bytes
        if size_bytes > WHOLE_FILE_BYTES if followed.written_whole else followed.pipeline.exhausted:
            followed.exhausted_size_bytes = size_bytes
            self.tail.stop_reading(followed.file)

    def release_if_done(self, followed: FollowedFile) -> None:
        """Release a file if its game is complete. Thousands of files can be copied in together."""
        pipeline = followed.pipeline
        if followed.ahead_of_disk or followed.has_unread_bytes or followed.existed:
            return
        if pipeline.closed and pipeline.failure is None:
            self.release(followed)

    @property
    def lag_seconds(self) -> float:
        """How long unread bytes have been waiting, or 0 without unread bytes. You can read this from any thread."""
        # Other files that arrived whole are read when there is time.
        files = [f for f in self if f.written_whole or not f.file.arrived_whole]
        waiting_since = [f.file.mtime_ns / 1e9 for f in files if f.has_unread_bytes]
        return max(0.0, self._shared.wall_clock() - min(waiting_since)) if waiting_since else 0.0

    def list_in_index(self, files: Iterable[TailedFile]) -> None:
        """Report files to the index of games. It will read those that it does not know."""
        if self._shared.index is not None:
            self._shared.index.listed(self._station, [(file.path, file.mtime_ns, file.size_bytes) for file in files])

    def remove_from_index(self, file: TailedFile) -> None:
        """Report to the index that a file can no longer be followed."""
        if self._shared.index is not None:
            self._shared.index.gone(file.path)

    def update_index(self, followed: FollowedFile, events: Sequence[Event] = (), *, over: bool = False) -> None:
        """Update the summary of a game from notable events, and also its record in the index if they change it.

        With `over`, the record is written in any case.
        """
        changed = followed.describe(events, self._now_ms)
        if followed.game is not None and followed.game.secondary and not over:
            return  # in the index it would look like the game in progress
        if self._shared.index is None or followed.described is None or not (changed or over):
            return
        file = followed.file
        self._shared.index.played(
            self._station,
            file.path,
            file.mtime_ns,
            file.size_bytes,
            followed.described.record(),
            arrived_at_ms=followed.arrived_at_ms,
            ended_at_ms=followed.ended_at_ms,
            pacing=followed.pacing,
        )

    @property
    def _now_ms(self) -> int:
        """The wall clock in Unix milliseconds."""
        return round(1000 * self._shared.wall_clock())
