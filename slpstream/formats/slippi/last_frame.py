"""The last frame of a game up to now, and those players that were only in earlier frames."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from slpstream.model.events import Frame


class LastFrame:
    """Keeps the latest sending of the highest frame number, and the players that are missing in it.

    If a sending has the highest number and the same players as the one before, you can set `frame` and `newest` to it,
    and `gone` to `newest_gone`, instead of calling `take`.
    """

    def __init__(self) -> None:
        self.frame: Frame | None = None
        """The latest sending of the highest frame number."""
        self.gone: Mapping[int, Any] = {}
        """The last Post-Frame Updates, before `frame`, of players that later sendings lack, by player index."""
        self.newest: Frame | None = None
        """The newest sending."""
        self._newest_players: Set[int] = frozenset()
        self.newest_gone: Mapping[int, Any] = {}
        """Like `gone`, up to the newest sending. Replaced, never changed."""

    def place(self, frame: Frame | None, gone: Mapping[int, Any]) -> None:
        """Continue after frames that were found in another way."""
        self.frame = frame
        self.gone = self.newest_gone = gone

    def take(self, frame: Frame, players: Set[int]) -> None:
        """Take the next sending and its player indices."""
        if players is not self._newest_players:
            if not self._newest_players <= players:
                self._keep_gone(players)
            self._newest_players = players
        self.newest = frame
        if self.frame is None or frame.number >= self.frame.number:
            self.frame, self.gone = frame, self.newest_gone

    def _keep_gone(self, players: Set[int]) -> None:
        """If players of the newest sending are not in the next one, keep their Post-Frame Updates."""
        shown = {} if self.newest is None else self.newest.entry.players
        gone = {index: player.post for index, player in shown.items() if index not in players}
        self.newest_gone = {index: post for index, post in {**self.newest_gone, **gone}.items() if post}
