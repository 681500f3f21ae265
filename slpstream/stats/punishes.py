"""What conversions and combos have in common: hits on one player that belong together.

Both open when the player is damaged or grabbed, both collect moves, both end when the player loses a stock or when a
counter passes 45. They differ in what the counter counts; `conversions` and `combos` say that.

From the post-frame update of who was hit: `percent`, `stocks_remaining`, `action_state_id`; of who hit:
`last_attack_landed`. A move is added when there is damage and the one who hits has left the action state of the last
hit (or begun it anew, `action_state_counter` fell); otherwise it is another hit of the same move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

from msgspec import UnsetType
from msgspec.structs import replace

from slpstream.stats.schema import Combo, Conversion, Move

RESET_FRAMES = 45
"""Frames that a player needs for a conversion or combo to be over (slippi-js)."""

P = TypeVar("P", Conversion, Combo)


class Punishes(Generic[P]):
    """Those of one player who is hit; `entries` is the list of the whole game, in opening order."""

    __slots__ = ("_at", "_move", "_waiting", "counter", "entries", "index", "open")

    shape: Callable[..., P]

    def __init__(self, index: int, entries: list[P]) -> None:
        self.index = index
        self.entries: list[P] = entries
        self.open: P | None = None
        self.counter = 0
        self._move: Move | None = None
        self._waiting: list[tuple[int, float, Mapping[int, int]]] = []
        self._at = 0

    def copy(self, entries: list[P]) -> Self:
        """An independent computer at the same place, on a copied list."""
        twin = type(self)(self.index, entries)
        twin.counter = self.counter
        if self.open is not None:
            twin._at = self._at
            twin.open = entries[self._at] = twin_open = _value(self.open)
            twin._move = twin_open.moves[-1] if self._move is not None else None
            twin._waiting = list(self._waiting)
        return twin

    def begin(self, frame: int, percent: float, hitter: int | UnsetType) -> P:
        """It opens; `percent` is that of the frame before, `hitter` the player index of who does it, when known."""
        self._waiting.clear()
        self.open = punish = self.shape(self.index, frame, hitter, start_percent=percent, moves=[])
        self.counter = 0
        self._move = None
        self._at = len(self.entries)
        self.entries.append(punish)
        return punish

    def add(self, frame: int, hitter: int, move_id: int, damage: float) -> float:
        """A move hits; returns the damage that waited for a name and has it now."""
        punish = self.open
        if punish is None:
            return 0.0
        waited = self._credit(punish, hitter) if self._waiting else 0.0
        punish.last_hit_by = hitter
        self._move = Move(hitter, frame, move_id, 1, damage)
        punish.moves.append(self._move)
        return waited

    def wait(self, frame: int, damage: float, move_ids: Mapping[int, int]) -> None:
        """Damage that nobody is named for yet: `move_ids` has what each player's last move was then."""
        if self.open is not None:
            self._waiting.append((frame, damage, move_ids))

    def _credit(self, punish: P, hitter: int) -> float:
        """The damage that waited was done by a player; hits that follow each other with the same move are one."""
        last: Move | None = None
        for frame, damage, move_ids in self._waiting:
            move_id = move_ids.get(hitter, 0)
            if last is not None and last.move_id == move_id:
                last.hit_count += 1
                last.damage += damage
            else:
                last = Move(hitter, frame, move_id, 1, damage)
                punish.moves.append(last)
        waited = sum(damage for _, damage, _ in self._waiting)
        self._waiting.clear()
        return waited

    def repeat(self, damage: float) -> None:
        """The last move hits again."""
        move = self._move
        if move is not None:
            move.hit_count += 1
            move.damage += damage

    def end(self, frame: int, current_percent: float, end_percent: float, *, killed: bool) -> P | None:
        """It is over: `end_percent` is that of the frame before."""
        punish = self.open
        if punish is not None:
            punish.end_frame = frame
            punish.current_percent = current_percent
            punish.end_percent = end_percent
            punish.did_kill = killed
        self.open = self._move = None
        return punish

    def value(self, percent: float) -> P | None:
        """The one that runs, as it is now, on a player with this percent."""
        if self.open is None:
            return None
        value = _value(self.open)
        value.current_percent = percent
        return value

    def show(self, shown: list[P], percent: float) -> None:
        """Puts the one that still runs into a copy of the list, as a value."""
        if self.open is not None:
            value = shown[self._at] = _value(self.open)
            value.current_percent = percent


def _value(punish: P) -> P:
    changes: dict[str, Any] = {"moves": [replace(move) for move in punish.moves]}
    return replace(punish, **changes)
