"""Predictions of column values, and the differences between values and predictions.

All values are unsigned integers of 1, 2 or 4 bytes; floats are bit patterns. The differences are exact, so a wrong
prediction costs space but loses nothing. Predictions must have the same bits on every machine: sums of floats are
calculated in double precision and rounded once to single precision (ties to even), and when an operand or the result is
not finite, the prediction is the parent's value.

A row's *parent* is the preceding row of the same player or item (see `rows`). Parents are indices into a list of values
with a 0 in front, so index 0 means no parent.
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
"""Called with (row, parent's value, grandparent's value); returns the predicted value."""


def as_float(pattern: int) -> float:
    """Return the float with a bit pattern."""
    value: float = _F32.unpack(_U32.pack(pattern))[0]
    return value


def finite(pattern: int) -> bool:
    """Return whether the float with a bit pattern is neither infinite nor NaN."""
    return pattern & _EXPONENT != _EXPONENT


def rounded(value: float, otherwise: int) -> int:
    """Return the bit pattern of the nearest float, or `otherwise` if that is not finite."""
    try:
        pattern: int = _U32.unpack(_F32.pack(value))[0]
    except OverflowError:
        return otherwise
    return pattern if pattern & _EXPONENT != _EXPONENT else otherwise


def fold(pattern: int) -> int:
    """Map a float's bit pattern to an integer that increases with the float, modulo 2^32. Neighbours differ by 1."""
    return pattern ^ WORD if pattern & _SIGN else pattern | _SIGN


def unfold(number: int) -> int:
    """The inverse of `fold`."""
    return number ^ _SIGN if number & _SIGN else number ^ WORD


def zigzag(difference: int) -> int:
    """Map a difference modulo 2^32 to a number that is small if the difference is close to 0 on either side."""
    difference &= WORD
    return (2 * difference if difference < _SIGN else 2 * (WORD - difference) + 1) & WORD


def unzigzag(number: int) -> int:
    """The inverse of `zigzag`."""
    return number >> 1 if not number & 1 else WORD - (number >> 1)


def float_differences(values: Sequence[int], predicted: Sequence[int]) -> list[int]:
    """Return the differences of floats to their predictions, as zigzag numbers of folded patterns."""
    return [
        0 if value == guess else zigzag(fold(value) - fold(guess))
        for value, guess in zip(values, predicted, strict=True)
    ]


def from_float_differences(differences: Sequence[int], predicted: Sequence[int]) -> list[int]:
    """The inverse of `float_differences`."""
    return [
        guess if not difference else unfold((fold(guess) + unzigzag(difference)) & WORD)
        for difference, guess in zip(differences, predicted, strict=True)
    ]


def parents_of(values: Sequence[int], parents: Sequence[int] | None) -> list[int]:
    """Return the value of each row's parent. Without `parents` this is the row before."""
    if parents is None:
        return [0, *values[:-1]] if values else []
    padded = [0, *values]
    return [padded[parent] for parent in parents]


def undo_delta(differences: Sequence[int], parents: Sequence[int] | None, mask: int) -> list[int]:
    """Restore values from their differences to the parent's value, modulo `mask + 1`."""
    if parents is None:
        return [value & mask for value in accumulate(differences)]
    values = [0]
    for difference, parent in zip(differences, parents, strict=True):
        values.append((values[parent] + difference) & mask)
    return values[1:]


def undo_xor(differences: Sequence[int], parents: Sequence[int] | None) -> list[int]:
    """Restore values from the bits that differ from the parent's value."""
    if parents is None:
        return list(accumulate(differences, xor))
    values = [0]
    for difference, parent in zip(differences, parents, strict=True):
        values.append(values[parent] ^ difference)
    return values[1:]


def stepped(values: Sequence[int], parents: Sequence[int] | None, step: Step) -> list[int]:
    """Return the prediction of `step` for each row."""
    padded = [0, *values]
    parents = range(len(values)) if parents is None else parents
    grand = [0, *parents]
    return [step(row, padded[parent], padded[grand[parent]]) for row, parent in enumerate(parents)]


def undo_steps(differences: Sequence[int], parents: Sequence[int] | None, step: Step) -> list[int]:
    """Restore float patterns from their differences to the predictions of `step`."""
    values = [0]
    parents = range(len(differences)) if parents is None else parents
    grand = [0, *parents]
    for row, (difference, parent) in enumerate(zip(differences, parents, strict=True)):
        guess = step(row, values[parent], values[grand[parent]])
        values.append(guess if not difference else unfold((fold(guess) + unzigzag(difference)) & WORD))
    return values[1:]


def linear(row: int, parent: int, grand: int) -> int:
    """Predict the same change as last time, but not past zero: a speed that decreases stops there."""
    if parent == grand:
        return parent
    if not (finite(parent) and finite(grand)):
        return parent
    before = as_float(parent)
    after = 2 * before - as_float(grand)
    return rounded(after, parent) if after * before > 0 else 0


