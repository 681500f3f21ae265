"""The predictions of the columns: what a value should be by those before it, and the difference to what it is.

All values are unsigned integers of 1, 2 or 4 bytes; a float is its bit pattern. So every prediction may be wrong and
nothing is lost: what is kept is the difference. Where floats are added, the sum is taken in double precision and
rounded once to single precision (ties to even); an operand or a result that is not finite makes the prediction the
parent's value. With that every machine predicts the same bits.

A row's *parent* is the row before it of the same player or thing (`frames` says which). Parents are given as places in
a list of values that has a 0 in front: place 0 stands for "none".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import xor

WORD = 0xFFFFFFFF
_SIGN, _EXPONENT = 0x80000000, 0x7F800000
_F32, _U32 = struct.Struct(">f"), struct.Struct(">I")

Step = Callable[[int, int, int], int]
"""(row, parent's value, grandparent's value) to the predicted value."""


def as_float(pattern: int) -> float:
    """The float of a bit pattern."""
    value: float = _F32.unpack(_U32.pack(pattern))[0]
    return value


def finite(pattern: int) -> bool:
    """Neither infinite nor NaN."""
    return pattern & _EXPONENT != _EXPONENT


def rounded(value: float, otherwise: int) -> int:
    """The bit pattern of the nearest float; `otherwise` when that would not be finite."""
    try:
        pattern: int = _U32.unpack(_F32.pack(value))[0]
    except OverflowError:
        return otherwise
    return pattern if pattern & _EXPONENT != _EXPONENT else otherwise


def fold(pattern: int) -> int:
    """A float's pattern as a number that grows with the float, modulo 2^32: neighbours differ by 1."""
    return pattern ^ WORD if pattern & _SIGN else pattern | _SIGN


def unfold(number: int) -> int:
    """The mirror of `fold`."""
    return number ^ _SIGN if number & _SIGN else number ^ WORD


def zigzag(difference: int) -> int:
    """A difference modulo 2^32 as a number that is small when it is near 0 on either side."""
    difference &= WORD
    return (2 * difference if difference < _SIGN else 2 * (WORD - difference) + 1) & WORD


def unzigzag(number: int) -> int:
    """The mirror of `zigzag`."""
    return number >> 1 if not number & 1 else WORD - (number >> 1)


# -- differences to a prediction that is known beforehand
# ------------------------------------------------------------------------


def float_differences(values: Sequence[int], predicted: Sequence[int]) -> list[int]:
    """Zigzag differences of the folded patterns."""
    return [
        0 if value == guess else zigzag(fold(value) - fold(guess))
        for value, guess in zip(values, predicted, strict=True)
    ]


def from_float_differences(differences: Sequence[int], predicted: Sequence[int]) -> list[int]:
    """The mirror of `float_differences`."""
    return [
        guess if not difference else unfold((fold(guess) + unzigzag(difference)) & WORD)
        for difference, guess in zip(differences, predicted, strict=True)
    ]


# -- differences to the parent
# ------------------------------------------------------------------------


def parents_of(values: Sequence[int], parents: Sequence[int] | None) -> list[int]:
    """Each row's parent's value; `None` for rows that simply follow each other."""
    if parents is None:
        return [0, *values[:-1]] if values else []
    padded = [0, *values]
    return [padded[place] for place in parents]


def undo_delta(differences: Sequence[int], parents: Sequence[int] | None, mask: int) -> list[int]:
    """Values from their differences to the parent, modulo `mask + 1`."""
    if parents is None:
        return [value & mask for value in accumulate(differences)]
    values = [0]
    for difference, place in zip(differences, parents, strict=True):
        values.append((values[place] + difference) & mask)
    return values[1:]


def undo_xor(differences: Sequence[int], parents: Sequence[int] | None) -> list[int]:
    """Values from what differs in bits from the parent."""
    if parents is None:
        return list(accumulate(differences, xor))
    values = [0]
    for difference, place in zip(differences, parents, strict=True):
        values.append(values[place] ^ difference)
    return values[1:]


# -- predictions that go from row to row
# ------------------------------------------------------------------------


def stepped(values: Sequence[int], parents: Sequence[int] | None, step: Step) -> list[int]:
    """What `step` predicts for each row."""
    padded = [0, *values]
    places = range(len(values)) if parents is None else parents
    grand = [0, *places]
    return [step(row, padded[place], padded[grand[place]]) for row, place in enumerate(places)]


def undo_steps(differences: Sequence[int], parents: Sequence[int] | None, step: Step) -> list[int]:
    """Float patterns from their differences to what `step` predicts."""
    values = [0]
    places = range(len(differences)) if parents is None else parents
    grand = [0, *places]
    for row, (difference, place) in enumerate(zip(differences, places, strict=True)):
        guess = step(row, values[place], values[grand[place]])
        values.append(guess if not difference else unfold((fold(guess) + unzigzag(difference)) & WORD))
    return values[1:]


def linear(row: int, parent: int, grand: int) -> int:
    """On by the same difference as last time, but not through zero: a speed that is slowed down stops there."""
    if parent == grand:
        return parent
    if not (finite(parent) and finite(grand)):
        return parent
    before = as_float(parent)
    after = 2 * before - as_float(grand)
    return rounded(after, parent) if after * before > 0 else 0


