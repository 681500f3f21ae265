"""Conversions and combos. Both are hits on one player that belong together.

They open when the player is damaged or grabbed. Then they collect moves, until the player loses a stock or a counter
exceeds 45. The difference is in which frames the counter counts:

- A conversion lasts until the player is back in control. Its counter is 0 while the player is damaged or grabbed. It
  starts when the player is in control on the ground (action states 0x0E to 0x18, 0x27 to 0x29, 0x2D to 0x40, 0xD4), and
  then grows in every frame.
- In a combo, there are less than 45 frames outside of hitstun, grabs, knockdowns and techs between two hits. Its
  counter is 0 while the player is damaged, grabbed, down, teching or dying, and grows in all other frames.

We use these fields of the Post-Frame Updates: `percent`, `stocks_remaining` and `action_state_id` of the player that is
hit, and `last_attack_landed` of the hitter. If there is damage, it is a new move if the hitter has left the action
state of the last hit, or has begun it again (so that `action_state_counter` got smaller). Otherwise, it is another hit
of the same move.

When a conversion ends, we look at all conversions up to then to decide its opening type:

- `trade`: a conversion on the hitter began in the same frame;
- `counter-attack`: a conversion on the hitter began earlier and lasted beyond the start of this one. An open conversion
  counts, because it will end, except for the last conversion of a game;
- `neutral-win`: everything else.

slippi-js decides this after the game, so it ignores conversions that never end. It also compares a conversion without
moves with itself, which means that such a conversion becomes a `counter-attack` as soon as it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.schema import Conversion, Move, Punish, Stock

RESET_FRAMES = 45
"""A conversion or combo ends when its counter exceeds this number (slippi-js)."""
TRADE, COUNTER_ATTACK, NEUTRAL_WIN = "trade", "counter-attack", "neutral-win"

E = TypeVar("E", bound=Stock | Punish)
P = TypeVar("P", bound=Punish)

_Deferred = tuple[int, float, Mapping[int, int]]
"""Frame, damage, and the last move of each player at this time."""


class Entries(Computer, Generic[E]):
    """The entries of one player in a list of the whole game. Only the last one can be open."""

    all: list[E]
    """The list of the whole game, in the order in which the entries were opened."""

    def __init__(self) -> None:
        self.open: E | None = None
        self._position = 0

    def begin(self, entry: E) -> None:
        """Open an entry."""
        self._position = len(self.all)
        self.all.append(entry)
        self.open = entry

    def change(self, **values: Any) -> E:
        """Change values of the last entry, and return it."""
        entry = self.all[self._position] = replace(self.all[self._position], **values)
        if self.open is not None:
            self.open = entry
        return entry

    def close(self, **values: Any) -> E:
        """Close the open entry with these values, and return it."""
        self.open = None
        return self.change(**values)


class Punishes(Entries[P]):
    """The conversions or combos on one player."""

    def __init__(self, index: int, make: Callable[..., P]) -> None:
        super().__init__()
        self._index = index
        self._make: Callable[..., P] = make
        self.counter = 0
        self._deferred: tuple[_Deferred, ...] = ()

    def start(self, frame: int, percent: float, hitter: int | UnsetType) -> None:
        """Open an entry, given the percent in the frame before, and the player index of the hitter if we know it."""
        self.counter, self._deferred = 0, ()
        self.begin(self._make(self._index, frame, hitter, start_percent=percent, moves=[]))

    def close(self, **values: Any) -> P:
        """Close the open entry with these values, and return it."""
        self.counter = 0
        return super().close(**values)

    def hit(self, move: Move, *, begins: bool, counts_all: bool) -> float:
        """Add a hit, as a new move if one `begins`, and otherwise to the last one.

        If there is no move yet, the hit only counts with `counts_all`, and begins one. If this credits damage that was
        deferred to its hitter, the amount is returned.
        """
        if self.open is None:
            return 0.0
        moves = self.open.moves
        if begins or (counts_all and not moves):
            deferred, self._deferred = self._deferred, ()
            hitter = move.player_index
            self.change(last_hit_by=hitter, moves=[*moves, *_moves_of(hitter, deferred), move])
            return sum([damage for _, damage, _ in deferred])
        if moves:
            last = replace(moves[-1], hit_count=moves[-1].hit_count + 1, damage=moves[-1].damage + move.damage)
            self.change(moves=[*moves[:-1], last])
        return 0.0

    def defer(self, frame: int, damage: float, move_ids: Mapping[int, int]) -> None:
        """Keep damage until we know who the hitter is. `move_ids` contains the last move of each player."""
        if self.open is not None:
            self._deferred = *self._deferred, (frame, damage, move_ids)


def _moves_of(hitter: int, deferred: tuple[_Deferred, ...]) -> list[Move]:
    """Return deferred damage as moves of a player. Hits of the same move in a row are merged."""
    moves: list[Move] = []
    for frame, damage, move_ids in deferred:
        move_id = move_ids.get(hitter, 0)
        if moves and moves[-1].move_id == move_id:
            moves[-1].hit_count += 1
            moves[-1].damage += damage
        else:
            moves.append(Move(hitter, frame, move_id, 1, damage))
    return moves


def opening_type(conversion: Conversion, all: list[Conversion], *, over: bool) -> str:
    """Return the opening type of the given conversion, given all conversions of the game.

    With `over`, we know that open ones never end.
    """
    start, moves = conversion.start_frame, conversion.moves
    attacker = moves[0].player_index if moves else conversion.last_hit_by
    for other in reversed(all):
        if other.player_index == attacker and other.start_frame <= start:
            if other.start_frame == start:
                return TRADE
            if not moves:
                break
            end = other.end_frame
            return COUNTER_ATTACK if (not over if end is UNSET else end > start) else NEUTRAL_WIN
    return NEUTRAL_WIN if moves or conversion.end_frame is UNSET else COUNTER_ATTACK


def with_opening_types(all: list[Conversion], *, over: bool) -> list[Conversion]:
    """Return the list with the right opening types.

    Those of conversions that have ended are only decided again if open ones never end.
    """
    return [
        replace(each, opening_type=opening_type(each, all, over=over)) if over or each.end_frame is UNSET else each
        for each in all
    ]
