"""The falls, KOs and scores of games in which you don't lose stocks, which are time mode, coin mode and bonus mode.

We use the same count to find the winner of a game and for its stats. A life ends when `action_state_id` enters the
dying range, which is 0x00 to 0x0A, and `last_hit_by` in that frame tells us who gets the KO. We can't use
`stocks_remaining`, because it doesn't mean anything in these modes.

How sure we are:

- observed: in the 237 deaths of the real replays at hand, all of them in stock mode, the stock is lost in the frame in
  which the action state enters the dying range, and in 16 star KOs 94 or 131 frames later; `last_hit_by` is the same in
  both frames. Until then the game does not count a star KO.
- documented: the score is KOs minus falls, where a self-destruct counts by `self_destruct_score_value` instead; a KO of
  a team-mate is no KO, and counts as a self-destruct of the player who hit. Falls, KOs and self-destructs are counted
  in this way in the public decompilation of the game.
- guessed: a player who was hit last by an own attack has self-destructed, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.commands import LAST_DYING
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.game_start import TIME_MODE, Settings


class PlayerScore(msgspec.Struct, rename="camel", gc=False):
    """The falls and KOs of a player."""

    player_index: int
    kos: int = 0
    """Opponents that fell after being hit last by this player."""
    falls: int = 0
    """Lives that ended, self-destructs included."""
    self_destructs: int = 0
    score: int | UnsetType = UNSET
    """Absent in modes other than time mode, whose scores no replay has."""


class FallCounter(Computer):
    """Counts falls and KOs. You have to pass it final frames, each number once and in order."""

    def __init__(self, settings: Settings) -> None:
        self._sides = {p.player_index: p.team_id if settings.is_teams else p.player_index for p in settings.players}
        self._has_scores = settings.in_game_mode == TIME_MODE
        self._self_destruct_value = settings.game_info_block.self_destruct_score_value
        self._alive: set[int] = set()
        self._falls: Counter[int] = Counter()
        self._self_destructs: Counter[int] = Counter()
        self._kos: Counter[int] = Counter()
        self._team_kos: Counter[int] = Counter()

    def take(self, players: Mapping[int, Any]) -> dict[int, int | None]:
        """Take the players of the next final frame, and return those whose life ended in it, by player index.

        The values are the players who hit last, possibly team-mates, or `None` for a self-destruct.
        """
        falls: dict[int, int | None] = {}
        for index in self._sides:
            player = players.get(index)
            if player is None or player.post is UNSET:
                continue
            if player.post.action_state_id > LAST_DYING:
                self._alive.add(index)
            elif index in self._alive:
                self._alive.remove(index)
                self._falls[index] += 1
                by = player.post.last_hit_by
                falls[index] = by if by != index and by in self._sides else None
                if falls[index] is None:
                    self._self_destructs[index] += 1
                elif self._sides[by] == self._sides[index]:
                    self._team_kos[by] += 1
                else:
                    self._kos[by] += 1
        return falls

    def scores(self) -> list[PlayerScore]:
        """Return the falls, KOs and scores up to now, by player index."""
        return [
            PlayerScore(i, self._kos[i], self._falls[i], self._self_destructs[i], self._score(i)) for i in self._sides
        ]

    def _score(self, index: int) -> int | UnsetType:
        if not self._has_scores:
            return UNSET
        kos, falls, self_destructs = self._kos[index], self._falls[index], self._self_destructs[index]
        return kos - (falls - self_destructs) + (self_destructs + self._team_kos[index]) * self._self_destruct_value
