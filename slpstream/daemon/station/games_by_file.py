"""The games of a station by their files. If a file is read again, this lets its game continue."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from slpstream.sources.tail.identity import FileIdentity, key_of

if TYPE_CHECKING:
    from slpstream.sources.tail.events import TailedFile
    from slpstream.stream.game import Game


class GamesByFile:
    """The games of one station, by file."""

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
        self._games = {key: held for key, held in self._games.items() if held[0] is not game}

    def forget_file(self, file: TailedFile) -> None:
        """Forget the games in a file whose bytes have changed."""
        changed = key_of(file.identity, str(file.path))
        self._games = {
            key: (game, held)
            for key, (game, held) in self._games.items()
            if key_of(held.identity, str(held.path)) != changed
        }

    def prune(self, known: Collection[Game], exists: Callable[[TailedFile], bool]) -> None:
        """Forget all games except for those in `known`, and those that we left and whose files still exist."""
        kept = set(known)
        self._games = {
            key: (game, file)
            for key, (game, file) in self._games.items()
            if game in kept or (game.left and exists(file))
        }
