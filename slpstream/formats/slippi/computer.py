"""What everything that counts in frames has in common, which is how it is copied."""

from __future__ import annotations

from typing import Self

_NAMES: dict[type, tuple[str, ...]] = {}
"""Names of the attributes of each class. Up to Python 3.12, an object is slower once `vars` has been called for it."""


class Computer:
    """Something that counts.

    What it has counted is in numbers, in lists, dicts and sets, and in values that are never modified, but replaced. It
    has all its attributes before it is first copied.
    """

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        kind = type(self)
        twin = kind.__new__(kind)
        for name in _NAMES.get(kind) or _NAMES.setdefault(kind, tuple(vars(self))):
            value = getattr(self, name)
            setattr(twin, name, value.copy() if hasattr(value, "copy") else value)
        return twin