def straight(row: int, parent: int, grand: int) -> int:
    """Predict the same change as last time."""
    if parent == grand or not (finite(parent) and finite(grand)):
        return parent
    return rounded(2 * as_float(parent) - as_float(grand), parent)


def countdown(row: int, parent: int, grand: int) -> int:
    """Predict 1 less than the parent's value, down to 0."""
    if not finite(parent):
        return parent
    before = as_float(parent)
    return rounded(before - 1, parent) if before >= 1 else 0


def moved(speeds: Sequence[Sequence[int]], stopped: Sequence[int] | None) -> Step:
    """Predict a position that changes by the sum of these speeds, unless `stopped` (hitlag) is above 0."""

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
    """Predict the counter of an action state.

    It is 0 when the state differs from the one `before`. Otherwise it increases as much as last time, or by 1 if it
    decreased.
    """

    def step(row: int, parent: int, grand: int) -> int:
        if states[row] != before[row]:
            return 0
        if not (finite(parent) and finite(grand)):
            return parent
        now = as_float(parent)
        change = now - as_float(grand)
        return rounded(now + (change if change >= 0 else 1.0), parent)

    return step


class GridOf:
    """A grid of `steps` steps between 0 and 1.

    The steps from `lowest` to `highest` have codes of one byte, in two's complement. `escape` is the code of values
    that are not on the grid.
    """

    def __init__(self, steps: int, lowest: int, highest: int, escape: int) -> None:
        self.escape = escape
        self.step_of = {rounded(step / steps, 0): step for step in range(lowest, highest + 1)}
        """Steps by bit pattern."""
        self.code_of = {pattern: step & 0xFF for pattern, step in self.step_of.items()}
        self.patterns = [0] * 256
        """Bit patterns by code."""
        for pattern, code in self.code_of.items():
            self.patterns[code] = pattern


STICK_GRID = GridOf(80, -127, 127, 0x80)
TRIGGER_GRID = GridOf(140, 0, 140, 0xFF)


def on_grid(values: Sequence[int], grid: GridOf) -> tuple[list[int], list[int]]:
    """Return the codes of values, and a list of the values that are not on the grid."""
    codes, escape = grid.code_of, grid.escape
    found = [codes.get(value, escape) for value in values]
    escaped = [value for value, code in zip(values, found, strict=True) if code == escape] if escape in found else []
    return found, escaped


_DEAD_ZONE, _RIM = 23, 80


def stick(raw_x: int, raw_y: int) -> tuple[int, int]:
    """Process a stick's raw position as the game does: limited to the rim, and 0 in the dead zone of each axis."""
    x, y = raw_x - ((raw_x & 0x80) << 1), raw_y - ((raw_y & 0x80) << 1)
    squared = x * x + y * y
    if squared > _RIM * _RIM:
        radius = math.sqrt(squared)
        x, y = int(x * (_RIM / radius)), int(y * (_RIM / radius))
    return (x if abs(x) >= _DEAD_ZONE else 0), (y if abs(y) >= _DEAD_ZONE else 0)


def direction(x: int, y: int, up: int) -> int:
    """Return the button bit of a stick's direction: `up`, or one of the next bits for down, left and right.

    In the dead zone it is 0.
    """
    x, y = x - ((x & 0x80) << 1), y - ((y & 0x80) << 1)
    if max(abs(x), abs(y)) < _DEAD_ZONE:
        return 0
    if abs(y) > abs(x):
        return up if y > 0 else up << 1
    return up << 2 if x < 0 else up << 3


# The game's random number generator: seed * 214013 + 2531011 modulo 2^32.
_FACTOR, _ADDEND = 214013, 2531011


def _doublings() -> list[tuple[int, int]]:
    jumps, factor, addend = [], _FACTOR, _ADDEND
    for _ in range(32):
        jumps.append((factor, addend))
        factor, addend = factor * factor & WORD, (factor * addend + addend) & WORD
    return jumps


_JUMPS = _doublings()
"""Factors and addends that advance a seed by 1, 2, 4, ... draws."""


def draws_of(seed: int) -> int:
    """Return the number of draws that lead from seed 0 to this one. It is below 2^32 and unique for each seed."""
    count, now = 0, 0
    for bit, (factor, addend) in enumerate(_JUMPS):
        if (now ^ seed) >> bit & 1:
            now = (now * factor + addend) & WORD
            count |= 1 << bit
    return count


def seed_after(draws: int) -> int:
    """The inverse of `draws_of`."""
    now, bit = 0, 0
    while draws:
        if draws & 1:
            factor, addend = _JUMPS[bit]
            now = (now * factor + addend) & WORD
        draws >>= 1
        bit += 1
    return now
