"""The way of new bytes from a file to the log of its game.

`Feeder` gives the bytes to the pipeline of the file. `Publisher` takes the batches that come out, and passes them to
the channel, the index and the counters. `Copies` finds the files whose game is already in another file.

Decoding many bytes together takes only a fraction of the time. Because of this, we hold the bytes of a game back as
long as no client reads them. They are published when a client, a request or the clock asks for them.

Mirroring tools copy a replay while the game is still writing it, and people copy old replays. Such a copy is not
published. But if the other file stops growing or is lost, the copy resumes the log of its game. The log is a function
of the bytes, so it continues exactly where it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from slpstream.daemon.station.frame_pacing import FramePacing
from slpstream.formats.registry import of_name
from slpstream.game.described import DescribedGame
from slpstream.model.events import Diagnostic, GameStart
from slpstream.model.messages import LogMessage, body_of
from slpstream.stream.game import Game, Role
from slpstream.system.files import printable
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.containment import FileContainment
    from slpstream.daemon.station.counters import StationCounters
    from slpstream.daemon.station.current_game import CurrentGame
    from slpstream.daemon.station.followed_file import FollowedFile
    from slpstream.daemon.station.followed_files import FollowedFiles, StationIndex
    from slpstream.daemon.station.games_by_file import GamesByFile
    from slpstream.daemon.station.services import SharedServices
    from slpstream.game.log_writer import Batch
    from slpstream.stream.channel import Channel
    from slpstream.system.metrics import StationMetrics

_COPIED_BYTES = 1 << 16
"""If a game is begun again, its file has fewer bytes than this when we read its Game Start. A copy usually has more."""


class Copies:
    """Finds the copies among the files that one station follows."""

    def __init__(self, channel: Channel, files: FollowedFiles, games: GamesByFile) -> None:
        self._channel = channel
        self._files = files
        self._games = games

    def is_copy(self, followed: FollowedFile, game_id: str) -> bool:
        """Whether the game that begins in this file is already in another file. This then marks the file as a copy."""
        if followed.whole is not None or self._games.find(followed.file, game_id) is not None:
            return False
        is_whole = followed.file.arrived_whole
        # A game whose file has other bytes now cannot be read from there any more, so this is no copy of it.
        live = (game for game in reversed(self._channel.games) if not game.archived and self._games.can_continue(game))
        games = (game for game in live if game.game_id == game_id)
        game = next((game for game in games if game.ended or game.in_progress), None)
        if game is None or (game.role is not Role.PLAYED and not is_whole):
            return False  # in the second case, an old replay is written again as a game would write it
        other = self._files.of_game(game)
        if not game.ended and is_whole and other is not None and not other.growth.seen:
            self.leave(other, game)  # it is cut off, and this file has the rest
            return False
        if game.ended and not is_whole and followed.file.size_bytes <= _COPIED_BYTES:
            return False  # the same game is written once more
        followed.copy_of = game
        return True

    def abandoned_game(self, game_id: str) -> Game | None:
        """Return the unfinished game with this id whose file we left or which has vanished, so that a copy can resume
        it.

        Returns `None` if there is no such game.
        """
        stopped = (game for game in self._channel.games if (game.left or game.lost) and not game.ended)
        return next((g for g in stopped if g.game_id == game_id and self._games.can_continue(g)), None)

    def leave(self, followed: FollowedFile, game: Game) -> None:
        """Stop following the file of a game that hasn't ended."""
        self._files.release(followed)
        game.leave()
        game.forget()
        self.resume(game)

    def resume(self, game: Game) -> None:
        """Have the copies of a game opened again, because its file is lost or was left.

        They will publish the rest of the game.
        """
        if game.ended:
            return
        for copy in [followed for followed in self._files if followed.copy_of is game]:
            self._files.drop(copy.file)
            self._files.read_again(copy.file)

    def prefer_growing(self, max_quiet_seconds: float) -> None:
        """Leave each file that has stopped growing for a copy that is still growing."""
        now = trio.current_time()
        for copy in [followed for followed in self._files if followed.copy_of is not None]:
            game = copy.copy_of
            followed = self._files.of_game(game)
            if game is None or followed is None or not copy.growth.seen:
                continue
            if now - copy.growth.grown_at > max_quiet_seconds:
                continue
            if not game.ended and now - followed.growth.grown_at > max_quiet_seconds:
                self.leave(followed, game)


