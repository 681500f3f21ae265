"""The files that a station follows, their tail, and the games in them, also as entries in the index of games."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import trio

from slpstream.daemon.station.context import StationContext
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.frame_pacing import FramePacing
from slpstream.formats.registry import of_name
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import FileLogReader, GrowingLogReader, ReadUnwritten, WholeFileLogReader
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.model.events import Diagnostic, Event, GameEnd, StatsUpdate
from slpstream.model.messages import FramesMode, Position
from slpstream.model.setup import Pacing
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.identity import FileIdentity, key_of
from slpstream.stream.game import Game, Role
from slpstream.system.files import WHOLE_FILE_BYTES

_MAX_HELD_BYTES = 1 << 16
"""This is about a second of a game with four players."""


class FollowedFile:
    """A file that is being read, with its pipeline and, once the game has begun, its game."""

    def __init__(self, file: TailedFile, limiter: trio.CapacityLimiter, *, existed: bool) -> None:
        """`existed` means that the file is older than the station, so it is only live once it was read to its end."""
        name = file.path.name
        self.file = file
        self.pipeline = Pipeline(of_name(name).new_reader(name), MODES)
        self.existed = existed
        self.game: Game | None = None
        self.opened_at = self.grown_at = trio.current_time()
        """When the file was opened, and when it last grew."""
        self.read_to_end = self.seen_to_grow = False
        """Whether the file was read to its end, and whether it has grown since then."""
        self.copy_of: Game | None = None
        """The game that is already in another file. If this is set, nothing of this file is published."""
        self.unwritten = False
        """Whether the file doesn't exist yet, because it cannot be written to the disk."""
        self.exhausted_size_bytes: int | None = None
        """The last size that we know of a file that is no longer read, however much it grows."""

        self.written_whole = of_name(name).written_whole
        """Whether the game writes the file in one go. Such a file is read once it has stopped changing."""
        self.played_size_bytes: int | None = None
        """The size at which we considered a file complete that is written in one go."""
        self.playing = False
        """Whether a file that is written in one go is being read and published right now."""

        self.described: DescribedGame | None = None
        """The settings, the result and the metadata of the game so far. This is `None` until it begins."""
        self.ended_at_ms: int | None = None
        """When we saw the game end (Unix time). This is `None` until then, and stays `None` for a game that was already
        over."""
        self.frame_pacing: FramePacing | None = None
        """How evenly the frames arrive. This is `None` until the game begins, and stays `None` if its format has no
        frames."""
        self._seen_at_ms = None if existed else round(1000 * time.time())

        self._limiter = limiter
        self.log_reader: GrowingLogReader | None = None
        """Reads the log of a growing file back. It wants copies of the pipeline (`keep`), so that jumps into a running
        game are short."""
        self._held: list[bytes] = []
        self.held_bytes = 0
        """The number of bytes that are held back from the pipeline."""

    def hold(self, data: bytes) -> bool:
        """Hold the next bytes of the file back from the pipeline. Returns False if this would exceed the limit."""
        if self.held_bytes + len(data) > _MAX_HELD_BYTES:
            return False
        self._held.append(data)
        self.held_bytes += len(data)
        return True

    def take_held(self) -> bytes:
        """Return the bytes that were held back, so that the pipeline can have them."""
        held, self._held, self.held_bytes = self._held, [], 0
        return b"".join(held)

    @property
    def read_bytes(self) -> int:
        """The number of bytes of the file that were read, including those that are held back."""
        return self.pipeline.bytes_read + self.held_bytes

    @property
    def arrived_at_ms(self) -> int | None:
        """When we saw the first bytes arrive (Unix time).

        This is `None` if the file was there before us, was written in one go, or contains a game that we didn't see
        being played.
        """
        is_played = self.game is None or self.game.role is Role.PLAYED
        return self._seen_at_ms if is_played and not self.written_whole else None

    @property
    def pacing(self) -> Pacing | None:
        """How evenly the frames of a game that has ended arrived, or `None` if we didn't see them arrive."""
        if self.arrived_at_ms is None or self.ended_at_ms is None or self.frame_pacing is None:
            return None
        return self.frame_pacing.measured()

    @property
    def has_unread_bytes(self) -> bool:
        """Whether the file has bytes that we haven't read. In a copy, we do not need them."""
        if self.copy_of is not None:
            return False
        if self.written_whole:
            return self.played_size_bytes != self.file.size_bytes
        return self.exhausted_size_bytes is None and self.read_bytes < self.file.size_bytes

    @property
    def ahead_of_disk(self) -> bool:
        """Whether we have read more bytes than the file has. This happens if the disk is full."""
        return self.read_bytes > self.file.size_bytes

    def open_log(self, game_id: str, read_unwritten: ReadUnwritten | None) -> FileLogReader:
        """Open a reader for the log of the game in this file, up to the newest message that was published."""
        if self.written_whole:
            return WholeFileLogReader(lambda: self.file.path, self._published, game_id, self._limiter)
        self.log_reader = GrowingLogReader(
            lambda: self.file.path, self._published_bytes, game_id, self._limiter, read_unwritten
        )
        return self.log_reader

    def release(self) -> None:
        """Stop following the file. Its game can still be read, without the pipeline, which takes megabytes."""
        game, file, bytes_read = self.game, self.file, self.pipeline.bytes_read
        self.log_reader = None  # it refers to this object, and reference cycles are freed late
        if game is None:
            return
        if self.written_whole:
            limits = {mode: self._published(mode) for mode in MODES}
            game.log_reader = WholeFileLogReader(lambda: file.path, limits.__getitem__, game.game_id, self._limiter)
        else:
            game.log_reader = GrowingLogReader(lambda: file.path, lambda: bytes_read, game.game_id, self._limiter)

    def _published(self, mode: FramesMode) -> Position | None:
        """Return the position of the newest published message, or `None` if all messages were published."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head

    def _published_bytes(self) -> int:
        """Return how many bytes of the file were published, in this reading of it or an earlier one."""
        game = self.game
        before = 0 if game is None else max(log.head.offset for log in game.logs.values())
        return max(before, self.pipeline.bytes_read)


class FollowedFiles:
    """The files that one station follows. You can add and release files while you iterate over it.

    It also knows the games that are in these files, or were when they were last read. If a file is read again, this
    lets its game continue.
    """

    def __init__(self, context: StationContext, tail: FolderTail, counters: StationCounters) -> None:
        self.tail = tail
        """Reads the files. If the work on the folder begins again after a bug, it gets another one."""
        self._games: dict[tuple[FileIdentity, str], tuple[Game, TailedFile]] = {}
        """The games by their files and ids."""
        self.read_unwritten: ReadUnwritten | None = None
        """Reads bytes that the disk hasn't accepted yet. The recorder of the console sets this."""
        self.on_bytes: Callable[[FollowedFile, int, bytes], None] | None = None
        """Receives the bytes of all files with their offsets, without gaps. The relay of the station sets this.

        If a file wasn't followed for a while and is then read again, it comes again from its beginning. The function
        must not block.
        """
        self._context = context
        self._counters = counters
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

    def put_game(self, file: TailedFile, game: Game) -> None:
        """Record that `file` holds `game`."""
        self._games[file.identity, game.game_id] = (game, file)

    def game_in(self, file: TailedFile, game_id: str) -> Game | None:
        """Return the game with this id that `file` holds or used to hold, or `None` if it never held such a game."""
        game, _ = self._games.get((file.identity, game_id), (None, None))
        return game

    def can_continue(self, game: Game) -> bool:
        """Whether a game that has stopped will resume if its file, or a copy of it, grows."""
        return any(held is game for held, _ in self._games.values())

    def forget_games(self, file: TailedFile) -> None:
        """Forget the games in a file whose bytes have changed. They will not continue in it."""
        changed = key_of(file.identity, str(file.path))
        for key, (_, held) in list(self._games.items()):
            if key_of(held.identity, str(held.path)) == changed:
                del self._games[key]

    def prune_games(self, known: Collection[Game]) -> None:
        """Forget all games except for those in `known`, and those that we left and whose files still exist."""
        for key, (game, file) in list(self._games.items()):
            if game not in known and not (game.stopped == "left" and self.tail.knows(file)):
                del self._games[key]

    def follow(self, file: TailedFile, *, existed: bool) -> FollowedFile:
        """Add a file. For the meaning of `existed`, have a look at `FollowedFile`."""
        followed = self.by_file[file] = FollowedFile(file, self._context.limiter, existed=existed)
        return followed

    def note_written(self, followed: FollowedFile, file: TailedFile) -> None:
        """Note that the disk has accepted the first bytes of an unwritten file, which is now `file`."""
        del self.by_file[followed.file]
        followed.file, followed.unwritten = file, False
        self.by_file[file] = followed
        if followed.game is not None:
            self.put_game(file, followed.game)

    def drop(self, file: TailedFile) -> FollowedFile | None:
        """Remove a file without any other effect, and return it if it was followed."""
        return self.by_file.pop(file, None)

    def abandon(self) -> None:
        """Stop following all files. Their games resume when the files are read again."""
        abandoned = list(self)
        self.by_file = {}
        for followed in abandoned:
            followed.release()
            if followed.game is not None:
                followed.game.leave()

    def release(self, followed: FollowedFile) -> None:
        """Stop following a file. It is read again if it changes."""
        file = followed.file
        self._counters.flush([followed])
        self.update_index(followed, over=True)
        if self._context.finished_games is not None:
            self._context.finished_games.released(self._context.id, file.path, followed.pipeline)
        del self.by_file[file]
        followed.release()
        self.tail.release(file)

    def release_unpublished(self, followed: FollowedFile) -> None:
        """Stop following a file from which nothing was published. The index will read it itself."""
        self.release(followed)
        self.list_in_index([followed.file])

    def stop_reading_if_exhausted(self, followed: FollowedFile) -> None:
        """Stop reading a file if its further bytes have no effect. A hole can make a file a terabyte long."""
        size_bytes = followed.file.size_bytes
        if size_bytes > WHOLE_FILE_BYTES if followed.written_whole else followed.pipeline.exhausted:
            followed.exhausted_size_bytes = size_bytes
            self.tail.stop_reading(followed.file)

    def release_if_done(self, followed: FollowedFile) -> None:
        """Release a file if its game is complete. Thousands of files can be copied in together."""
        is_wanted = followed.ahead_of_disk or followed.has_unread_bytes or followed.existed
        pipeline = followed.pipeline
        if self.follows(followed) and not is_wanted and pipeline.closed and pipeline.failure is None:
            self.release(followed)

    @property
    def lag_seconds(self) -> float:
        """How long unread bytes have been waiting, or 0 without unread bytes. You can read this from any thread."""
        # Other files that arrived whole are read when there is time.
        files = [f for f in self if f.written_whole or not f.file.arrived_whole]
        waiting_since = [f.file.mtime_ns / 1e9 for f in files if f.has_unread_bytes]
        return max(0.0, time.time() - min(waiting_since)) if waiting_since else 0.0

    def list_in_index(self, files: Iterable[TailedFile]) -> None:
        """Report files to the index of games. It will read those that it does not know."""
        index = self._context.index
        if index is not None:
            index.listed(self._context.id, [(file.path, file.mtime_ns, file.size_bytes) for file in files])

    def update_index(self, followed: FollowedFile, events: Sequence[Event] = (), *, over: bool = False) -> None:
        """Update the summary of a game from notable events, and also its record in the index if they change it.

        With `over`, the record is written in any case.
        """
        file, game, described = followed.file, followed.game, followed.described
        if described is None:
            return
        events = [event for event in events if type(event) is not Diagnostic]
        described.take(events)
        if followed.ended_at_ms is None and not followed.existed and any(type(event) is GameEnd for event in events):
            followed.ended_at_ms = round(1000 * time.time())
        changed = any(type(event) is not StatsUpdate for event in events)  # of those, only the newest one matters
        if changed and game is not None:
            # Without the metadata, because its names would appear on stream only after the game.
            game.summary = described.summary(with_metadata=False)
        if game is not None and game.secondary and not over:
            return  # in the index it would look like the game in progress
        if self._context.index is None or not (changed or over):
            return
        self._context.index.played(
            self._context.id,
            file.path,
            file.mtime_ns,
            file.size_bytes,
            described.record(),
            arrived_at_ms=followed.arrived_at_ms,
            ended_at_ms=followed.ended_at_ms,
            pacing=followed.pacing,
        )
