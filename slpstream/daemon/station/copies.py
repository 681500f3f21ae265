"""Files that hold a game which another file of the station holds already. Nothing of them is published.

Mirroring tools copy a replay while the game writes it, and people copy old replays. A copy resumes its game's log if
the other file stops growing or is lost: the log is a function of the bytes, so it continues where it was.
"""

from __future__ import annotations

import trio

from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.daemon.station.followed_files import FollowedFiles
from slpstream.daemon.station.games_by_file import GamesByFile
from slpstream.stream import Channel, Game, Role

_COPIED_BYTES = 1 << 16
"""A game that is begun again has fewer bytes than this when its Game Start is read; a copy usually has more."""


class Copies:
    """The copies among the followed files of one station."""

    def __init__(self, channel: Channel, files: FollowedFiles, games: GamesByFile) -> None:
        self._channel = channel
        self._files = files
        self._games = games

    def is_copy(self, followed: FollowedFile, game_id: str) -> bool:
        """Whether the game that begins in this file is in another file already. If so, mark the file as a copy."""
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
        """Return the unfinished game with this id whose file was left or has vanished, so that a copy can resume it."""
        stopped = (game for game in self._channel.games if (game.left or game.lost) and not game.ended)
        return next((g for g in stopped if g.game_id == game_id and self._games.can_continue(g)), None)

    def leave(self, followed: FollowedFile, game: Game) -> None:
        """Stop following the file of a game that has not ended."""
        self._files.release(followed)
        game.leave()
        game.forget()
        self.resume(game)

    def resume(self, game: Game) -> None:
        """The game's file is lost or left: have its copies opened again, to publish the rest of the game."""
        if game.ended:
            return
        for copy in [followed for followed in self._files if followed.copy_of is game]:
            self._files.drop(copy.file)
            self._files.read_again(copy.file)

    def prefer_growing(self, max_quiet_seconds: float) -> None:
        """Leave each file that has stopped growing for a copy that still grows."""
        now = trio.current_time()
        for copy in [followed for followed in self._files if followed.is_copy()]:
            game = copy.copy_of
            followed = self._files.of_game(game)
            if game is None or followed is None or not copy.growth.seen:
                continue
            if now - copy.growth.grown_at > max_quiet_seconds:
                continue
            if not game.ended and now - followed.growth.grown_at > max_quiet_seconds:
                self.leave(followed, game)
