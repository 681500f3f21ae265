"""Everything that conversions and combos have in common. Both are hits on one player that belong together.

They open when the player is damaged or grabbed. Then they collect moves, until the player loses a stock or a counter
exceeds 45. The difference is in which frames the counter counts, and you find this in `conversions` and `combos`.

We use these fields of the Post-Frame Updates: `percent`, `stocks_remaining` and `action_state_id` of the player that is
hit, and `last_attack_landed` of the hitter. If there is damage, it is a new move if the hitter has left the action
state of the last hit, or has begun it again (so that `action_state_counter` got smaller). Otherwise, it is another hit
of the same move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

from msgspec import UnsetType
from msgspec.structs import replace

from slpstream.formats.slippi.stats.schema import Combo, Conversion, Move

RESET_FRAMES = 45
"""A conversion or combo ends when its counter exceeds this number (slippi-js)."""

P = TypeVar("P", Conversion, Combo)


class Punishes(Generic[P]):
    """The conversions or combos on one player.

    `entries` is the list of the whole game, in the order in which they were opened.
    """

    __slots__ = ("_deferred", "_move", "_position", "counter", "entries", "index", "open")

    entry_type: Callable[..., P]

    def __init__(self, index: int, entries: list[P]) -> None:
        self.index = index
        self.entries: list[P] = entries
        self.open: P | None = None
        self.counter = 0
        self._move: Move | None = None
        self._deferred: list[tuple[int, float, Mapping[int, int]]] = []
        self._position = 0

    def copy(self, entries: list[P]) -> Self:
        """Return a copy of this computer that is independent from then on.

        You have to pass a copy of the list as `entries`.
        """
        twin = type(self)(self.index, entries)
        twin.counter = self.counter
        if self.open is not None:
            twin._position = self._position
            twin.open = entries[self._position] = twin_open = _value(self.open)
            twin._move = twin_open.moves[-1] if self._move is not None else None
            twin._deferred = list(self._deferred)
        return twin

    @property
    def has_move(self) -> bool:
        """Whether there's a move to which we can add further hits."""
        return self._move is not None

    def begin(self, frame: int, percent: float, hitter: int | UnsetType) -> P:
        """Open an entry.

        `percent` is the one of the frame before, and `hitter` is the player index of the hitter if we know it.
        """
        self._deferred.clear()
        self.open = punish = self.entry_type(self.index, frame, hitter, start_percent=percent, moves=[])
        self.counter = 0
        self._move = None
        self._position = len(self.entries)
        self.entries.append(punish)
        return punish

    def add(self, frame: int, hitter: int, move_id: int, damage: float) -> float:
        """Add a move. If this credits damage that was deferred to its hitter, the amount is returned."""
        punish = self.open
        if punish is None:
            return 0.0
        credited = self._credit(punish, hitter) if self._deferred else 0.0
        punish.last_hit_by = hitter
        self._move = Move(hitter, frame, move_id, 1, damage)
        punish.moves.append(self._move)
        return credited

    def defer(self, frame: int, damage: float, move_ids: Mapping[int, int]) -> None:
        """Keep damage until we know who the hitter is.

        `move_ids` contains the last move of each player at this time.
        """
        if self.open is not None:
            self._deferred.append((frame, damage, move_ids))

    def _credit(self, punish: P, hitter: int) -> float:
        """Add the damage that was deferred as moves of a player, and return its sum.

        Hits of the same move in a row are merged.
        """
        last: Move | None = None
        for frame, damage, move_ids in self._deferred:
            move_id = move_ids.get(hitter, 0)
            if last is not None and last.move_id == move_id:
                last.hit_count += 1
                last.damage += damage
            else:
                last = Move(hitter, frame, move_id, 1, damage)
                punish.moves.append(last)
        credited = sum(damage for _, damage, _ in self._deferred)
        self._deferred.clear()
        return credited

    def repeat(self, damage: float) -> None:
        """Add another hit to the last move."""
        move = self._move
        if move is not None:
            move.hit_count += 1
            move.damage += damage

    def end(self, frame: int, current_percent: float, end_percent: float, *, killed: bool) -> P | None:
        """Close the open entry and return it. `end_percent` is the percent in the frame before."""
        punish = self.open
        if punish is not None:
            punish.end_frame = frame
            punish.current_percent = current_percent
            punish.end_percent = end_percent
            punish.did_kill = killed
        self.open = self._move = None
        return punish

    def value(self, percent: float) -> P | None:
        """Return a copy of the open entry with the current percent of the player, or `None` if none is open."""
        if self.open is None:
            return None
        value = _value(self.open)
        value.current_percent = percent
        return value

    def snapshot_open(self, entries: list[P], percent: float) -> None:
        """In a copy of the list, replace the open entry by a copy of it that has the current percent of the player."""
        if self.open is not None:
            value = entries[self._position] = _value(self.open)
            value.current_percent = percent


def _value(punish: P) -> P:
    changes: dict[str, Any] = {"moves": [replace(move) for move in punish.moves]}
    return replace(punish, **changes)
