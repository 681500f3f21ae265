"""Which player hit which: damage, moves and kills credited to players.

With two players each hit is the other's. With more players, and in a crew battle, the Post-Frame field `last_hit_by` of
the player that was hit has the player index of the hitter. The game sets it with the damage and resets it to 6 once the
player stands again. A grab does not set it before the throw. So damage during a grab waits in its conversion, and is
credited when `last_hit_by` has a player.

Damage between team-mates is credited only in `exchanges`. It opens no conversion and is in no ratio.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from slpstream.stats.extra import HitTotals, KillMove
from slpstream.stats.schema import Conversion


class Hits:
    """The hits of one player on the others."""

    __slots__ = ("_totals", "kill_moves")

    def __init__(self) -> None:
        self._totals: dict[int, HitTotals] = {}
        self.kill_moves: list[KillMove] = []

    def copy(self) -> Hits:
        """An independent computer in the same state."""
        twin = Hits()
        twin._totals = {index: replace(totals) for index, totals in self._totals.items()}
        twin.kill_moves = list(self.kill_moves)
        return twin

    def add(self, victim: int, damage: float, *, new_move: bool) -> None:
        """Count damage to a player; `new_move` is false for further hits of the same move."""
        totals = self._on(victim)
        totals.damage += damage
        totals.moves += new_move

    def add_kill(self, victim: int) -> None:
        """Count a stock that a player lost to this one."""
        self._on(victim).kills += 1

    def add_kill_move(self, conversion: Conversion) -> None:
        """Record the move of a conversion that took an opponent's stock."""
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
        """One entry for each player that was hit, by player index."""
        return [replace(totals) for _, totals in sorted(self._totals.items())]
