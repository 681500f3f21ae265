"""The current game of a station, and the state of the station as long as its folder can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from slpstream.daemon.station.choice import Enter, Turn

if TYPE_CHECKING:
    from slpstream.daemon.station.followed_file import FollowedFile
    from slpstream.daemon.station.followed_files import FollowedFiles, StationIndex
    from slpstream.daemon.station.services import Settings
    from slpstream.daemon.station.state import StateMachine
    from slpstream.game.log_writer import Batch
    from slpstream.stream.channel import Channel
    from slpstream.stream.game import Game, Role


class CurrentGame:
    """Applies the transitions of `GameChoice` to the channel and the state of one station."""

    def __init__(
        self, channel: Channel, state: StateMachine, files: FollowedFiles, index: StationIndex, settings: Settings
    ) -> None:
        self._channel = channel
        self.state = state
        """The state of the station."""
        self._files = files
        self._index = index
        self._settings = settings

    def role_of_new(self, followed: FollowedFile) -> Role:
        """Return the role of the game that begins in this file."""
        current = self._channel.current
        file = self._files.of_game(current)
        return self._settings.choice.role_of_new(
            current,
            None if file is None else file.candidate,
            trio.current_time(),
            arrived_whole=followed.file.arrived_whole,
            written_whole=followed.whole is not None,
        )

    def note_growth(self, followed: FollowedFile) -> None:
        """Note that the file of another game has grown.

        If this one is being played and the current game gives way, we turn to it.
        """
        candidate = followed.candidate
        if candidate is None:
            return
        file = self._files.of_game(self._channel.current)
        current_file = None if file is None else file.candidate
        self._apply(self._settings.choice.on_growth(candidate, current_file, trio.current_time()))

    def note_batch(self, followed: FollowedFile, batch: Batch) -> None:
        """Adapt the state to the current game, after a batch of it was published."""
        game = followed.game
        if game is None or game is not self._channel.current or game.catching_up:
            return
        if game.ended:
            if batch.end is not None:
                self.note_end(game, "game ended")
        elif self.state.state != "playing" or self.state.game_id != game.game_id:
            self.note_played(game)

    def note_played(self, game: Game) -> None:
        """Note that the current game is in progress."""
        self.state.change("playing", "game in progress", game.game_id)

    def note_end(self, game: Game, reason: str) -> None:
        """Note that the current game has ended or was lost. We turn to another one, or become idle for this reason."""
        self._apply(self._settings.choice.on_end(game, self._files.candidates(), trio.current_time(), reason), game)

    def check_growth(self) -> None:
        """Notice if the current game has stopped growing."""
        current = self._channel.current
        file = self._files.of_game(current)
        candidate = None if file is None else file.candidate
        if candidate is None or not candidate.game.in_progress or candidate.game.catching_up:
            return
        transition = self._settings.choice.on_silence(
            candidate, self._files.candidates(), trio.current_time(), self.state.state
        )
        self._apply(transition, candidate.game)

    def _apply(self, transition: Turn | Enter | None, game: Game | None = None) -> None:
        """Apply a transition. If it enters another state, `game` is the current game that this state is about."""
        if isinstance(transition, Turn):
            self._turn_to(transition.game)
        elif transition is not None:
            self.state.change(transition.state, transition.reason, None if game is None else game.game_id)

    def _turn_to(self, game: Game) -> None:
        followed = self._files.of_game(game)
        self._channel.turn_to(game)
        if followed is not None:
            self._index.update(followed, over=True)
        self.note_played(game)
