"""Conversions. A conversion on a player begins with the opening, and lasts until the player is back in control or loses
the stock.

To find its end, we use a counter, which is 0 while the player is damaged or grabbed. It starts when the player is in
control on the ground (action states 0x0E to 0x18, 0x27 to 0x29, 0x2D to 0x40, 0xD4), and then grows in every frame.
When it gets beyond 45, the conversion is over.

When a conversion ends, we look at all conversions up to then to decide its opening type:

- `trade`: a conversion on the hitter began in the same frame;
- `counter-attack`: a conversion on the hitter began earlier and lasted beyond the start of this one. An open conversion
  counts, because it will end, except for the last conversion of a game;
- `neutral-win`: everything else.

slippi-js decides this after the game, so it ignores conversions that never end. It also compares a conversion without
moves with itself, which means that such a conversion becomes a `counter-attack` as soon as it has ended.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from slpstream.formats.slippi.stats.punishes import Punishes
from slpstream.formats.slippi.stats.schema import Conversion

TRADE, COUNTER_ATTACK, NEUTRAL_WIN = "trade", "counter-attack", "neutral-win"


class Conversions(Punishes[Conversion]):
    """The conversions on one player."""

    __slots__ = ()

    entry_type = Conversion


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

    If a conversion already has the right type, it is shared instead of copied.
    """
    types = (opening_type(conversion, all, over=over) for conversion in all)
    return [c if c.opening_type == type else replace(c, opening_type=type) for c, type in zip(all, types, strict=True)]
