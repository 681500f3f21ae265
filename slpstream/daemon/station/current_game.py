"""The current game of a station: the rules by which it is chosen, and the state of the station that follows from it.

The current game is the one that is being played. Among the games whose files are growing, this is the one with the
newest Game Start. A file that arrives as a whole, such as a copy of an old replay, doesn't show that its game is being
played. Its game only becomes the current one if there is no other that was played on the station.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from slpstream.stream.game import Game, Role

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_file import FollowedFile
    from slpstream.daemon.station.followed_files import FollowedFiles
    from slpstream.daemon.station.services import Settings
    from slpstream.daemon.station.state import StateMachine
    from slpstream.game.batch import Batch
    from slpstream.stream.channel import Channel


class CurrentGame:
    """Chooses the current game of one station.

    If the file of a game hasn't grown for longer than `stalled_seconds`, the game gives way to one whose file is
    growing. After `idle_seconds`, it is no longer being played.
    """

    def __init__(self, channel: Channel, state: StateMachine, files: FollowedFiles, settings: Settings) -> None:
        self._channel = channel
        self.state = state
        """The state of the station."""
        self._files = files
        self._settings = settings

    def role_of_new(self, followed: FollowedFile) -> Role:
        """Return the role of the game that begins in this file. It must not displace a game that is being played."""
        arrived_whole, written_whole = followed.file.arrived_whole, followed.written_whole
        current = self._channel.current
        if current is not None and current.role is Role.PLAYED:
            is_copied = arrived_whole and not written_whole
            if is_copied or _is_played(self._files.of_game(current), self._settings.watch.idle_seconds):
                return Role.SECONDARY
        return Role.RECORDED if arrived_whole or written_whole else Role.PLAYED

    def note_growth(self, followed: FollowedFile) -> None:
        """Note that the file of another game has grown.

        If this one is being played and the current game gives way, we turn to it.
        """
        game, stalled_seconds = followed.game, self._settings.watch.stalled_seconds
        if game is None or followed.file.arrived_whole or game.catching_up or not _is_played(followed, stalled_seconds):
            return
        current = self._channel.current
        if current is not None and _is_played(self._files.of_game(current), stalled_seconds):
            open_seconds = trio.current_time() - followed.growth.opened_at
            if game.order <= current.order or open_seconds < self._settings.timing.played_seconds:
                return
        self._turn_to(game)

    def note_batch(self, followed: FollowedFile, batch: Batch) -> None:
        """Adapt the state to the current game, after a batch of it was published."""
        game = followed.game
        if game is None or game is not self._channel.current or game.catching_up:
            return
        if batch.end is not None:
            self.note_end(game, "game ended")
        elif not game.ended:
            self.note_played(game)

    def note_played(self, game: Game) -> None:
        """Note that the current game is in progress."""
        self.state.change("playing", "game in progress", game.game_id)

    def note_end(self, game: Game, reason: str) -> None:
        """Note that the current game has ended or was lost. We turn to another one, or become idle for this reason."""
        if not self._turn_from(game):
            self.state.change("idle", reason, game.game_id)

    def check_growth(self) -> None:
        """Notice if the current game has stopped growing."""
        game = self._channel.current
        followed = self._files.of_game(game)
        if game is None or followed is None or not game.in_progress or game.catching_up:
            return
        quiet_seconds = trio.current_time() - followed.growth.grown_at
        is_stalled = quiet_seconds > self._settings.watch.stalled_seconds
        if is_stalled and self._turn_from(game):
            return
        if quiet_seconds > self._settings.watch.idle_seconds:
            self.state.change("idle", "the file has not grown for long", game.game_id)
        elif is_stalled and self.state.state == "playing":
            self.state.change("stalled", "the file does not grow", game.game_id)

    def _turn_from(self, current: Game) -> bool:
        """Turn to the newest of the other games that are being played. Return whether there is one."""
        stalled_seconds = self._settings.watch.stalled_seconds
        growing = [f for f in self._files if not f.file.arrived_whole and _is_played(f, stalled_seconds)]
        others = [f.game for f in growing if f.game is not None and f.game is not current]
        if others:
            self._turn_to(max(others, key=lambda game: game.order))
        return bool(others)

    def _turn_to(self, game: Game) -> None:
        followed = self._files.of_game(game)
        self._channel.turn_to(game)
        if followed is not None:
            self._files.update_index(followed, over=True)
        self.note_played(game)


def _is_played(followed: FollowedFile | None, max_quiet_seconds: float) -> bool:
    """Whether a game is in progress and we have seen its file grow, with the last growth at most this long ago."""
    if followed is None or followed.game is None or not followed.game.in_progress or not followed.growth.seen:
        return False
    return trio.current_time() - followed.growth.grown_at <= max_quiet_seconds
