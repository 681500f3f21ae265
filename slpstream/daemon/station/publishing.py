"""The way from the pipeline of a file to the log of its game.

Mirroring tools copy a replay while the game is still writing it, and people copy old replays. Such a copy is not
published. But if the other file stops growing or is lost, the copy resumes the log of its game. The log is a function
of the bytes, so it continues exactly where it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from slpstream.daemon.station.context import StationContext
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.frame_pacing import FramePacing
from slpstream.daemon.station.status import StationStatus
from slpstream.game.described import DescribedGame
from slpstream.game.log_writer import Batch
from slpstream.model.events import Diagnostic, GameStart
from slpstream.model.messages import LogMessage, body_of
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game, Role
from slpstream.system.files import printable
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_files import FollowedFile, FollowedFiles

_COPIED_BYTES = 1 << 16
"""If a game is begun again, its file has fewer bytes than this when we read its Game Start. A copy usually has more."""


class Publisher:
    """Publishes the games of one station."""

    def __init__(
        self,
        context: StationContext,
        channel: Channel,
        files: FollowedFiles,
        status: StationStatus,
        counters: StationCounters,
    ) -> None:
        self._context = context
        self._channel = channel
        self._files = files
        self._status = status
        self._counters = counters
        self._log = get_logger()

    def publish(self, followed: FollowedFile, batch: Batch, *, held: bool = False) -> None:
        """Publish, index and count a batch of one file. `held` means that its bytes were held back until now."""
        if not (batch.frames or batch.loose or any(batch.logs.values())):
            return
        if batch.start is not None and self._is_copy(followed, batch.start.game_id):
            self._log.info(
                "copy of a game", game_id=batch.start.game_id, file=printable(followed.file.path, self._context.folder)
            )
            return
        if self._context.finished_games is not None:
            self._context.finished_games.published(followed.pipeline, batch)
        for message in batch.loose:
            self._channel.publish_loose(message)
        if batch.start is not None:
            self._begin(followed, batch.start)
        game = followed.game
        if game is not None:
            self._channel.publish(game, batch.logs)
            pacing = followed.frame_pacing
            if pacing is not None and batch.frames and followed.seen_to_grow:
                pacing.arrived(batch.frames - batch.resent_frames, followed.grown_at)
        if batch.notable:
            self._files.update_index(followed, batch.notable)
        self._counters.count(followed, batch, held=held)
        if batch.notable or self._status.state != "playing":  # otherwise nothing can have changed
            self._status.note_batch(followed, batch)
        if followed.log_reader is not None and followed.pipeline.bytes_read >= followed.log_reader.keep_from:
            followed.log_reader.keep(followed.pipeline)

    def _begin(self, followed: FollowedFile, start: GameStart) -> None:
        file = followed.file
        followed.described = DescribedGame(start)
        numerator, denominator = start.rate
        frames_per_second = round(numerator / denominator)
        if frames_per_second:
            followed.frame_pacing = FramePacing(1 / frames_per_second)
        log_reader = followed.open_log(start.game_id, self._files.read_unwritten)
        stopped = (g for g in self._readable_games(start.game_id) if g.stopped and not g.ended)
        known = self._files.game_in(file, start.game_id) or next(stopped, None)
        if known is not None and (known.stopped == "left" or known in self._channel.games):
            # A file that was released, or was missing for a while, is read again, or a copy of it is. The log continues
            # where it was, because it is a function of the bytes.
            self._files.put_game(file, known)
            known.log_reader = log_reader
            followed.game = known
            self._channel.take_back(known)
            return
        game = Game(start.game_id, log_reader, ring_bytes=self._context.ring_bytes, order=self._channel.next_order())
        game.frames_per_second = frames_per_second
        if followed.existed:
            game.catch_up()
        game.role = self._status.role_of_new(followed)
        followed.game = game
        self._files.prune_games(self._channel.games)
        self._files.put_game(file, game)
        self._channel.drop_oldest({other.game for other in self._files})
        self._channel.begin(game)
        self._log.info(
            "game start", game_id=start.game_id, file=printable(file.path, self._context.folder), format=start.format
        )

    def _is_copy(self, followed: FollowedFile, game_id: str) -> bool:
        """Whether the game that begins in this file is already in another file. This then marks the file as a copy."""
        if followed.written_whole or self._files.game_in(followed.file, game_id) is not None:
            return False
        is_whole = followed.file.arrived_whole
        games = reversed(self._readable_games(game_id))
        game = next((game for game in games if game.ended or game.in_progress), None)
        if game is None or (game.role is not Role.PLAYED and not is_whole):
            return False  # in the second case, an old replay is written again as a game would write it
        other = self._files.of_game(game)
        if not game.ended and is_whole and other is not None and not other.seen_to_grow:
            self.leave(other)  # it is cut off, and this file has the rest
            return False
        if game.ended and not is_whole and followed.file.size_bytes <= _COPIED_BYTES:
            return False  # the same game is written once more
        followed.copy_of = game
        return True

    def _readable_games(self, game_id: str) -> list[Game]:
        """Return the known games with this id, oldest first. Those whose files have other bytes now are left out."""
        games = (game for game in self._channel.games if game.game_id == game_id and not game.archived)
        return [game for game in games if self._files.can_continue(game)]

    def lose(self, followed: FollowedFile, reason: str) -> None:
        """Note that the file of a game is no longer followed, and that the game can't continue in it."""
        game = followed.game
        if game is None:
            return
        followed.release()
        was_running = game.in_progress
        was_catching_up = game.catching_up
        game.lose()
        if was_catching_up:
            self._channel.caught_up(game)
        if was_running:
            self._counters.metrics.game("lost")
        self._resume_copies(game)
        if game is self._channel.current and was_running:
            self._status.note_end(game, reason)
        self._channel.notify()

    def leave(self, followed: FollowedFile) -> None:
        """Stop following a file. If its game hasn't ended, it continues in a copy, or if the file grows."""
        game = followed.game
        self._files.release(followed)
        if game is not None:
            game.leave()
            game.forget()
            self._resume_copies(game)

    def _resume_copies(self, game: Game) -> None:
        """Open the copies of a game again, so that they publish the rest of it. Its own file is lost or was left."""
        for followed in self._files:
            if followed.copy_of is game and not game.ended:
                self._files.drop(followed.file)
                self._files.tail.read_again(followed.file)

    def prefer_growing(self) -> None:
        """Leave each file that has stopped growing for a copy that is still growing."""
        oldest = trio.current_time() - self._context.watch.stalled_seconds
        for copy in self._files:
            game = copy.copy_of
            followed = self._files.of_game(game)
            if game is None or game.ended or followed is None or not copy.seen_to_grow:
                continue
            if followed.grown_at < oldest <= copy.grown_at:
                self.leave(followed)

    def publish_diagnostic(self, code: str, path: Path, offset: int, text: str) -> None:
        """Publish and count a diagnostic about a file that doesn't follow from its bytes."""
        self._counters.metrics.diagnostic(code)
        self.publish_loose(code, path, offset, text)

    def publish_loose(self, code: str, path: Path, offset: int, text: str) -> None:
        """Publish a diagnostic that doesn't belong to any game."""
        name = printable(path, self._context.folder)
        kind, body, _ = body_of(Diagnostic(0, "warning", code, offset, f"{name}: {text}"))
        self._channel.publish_loose(LogMessage(kind, None, "live", 0, 0, body, None))
