"""What all computers have in common, which is how they are copied."""

from __future__ import annotations

from collections import deque
from typing import Self


class Computer:
    """Something that counts.

    What it has counted is in numbers, in lists, dicts and sets, and in values that are never modified, but replaced.
    """

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = type(self).__new__(type(self))
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, (list, dict, set, deque, Computer)) else value)
        return twin
