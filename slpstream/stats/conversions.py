"""Conversions: the punishes on a player, from the opening until they are back in control, or dead.

The counter is 0 while the player is damaged or grabbed. It starts when the player is in control on the ground (states
0x0E to 0x18, 0x27 to 0x29, 0x2D to 0x40, 0xD4) and then grows in every frame; past 45 the conversion is over.

The opening type is judged when the conversion ends, with what is known then:

- `trade`: one on who hit began in the same frame;
- `counter-attack`: who hit was being punished, in a conversion that began earlier and that lasted past the start of
  this one. One that still runs counts: it will end, but for the last of a game;
- `neutral-win`: the rest.

slippi-js judges once the game is over; there, one that never ends does not count. A conversion without moves
compares with itself there, so it is a `counter-attack` once it has ended.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from slpstream.stats.punishes import Punishes
from slpstream.stats.schema import Conversion

TRADE, COUNTER_ATTACK, NEUTRAL_WIN = "trade", "counter-attack", "neutral-win"


class Conversions(Punishes[Conversion]):
    """Conversions on one player."""

    __slots__ = ()

    shape = Conversion


def opening_type(conversion: Conversion, all: list[Conversion], *, over: bool) -> str:
    """The opening type of a conversion among all of the game. `over`: the game is, so what still runs never ends."""
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


def judged(all: list[Conversion], *, over: bool) -> list[Conversion]:
    """The list with the opening types of those that need another one than they have; the others are shared."""
    types = (opening_type(conversion, all, over=over) for conversion in all)
    return [c if c.opening_type == type else replace(c, opening_type=type) for c, type in zip(all, types, strict=True)]
