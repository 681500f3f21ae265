"""Who hit whom: the damage, moves and kills that are credited to each player.

If there are two players, this is easy, because each hit is the other player's. With more players, and in a crew battle,
we use the Post-Frame field `last_hit_by` of the player that was hit, which contains the player index of the hitter. The
game sets it together with the damage, and resets it to 6 once the player stands again. A grab doesn't set it before the
throw. So if there's damage during a grab, it has to wait in its conversion until there is a player in `last_hit_by`.

If someone hits a team-mate, you only see this in `exchanges`. It doesn't open a conversion, and isn't part of any
ratio.

Some damage comes without hitstun (observed in the replays of the tests, where all other damage adds up):

- the first hit of a throw, in the thrown states 0xEF to 0xF3: the hitter is in a throwing state, 0xDB to 0xDE, and its
  `last_attack_landed` is the throw already;
- lasers, and hits that just touch (phantom hits): with two players they are the other's, with more that of
  `last_hit_by`, if it has a player. They open no conversion;
- the magnifying glass takes exactly 1 % at a time from a player that is off screen. No player dealt it;
- Pichu, Roy and Mr. Game & Watch hurt themselves with some of their moves (guessed: documented for the game, but in no
  replay of the tests). No player dealt it.

slippi-js doesn't count any of these, so with `compat` we don't count them either.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from slpstream.formats.slippi.stats.extra import HitTotals, KillMove
from slpstream.formats.slippi.stats.schema import Conversion


class Hits:
    """The hits that one player has landed on the others."""

    __slots__ = ("_totals", "kill_moves", "outside_damage")

    def __init__(self) -> None:
        self._totals: dict[int, HitTotals] = {}
        self.outside_damage = 0.0
        """Damage to opponents outside any conversion, by hits that caused no hitstun."""
        self.kill_moves: list[KillMove] = []

    def copy(self) -> Hits:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = Hits()
        twin._totals = {index: replace(totals) for index, totals in self._totals.items()}
        twin.kill_moves = list(self.kill_moves)
        twin.outside_damage = self.outside_damage
        return twin

    def add(self, victim: int, damage: float, *, new_move: bool) -> None:
        """Count damage to a player. If it's just another hit of the same move, pass `new_move=False`."""
        totals = self._on(victim)
        totals.damage += damage
        totals.moves += new_move

    def add_kill(self, victim: int) -> None:
        """Count a stock that a player has lost to this one."""
        self._on(victim).kills += 1

    def add_kill_move(self, conversion: Conversion) -> None:
        """Remember which move of a conversion took the opponent's stock."""
        frame: Any = conversion.end_frame
        percent: Any = conversion.end_percent
        move_id = conversion.moves[-1].move_id if conversion.moves else UNSET
        self.kill_moves.append(KillMove(frame, conversion.player_index, move_id, percent, conversion.opening_type))

    def _on(self, victim: int) -> HitTotals:
        totals = self._totals.get(victim)
        if totals is None:
            totals = self._totals[victim] = HitTotals(victim, 0, 0.0, 0)
        return totals

    def totals(self) -> list[HitTotals]:
        """Return one entry for each player that was hit, by player index."""
        return [replace(totals) for _, totals in sorted(self._totals.items())]
