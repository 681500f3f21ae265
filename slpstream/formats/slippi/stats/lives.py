"""The lives of players: how they begin, and how they end.

A life ends when a stock is lost or, in modes without stocks, with a fall.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from slpstream.formats.slippi.falls import Fall, FallCounter, PlayerScore
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.stats.frame_events import STOCKS, PendingEvent
from slpstream.formats.slippi.stats.player import Player
from slpstream.formats.slippi.stats.roster import Roster
from slpstream.formats.slippi.stats.states import DYING, FLAGS


class Lives:
    """The lives in one game. Events are added to `pending`."""

    def __init__(self, settings: Settings, roster: Roster, pending: list[PendingEvent], *, compat: bool) -> None:
        self._roster = roster
        self._pending = pending
        self._compat = compat
        self.falls = None if compat or settings.takes_stocks else FallCounter(settings)
        """Decides which lives end, in modes without stocks."""

    def copy(self, roster: Roster, pending: list[PendingEvent]) -> Lives:
        """Return a copy that is independent from then on. You have to pass a copy of the roster."""
        twin = Lives.__new__(Lives)
        twin._roster, twin._pending, twin._compat = roster, pending, self._compat
        twin.falls = None if self.falls is None else self.falls.copy()
        return twin

    def first_seen(self, player: Player, number: int) -> None:
        """Take the first frame in which this player is present."""
        post = player.prev = player.post
        self._roster.has_counter = post.action_state_counter is not UNSET
        player.restarted = True
        if not FLAGS[post.action_state_id] & DYING:
            self.spawn(player, number)

    def spawn(self, player: Player, number: int) -> None:
        """Begin a life."""
        post = player.post
        player.alive = True
        values = {"playerIndex": player.index}
        if self.falls is None:
            values["stocksRemaining"] = post.stocks_remaining
        player.stocks.spawn(number, post, values.get("stocksRemaining", UNSET))
        self._pending.append((STOCKS, player.index, "player_spawned", values))

    def change_stocks(self, player: Player, number: int, changed: list[Player]) -> bool:
        """Take a change in the number of the given player's stocks.

        Returns whether a stock was lost. If it was given to a team-mate, this doesn't count as lost.
        """
        post, prev = player.post, player.prev
        if post.stocks_remaining > prev.stocks_remaining:
            if not player.alive and not FLAGS[post.action_state_id] & DYING:
                self.spawn(player, number)
            return False
        teams = self._roster.teams
        if teams and not FLAGS[post.action_state_id] & DYING:
            team = teams[player.index]
            for other in changed:
                if teams[other.index] == team and other.post.stocks_remaining > other.prev.stocks_remaining:
                    return False
        if not player.alive:
            return True
        stock = player.stocks.lose(number, post, prev.percent)
        player.alive = False
        values = {"playerIndex": player.index, "stocksRemaining": post.stocks_remaining, "stock": stock}
        self._pending.append((STOCKS, player.index, "stock_lost", values))
        if not self._compat and not FLAGS[post.action_state_id] & DYING:  # slippi-js waits for the next frame
            self.spawn(player, number)
        return True

    def fall(self, fall: Fall, number: int) -> Player:
        """End a life in a mode without stocks. Returns the player who has fallen."""
        player = self._roster.by_index[fall.player_index]
        life = player.stocks.lose(number, player.post, player.prev.percent)
        player.alive = False
        values: dict[str, Any] = {"playerIndex": player.index, "selfDestruct": fall.by is None, "life": life}
        if fall.by is not None:
            values["byPlayerIndex"] = fall.by
        self._pending.append((STOCKS, player.index, "fall", values | {"scores": self.scores()}))
        return player

    def scores(self) -> list[PlayerScore]:
        """Return the scores of the players. If the mode has stocks, the list is empty."""
        return [] if self.falls is None else self.falls.scores()
