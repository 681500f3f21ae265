"""Who hit whom: hits credited to players, and what the credits add up to.

Two players: each hit is the other's. More players, or a crew battle: the post-frame field `last_hit_by` of who was hit
names the player index; the game sets it with the damage and clears it (6) once the player stands again. A grab hits
nobody until it is thrown: damage in a grab waits in its conversion, and is credited when `last_hit_by` names someone.

Damage between team-mates is credited in `exchanges` only: it opens no conversion and counts in no ratio.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from slpstream.stats.extra import Exchange, KillMove
from slpstream.stats.schema import Conversion


class Exchanges:
    """What one player did to the others."""

    __slots__ = ("_done", "kill_moves")

    def __init__(self) -> None:
        self._done: dict[int, Exchange] = {}
        self.kill_moves: list[KillMove] = []

    def copy(self) -> Exchanges:
        """An independent computer at the same place."""
        twin = Exchanges()
        twin._done = {index: Exchange(e.player_index, e.moves, e.damage, e.kills) for index, e in self._done.items()}
        twin.kill_moves = list(self.kill_moves)
        return twin

    def hit(self, victim: int, damage: float, *, new_move: bool) -> None:
        """A move did damage."""
        done = self._on(victim)
        done.damage += damage
        done.moves += new_move

    def knock_out(self, victim: int) -> None:
        """A player lost a stock to this one."""
        self._on(victim).kills += 1

    def kill(self, conversion: Conversion) -> None:
        """A conversion of this player's on an opponent ended with the stock."""
        frame: Any = conversion.end_frame
        percent: Any = conversion.end_percent
        move_id = conversion.moves[-1].move_id if conversion.moves else UNSET
        self.kill_moves.append(KillMove(frame, conversion.player_index, move_id, percent, conversion.opening_type))

    def _on(self, victim: int) -> Exchange:
        done = self._done.get(victim)
        if done is None:
            done = self._done[victim] = Exchange(victim, 0, 0.0, 0)
        return done

    def show(self) -> list[Exchange]:
        """By player index of who was hit."""
        return [Exchange(e.player_index, e.moves, e.damage, e.kills) for _, e in sorted(self._done.items())]
