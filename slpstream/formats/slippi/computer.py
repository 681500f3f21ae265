"""What everything that counts in frames has in common, which is how it is copied."""

from __future__ import annotations

from typing import Self


class Computer:
    """Something that counts.

    What it has counted is in numbers, in lists, dicts and sets, and in values that are never modified, but replaced.
    """

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = type(self).__new__(type(self))
        state = vars(twin)
        state.update(vars(self))
        for name, value in state.items():
            if hasattr(value, "copy"):
                state[name] = value.copy()
        return twin
