"""How often each player grabs a ledge: what decides a timeout of an online game of two players.

Slippi Online lets a player lose who has grabbed ledges more than 45 times when the time runs out, unless both players
have (documented: release notes of Slippi Dolphin 3.4.1, for ranked, unranked and direct games, not for teams). Replays
do not show the version of Dolphin, so the rule is applied to games from before 3.4.1, too (guessed). A grab is the
beginning of the action state 0xFC, as in `ledgegrabCount` of the stats (observed); the game has a counter of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET

from slpstream.formats.slippi.commands import LEDGE_CATCH
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, Settings
from slpstream.model.events import Event, Frame, FrameFinalized

MAX_LEDGE_GRABS = 45
_PAIR = 2


def have_limit(settings: Settings) -> bool:
    """Whether the limit of ledge grabs applies to a game with these settings."""
    online = settings.game_mode == MAJOR_SCENE_ONLINE
    return online and len(settings.players) == _PAIR and not settings.is_teams


class LedgeGrabs:
    """Counts the ledge grabs of each player from final frames."""

    def __init__(self, players: Iterable[int]) -> None:
        self.counts = dict.fromkeys(players, 0)
        """By player index."""
        self._last: dict[int, tuple[int, Any]] = {}
        self._waiting: dict[int, Mapping[int, Any]] = {}
        self._through: int | None = None

    def copy(self) -> LedgeGrabs:
        """An independent counter in the same state."""
        twin = LedgeGrabs(())
        twin.counts, twin._last, twin._waiting = dict(self.counts), dict(self._last), dict(self._waiting)
        twin._through = self._through
        return twin

    def take(self, events: Iterable[Event]) -> None:
        """Take the next events of the game; a frame counts when it is final."""
        waiting = self._waiting
        for event in events:
            if type(event) is Frame:
                if self._through is None or event.number > self._through:
                    waiting[event.number] = event.entry.players
            elif type(event) is FrameFinalized:
                self._through = through = event.through
                for number in sorted(waiting) if len(waiting) > 1 else tuple(waiting):
                    if number > through:
                        break
                    self._take_frame(waiting.pop(number))

    def _take_frame(self, players: Mapping[int, Any]) -> None:
        for index in self.counts:
            player = players.get(index)
            if player is not None and player.post is not UNSET:
                self.add(index, player.post.action_state_id, player.post.action_state_counter)

    def add(self, index: int, state: int, counter: Any) -> None:
        """Take a player's action state in a final frame, and how long it has lasted."""
        if state == LEDGE_CATCH:
            last, last_counter = self._last.get(index, (None, UNSET))
            if last != LEDGE_CATCH or (counter is not UNSET and counter < last_counter):
                self.counts[index] += 1
            self._last[index] = state, counter
        elif index in self._last:
            del self._last[index]