class Publisher:
    """Publishes the games of one station."""

    def __init__(
        self,
        channel: Channel,
        files: FollowedFiles,
        games: GamesByFile,
        copies: Copies,
        current: CurrentGame,
        *,
        index: StationIndex,
        counters: StationCounters,
        metrics: StationMetrics,
        shared: SharedServices,
        ring_bytes: int,
    ) -> None:
        self._channel = channel
        self._files = files
        self._games = games
        self._copies = copies
        self._current = current
        self._index = index
        self._counters = counters
        self._metrics = metrics
        self._shared = shared
        self._ring_bytes = ring_bytes
        self._log = get_logger()

    def publish(self, followed: FollowedFile, batch: Batch, *, held: bool = False) -> None:
        """Publish, index and count a batch from one file.

        `held` means that its bytes were held back because nothing was reading them.
        """
        if not batch.frames and batch.is_empty:
            return
        if batch.start is not None and self._copies.is_copy(followed, batch.start.game_id):
            self._log.info(
                "copy of a game", game_id=batch.start.game_id, file=printable(followed.file.path, self._files.folder)
            )
            return
        if self._shared.finished_games is not None:
            self._shared.finished_games.published(followed.pipeline, batch)
        for message in batch.loose:
            self._channel.publish_loose(message)
        if batch.start is not None:
            self._begin(followed, batch.start)
        game = followed.game
        if game is not None:
            self._channel.publish(game, batch.logs)
            pacing = followed.record.frame_pacing
            if pacing is not None and batch.frames and followed.growth.seen:
                pacing.arrived(batch.frames - batch.resent_frames, followed.growth.grown_at)
        if batch.notable:
            self._index.update(followed, batch.notable)
        self._counters.count(
            batch,
            followed.file,
            game_id=followed.pipeline.game_id,
            live=game is None or not game.catching_up,
            failed=bool(batch.notable) and followed.pipeline.failure is not None,
            held=held,
        )
        state = self._current.state
        if batch.end is not None or state.game_id != followed.pipeline.game_id or state.state != "playing":
            self._current.note_batch(followed, batch)
        if followed.keep_checkpoint is not None and followed.pipeline.bytes_read >= followed.checkpoint_due_bytes:
            followed.checkpoint_due_bytes = followed.keep_checkpoint(followed.pipeline)

    def _begin(self, followed: FollowedFile, start: GameStart) -> None:
        file = followed.file
        followed.record.described = DescribedGame(start)
        numerator, denominator = start.rate
        frames_per_second = round(numerator / denominator)
        if frames_per_second:
            followed.record.frame_pacing = FramePacing(1 / frames_per_second)
        log_reader = followed.open_log(start.game_id, self._shared.limiter, self._files.read_unwritten)
        known = self._games.find(file, start.game_id) or self._copies.abandoned_game(start.game_id)
        if known is not None and (known.left or known in self._channel.games):
            # A file that was released, or was missing for a while, is read again. Its log continues where it was,
            # because it is a function of the bytes.
            self._games.put(file, known)
            known.log_reader = log_reader
            followed.game = known
            self._channel.take_back(known)
            return
        game = Game(start.game_id, log_reader, ring_bytes=self._ring_bytes, order=self._channel.next_order())
        game.frames_per_second = frames_per_second
        if followed.existed:
            game.catch_up()
        game.role = self._current.role_of_new(followed)
        followed.game = game
        if self._files.tail is not None:
            self._games.prune(self._channel.games, self._files.tail.knows)
        self._games.put(file, game)
        self._channel.drop_oldest({other.game for other in self._files})
        self._channel.begin(game)
        self._log.info(
            "game start", game_id=start.game_id, file=printable(file.path, self._files.folder), format=start.format
        )

    def lose(self, followed: FollowedFile, reason: str) -> None:
        """Note that the file of a game is no longer followed, and that the game can't continue in it."""
        game = followed.game
        if game is None:
            return
        followed.release(self._shared.limiter)
        was_running = game.in_progress
        was_catching_up = game.catching_up
        game.lose()
        if was_catching_up:
            self._channel.caught_up(game)
        if was_running:
            self._metrics.game("lost")
        self._copies.resume(game)
        if game is self._channel.current and was_running:
            self._current.note_end(game, reason)
        self._channel.notify()

    def publish_diagnostic(self, code: str, path: Path, offset: int, text: str) -> None:
        """Publish and count a diagnostic about a file.

        Use this if the diagnostic doesn't follow from the bytes of the file.
        """
        self._metrics.diagnostic(code)
        self.publish_loose(code, path, offset, text)

    def publish_loose(self, code: str, path: Path, offset: int, text: str) -> None:
        """Publish a diagnostic that doesn't belong to any game."""
        name = printable(path, self._files.folder)
        kind, body, _ = body_of(Diagnostic(0, "warning", code, offset, f"{name}: {text}"))
        self._channel.publish_loose(LogMessage(kind, None, "live", 0, 0, body, None))


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

    def feed(self, followed: FollowedFile, offset: int, data: bytes, now: float) -> None:
        """Take bytes of a file, which begin at the given offset. `now` is the time on trio's clock.

        They may overlap the bytes before, and may come after a gap.
        """
        if followed.growth.seen:  # nearly always
            followed.growth.grown_at = now
        else:
            followed.growth.note_growth(now)
        was_copy = followed.copy_of is not None
        if followed.whole is not None or was_copy:  # read once it has stopped changing, or not at all
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
            offset, data = followed.after_read(offset, data)
        if not data:
            return
        may_be_closed = True
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
        self._counters.read_bytes += pipeline.bytes_read + followed.held_bytes - read_bytes
        if followed.copy_of is not None:
            return
        if self._files.on_bytes is not None:
            self._files.on_bytes(followed, offset, data)
        if followed.game is not self._channel.current:
            self._current.note_growth(followed)
        if may_be_closed and pipeline.closed:
            self._files.stop_reading_if_exhausted(followed)
            self._files.release_if_done(followed)

    def rewrite(self, followed: FollowedFile, header: bytes) -> None:
        """Take the first bytes of a file again, after they have changed."""
        followed.growth.note_growth(trio.current_time())
        self._publisher.publish(followed, followed.pipeline.rewrite(header))
        self._files.release_if_done(followed)

    def publish_held(self) -> None:
        """Publish the bytes that are held back."""
        followed, self._held = self._held, None
        if followed is not None:
            self._containment.run(followed.file, self._feed_held, followed)

    def discard_held(self) -> None:
        """Forget the bytes that are held back, because their file is no longer followed."""
        self._held = None

    def _can_wait(self, followed: FollowedFile) -> bool:
        """Whether the next bytes of a file may wait, if the station has no live subscribers.

        This is so if they belong to the running game and the station has no reader. If something reads the state of the
        station, they are published before that.
        """
        if self._channel.readers:
            return False
        game = followed.game
        return game is not None and game is self._channel.current and game.in_progress and not game.catching_up

    def _feed_held(self, followed: FollowedFile) -> None:
        self._publisher.publish(followed, followed.pipeline.feed(followed.take_held()), held=True)
