"""What everything that counts in frames has in common, which is how it is copied."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any, Self

_COPIED: set[type] = {list, dict, set, deque, Counter, defaultdict}
"""The types of attributes that are copied: containers, and computers."""
_NAMES: dict[type, tuple[str, ...]] = {}
"""Names of the attributes of each class. Up to Python 3.12, an object is slower once `vars` has been called for it."""


class Computer:
    """Something that counts.

    What it has counted is in numbers, in lists, dicts and sets, and in values that are never modified, but replaced. It
    has all its attributes before it is first copied.
    """

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        _COPIED.add(cls)

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        kind = type(self)
        names = _NAMES.get(kind) or _NAMES.setdefault(kind, tuple(vars(self)))
        twin = kind.__new__(kind)
        values = [getattr(self, name) for name in names]
        twin.__dict__ = {
            name: value.copy() if type(value) in _COPIED else value for name, value in zip(names, values, strict=True)
        }
        return twin
