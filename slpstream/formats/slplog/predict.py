"""Predict the values of columns, and compute the differences between values and predictions.

All values are unsigned integers of 1, 2 or 4 bytes, and floats are bit patterns. Differences are always exact. So if a
prediction is wrong, this costs some space, but we don't lose anything. It is important that predictions have the same
bits on every machine. That's why we compute sums of floats in double precision and round them once to single precision
(ties to even). If an operand or the result isn't finite, we use the parent's value instead.

The *parent* of a row is the row before it that belongs to the same player or item (see `rows`). Parents are indices
into a list of values that begins with an additional 0, so if the index is 0, there is no parent.
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
    """Whether a bit pattern belongs to a float that is neither infinite nor NaN."""
    return pattern & _EXPONENT != _EXPONENT


def rounded(value: float, otherwise: int) -> int:
    """Return the bit pattern of the nearest float. If it isn't finite, this returns `otherwise`."""
    try:
        pattern: int = _U32.unpack(_F32.pack(value))[0]
    except OverflowError:
        return otherwise
    return pattern if pattern & _EXPONENT != _EXPONENT else otherwise


def fold(pattern: int) -> int:
    """Map the bit pattern of a float to an integer, so that larger floats get larger integers, modulo 2^32.

    Neighbours differ by 1.
    """
    return pattern ^ WORD if pattern & _SIGN else pattern | _SIGN


def unfold(number: int) -> int:
    """The inverse of `fold`."""
    return number ^ _SIGN if number & _SIGN else number ^ WORD


def zigzag(difference: int) -> int:
    """Map a difference modulo 2^32 to a number.

    If the difference is close to 0, on either side, the number is small.
    """
    difference &= WORD
    return (2 * difference if difference < _SIGN else 2 * (WORD - difference) + 1) & WORD


def unzigzag(number: int) -> int:
    """The inverse of `zigzag`."""
    return number >> 1 if not number & 1 else WORD - (number >> 1)


def float_differences(values: Sequence[int], predicted: Sequence[int]) -> list[int]:
    """Return how much floats differ from their predictions, as zigzag numbers of folded patterns."""
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
    """Return the value of each row's parent. If you don't pass `parents`, this is always the row before."""
    if parents is None:
        return [0, *values[:-1]] if values else []
    padded = [0, *values]
    return [padded[parent] for parent in parents]


def undo_delta(differences: Sequence[int], parents: Sequence[int] | None, mask: int) -> list[int]:
    """Restore values, given how much they differ from the parent's value, modulo `mask + 1`."""
    if parents is None:
        return [value & mask for value in accumulate(differences)]
    values = [0]
    for difference, parent in zip(differences, parents, strict=True):
        values.append((values[parent] + difference) & mask)
    return values[1:]


def undo_xor(differences: Sequence[int], parents: Sequence[int] | None) -> list[int]:
    """Restore values, given the bits in which they differ from the parent's value."""
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
    """Restore float patterns, given how much they differ from the predictions of `step`."""
    values = [0]
    parents = range(len(differences)) if parents is None else parents
    grand = [0, *parents]
    for row, (difference, parent) in enumerate(zip(differences, parents, strict=True)):
        guess = step(row, values[parent], values[grand[parent]])
        values.append(guess if not difference else unfold((fold(guess) + unzigzag(difference)) & WORD))
    return values[1:]


def linear(row: int, parent: int, grand: int) -> int:
    """Predict that the value changes by as much as last time, but stops at zero.

    This is useful for a speed that decreases.
    """
    if parent == grand:
        return parent
    if not (finite(parent) and finite(grand)):
        return parent
    before = as_float(parent)
    after = 2 * before - as_float(grand)
    return rounded(after, parent) if after * before > 0 else 0


def straight(row: int, parent: int, grand: int) -> int:
    """Predict that the value changes by as much as last time."""
    if parent == grand or not (finite(parent) and finite(grand)):
        return parent
    return rounded(2 * as_float(parent) - as_float(grand), parent)


def countdown(row: int, parent: int, grand: int) -> int:
    """Predict that the value is 1 less than the parent's, but not below 0."""
    if not finite(parent):
        return parent
    before = as_float(parent)
    return rounded(before - 1, parent) if before >= 1 else 0


def moved(speeds: Sequence[Sequence[int]], stopped: Sequence[int] | None) -> Step:
    """Predict a position that changes by the sum of these speeds.

    If `stopped` (hitlag) is above 0, it doesn't change.
    """

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

    If the state is different from the one `before`, the counter is 0. Otherwise, it increases by as much as last time,
    or by 1 if it got smaller.
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
    """A grid that has `steps` steps between 0 and 1.

    Each step from `lowest` to `highest` has a code of one byte, in two's complement. If a value isn't on the grid, its
    code is `escape`.
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
    """Return the codes of values, and a list of those values that aren't on the grid."""
    codes, escape = grid.code_of, grid.escape
    found = [codes.get(value, escape) for value in values]
    escaped = [value for value, code in zip(values, found, strict=True) if code == escape] if escape in found else []
    return found, escaped


_DEAD_ZONE, _RIM = 23, 80


def stick(raw_x: int, raw_y: int) -> tuple[int, int]:
    """Process the raw position of a stick in the same way as the game: it is limited to the rim, and 0 in the dead zone
    of each axis.
    """
    x, y = raw_x - ((raw_x & 0x80) << 1), raw_y - ((raw_y & 0x80) << 1)
    squared = x * x + y * y
    if squared > _RIM * _RIM:
        radius = math.sqrt(squared)
        x, y = int(x * (_RIM / radius)), int(y * (_RIM / radius))
    return (x if abs(x) >= _DEAD_ZONE else 0), (y if abs(y) >= _DEAD_ZONE else 0)


def direction(x: int, y: int, up: int) -> int:
    """Return the button bit for the direction of a stick. It is `up`, or one of the next bits for down, left and right.

    In the dead zone, this is 0.
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
    """Return how many draws it takes to get from seed 0 to this one.

    The number is below 2^32, and different for each seed.
    """
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
