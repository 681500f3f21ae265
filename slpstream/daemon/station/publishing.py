"""The publication of a station's games: batches from a pipeline go to the channel, the index and the counters."""

from __future__ import annotations

from pathlib import Path

from slpstream.daemon.station.copies import Copies
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.current_game import CurrentGame
from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.daemon.station.followed_files import FollowedFiles, StationIndex
from slpstream.daemon.station.games_by_file import GamesByFile
from slpstream.daemon.station.services import SharedServices
from slpstream.game.described import DescribedGame
from slpstream.game.pipeline import Batch
from slpstream.model.events import Diagnostic, GameStart
from slpstream.model.messages import LogMessage, body_of
from slpstream.stream import Channel, Game
from slpstream.system.files import printable
from slpstream.system.logs import get_logger
from slpstream.system.metrics import StationMetrics


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
        """Publish, index and count a batch from one file. `held`: its bytes were held back for lack of readers."""
        if not (batch.events or any(batch.logs.values())):
            return
        if batch.start is not None and self._copies.is_copy(followed, batch.start.game_id):
            self._log.info(
                "copy of a game", game_id=batch.start.game_id, file=printable(followed.file.path, self._files.folder)
            )
            return
        if self._shared.replay_check is not None:
            self._shared.replay_check.published(followed.pipeline, batch)
        for message in batch.loose:
            self._channel.publish_loose(message)
        if batch.start is not None:
            self._begin(followed, batch.start)
        game = followed.game
        if game is not None:
            self._channel.publish(game, batch.logs)
            if batch.frames and followed.growth.seen and game.frames_per_second:
                new_frames = batch.frames - batch.resent_frames
                followed.record.note_frames(new_frames, game.frames_per_second, followed.growth.grown_at)
        if batch.notable:
            self._index.update(followed, batch.notable)
        self._counters.count(
            batch,
            followed.file,
            game_id=followed.pipeline.game_id,
            live=game is None or not game.catching_up,
            failed=followed.pipeline.failure is not None,
            held=held,
        )
        self._current.note_batch(followed, batch)

    def _begin(self, followed: FollowedFile, start: GameStart) -> None:
        file = followed.file
        followed.record.described = DescribedGame(start)
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
        numerator, denominator = start.rate
        game.frames_per_second = round(numerator / denominator)
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
        """The file of a game is no longer followed, and the game cannot continue in it."""
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
        """Publish and count a diagnostic about a file that does not follow from its bytes."""
        self._metrics.diagnostic(code)
        self.publish_loose(code, path, offset, text)

    def publish_loose(self, code: str, path: Path, offset: int, text: str) -> None:
        """Publish a diagnostic that belongs to no game."""
        name = printable(path, self._files.folder)
        kind, body, _ = body_of(Diagnostic(0, "warning", code, offset, f"{name}: {text}"))
        self._channel.publish_loose(LogMessage(kind, None, "live", 0, 0, body, None))