def straight(row: int, parent: int, grand: int) -> int:
    """On by the same difference as last time."""
    if parent == grand or not (finite(parent) and finite(grand)):
        return parent
    return rounded(2 * as_float(parent) - as_float(grand), parent)


def countdown(row: int, parent: int, grand: int) -> int:
    """One less, down to 0."""
    if not finite(parent):
        return parent
    before = as_float(parent)
    return rounded(before - 1, parent) if before >= 1 else 0


def moved(speeds: Sequence[Sequence[int]], stopped: Sequence[int] | None) -> Step:
    """A position: on by the sum of these speeds, unless `stopped` (hitlag) is above 0."""

    def step(row: int, parent: int, grand: int) -> int:
        if stopped is not None and stopped[row] and not stopped[row] & _SIGN:
            return parent
        total = 0.0
        for speed in speeds:
            if not finite(speed[row]):
                return parent
            total += as_float(speed[row])
        if not total or not finite(parent):
            return parent
        return rounded(as_float(parent) + total, parent)

    return step


def counted(states: Sequence[int], before: Sequence[int]) -> Step:
    """The counter of a state: 0 when the state is another than `before`, else on by what it went on by, or by 1."""

    def step(row: int, parent: int, grand: int) -> int:
        if states[row] != before[row]:
            return 0
        if not (finite(parent) and finite(grand)):
            return parent
        now = as_float(parent)
        by = now - as_float(grand)
        return rounded(now + (by if by >= 0 else 1.0), parent)

    return step


# -- floats that are steps of a grid
# ------------------------------------------------------------------------


class GridOf:
    """A grid of `steps` steps from 0 to 1, of which those from `lowest` to `highest` are coded in one byte, in two's
    complement. `escape` is the code of what is not on it."""

    def __init__(self, steps: int, lowest: int, highest: int, escape: int) -> None:
        self.escape = escape
        self.step_of = {rounded(step / steps, 0): step for step in range(lowest, highest + 1)}
        """The step of each pattern."""
        self.code_of = {pattern: step & 0xFF for pattern, step in self.step_of.items()}
        self.patterns = [0] * 256
        """The pattern of each code."""
        for pattern, code in self.code_of.items():
            self.patterns[code] = pattern


STICK_GRID = GridOf(80, -127, 127, 0x80)
TRIGGER_GRID = GridOf(140, 0, 140, 0xFF)


def on_grid(values: Sequence[int], grid: GridOf) -> tuple[list[int], list[int]]:
    """The codes of values, and those that have none, in order."""
    codes, escape = grid.code_of, grid.escape
    found = [codes.get(value, escape) for value in values]
    escaped = [value for value, code in zip(values, found, strict=True) if code == escape] if escape in found else []
    return found, escaped


_DEAD_ZONE, _RIM = 23, 80


def stick(raw_x: int, raw_y: int) -> tuple[int, int]:
    """What the game makes of a stick's raw position: inside the rim, and nothing near the middle."""
    x, y = raw_x - ((raw_x & 0x80) << 1), raw_y - ((raw_y & 0x80) << 1)
    squared = x * x + y * y
    if squared > _RIM * _RIM:
        radius = math.sqrt(squared)
        x, y = int(x * (_RIM / radius)), int(y * (_RIM / radius))
    return (x if abs(x) >= _DEAD_ZONE else 0), (y if abs(y) >= _DEAD_ZONE else 0)


def direction(x: int, y: int, up: int) -> int:
    """The bit of a stick's direction: `up`, then down, left, right; 0 near the middle."""
    x, y = x - ((x & 0x80) << 1), y - ((y & 0x80) << 1)
    if max(abs(x), abs(y)) < _DEAD_ZONE:
        return 0
    if abs(y) > abs(x):
        return up if y > 0 else up << 1
    return up << 2 if x < 0 else up << 3


# -- the game's random numbers
# ------------------------------------------------------------------------

_FACTOR, _ADDEND = 214013, 2531011


def _doublings() -> list[tuple[int, int]]:
    jumps, factor, addend = [], _FACTOR, _ADDEND
    for _ in range(32):
        jumps.append((factor, addend))
        factor, addend = factor * factor & WORD, (factor * addend + addend) & WORD
    return jumps


_JUMPS = _doublings()
"""Of 1, 2, 4, ... draws: seed * factor + addend."""


def draws_of(seed: int) -> int:
    """How many draws lead from the seed 0 to this one: every seed has exactly one number, below 2^32."""
    count, now = 0, 0
    for bit, (factor, addend) in enumerate(_JUMPS):
        if (now ^ seed) >> bit & 1:
            now = (now * factor + addend) & WORD
            count |= 1 << bit
    return count


def seed_after(draws: int) -> int:
    """The mirror of `draws_of`."""
    now, bit = 0, 0
    while draws:
        if draws & 1:
            factor, addend = _JUMPS[bit]
            now = (now * factor + addend) & WORD
        draws >>= 1
        bit += 1
    return now
