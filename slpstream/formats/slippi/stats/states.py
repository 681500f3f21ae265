"""The meaning that action states have for the stats. For each state id, there is one byte of flags.

The ranges of Post-Frame action states are the same as in slippi-js 9.1 (formats page `slippi_stats`, documented). In a
replay, a state id has 16 bits, so there's an entry in the table for each value that this can have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from slpstream.formats.slippi.commands import LAST_DYING, LEDGE_CATCH

HIT: Final = 0x01
"""Damaged, grabbed, or in a command grab. Opens conversions and combos."""
HELD: Final = 0x02
"""`HIT`, or down, teching or dying. Keeps a combo open."""
CONTROL: Final = 0x04
"""In control on the ground, which starts the counter that ends a conversion. Does not include guard."""
DYING: Final = 0x08
SHIELD: Final = 0x10
"""Guard, except its release."""
LANDING: Final = 0x20
"""Landing with an aerial: the states in which an L-cancel is decided."""
LEDGE: Final = 0x40
"""Hanging at the ledge or getting up from it."""
CAPTURED: Final = 0x80
"""Grabbed or in a command grab."""

FIRST_LANDING, LAST_LANDING = 0x46, 0x4A
GRAB: Final = 0xD4
THROWING: Final = range(0xDB, 0xDF)
THROWN: Final = range(0xEF, 0xF4)
_ATTACKS = range(0x2C, 0x46)
FIRST_CHARACTER_STATE = 0x155
"""The first of the character-specific states, which are mostly special moves."""

_DYING = range(LAST_DYING + 1)
_DAMAGED = (*range(0x4B, 0x5C), 0x26, 0xB9, 0xC1)
_CAPTURED = (*range(0xDF, 0xE9), *(s for s in (*range(0x10A, 0x131), *range(0x147, 0x153)) if s != 0x125))
_CONTROL = (*range(0x0E, 0x19), *range(0x27, 0x2A), *range(0x2D, 0x41), GRAB)
_DOWN_OR_TECHING = range(0xB7, 0xCD)


def _table(ranges: Iterable[tuple[int, Iterable[int]]]) -> bytes:
    table = bytearray(1 << 16)
    for flag, states in ranges:
        for state in states:
            table[state] |= flag
    return bytes(table)


FLAGS: Final = _table(
    [
        (HIT | HELD, _DAMAGED),
        (HIT | HELD | CAPTURED, _CAPTURED),
        (HELD, _DOWN_OR_TECHING),
        (HELD | DYING, _DYING),
        (CONTROL, _CONTROL),
        (SHIELD, (0xB2, 0xB3, 0xB5, 0xB6)),
        (LANDING, range(FIRST_LANDING, LAST_LANDING + 1)),
        (LEDGE, range(LEDGE_CATCH, 0x108)),
    ]
)
"""The flags by action state id."""


def is_attack(state: int) -> bool:
    """Whether a state belongs to a move, which can be an attack, a throw or a special move."""
    return state in _ATTACKS or state in THROWING or state >= FIRST_CHARACTER_STATE
