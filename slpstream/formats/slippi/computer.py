"""What everything that counts in frames has in common, which is how it is copied."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Self

_COPIED: set[type] = {list, dict, set, deque, Counter, defaultdict}
"""The types of attributes that are copied: containers, and computers."""
_READERS: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {}
"""Names of the attributes of each class, and a function that returns the class of an object and then their values. With
the class, there are always two names at least, for which `attrgetter` returns a tuple.

The names are kept because up to Python 3.12, an object is slower once `vars` has been called for it.
"""


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
        if kind not in _READERS:
            own = tuple(vars(self))
            _READERS[kind] = own, attrgetter("__class__", *own)
        names, values_of = _READERS[kind]
        twin = kind.__new__(kind)
        _, *values = values_of(self)
        twin.__dict__ = {
            name: value.copy() if type(value) in _COPIED else value for name, value in zip(names, values, strict=True)
        }
        return twin
