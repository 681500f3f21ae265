"""The newest revision of each frame number that came again or out of order, in a map that is cheap to copy.

This is important because a reader is copied every few hundred kilobytes of its file, and we keep all copies. So the
numbers are in pages, which are shared by all copies, and if one of the pages changes, we only copy this one.
"""

from __future__ import annotations

from array import array
from typing import Self

_PAGE_BITS = 6
_PAGE_NUMBERS = 1 << _PAGE_BITS
_EMPTY = array("I", bytes(4 * _PAGE_NUMBERS))
MAX_PAGES = 1 << 12
"""The limit of pages; numbers far apart take one each."""


class Revisions:
    """Revisions by frame number."""

    __slots__ = ("_pages", "count")

    def __init__(self) -> None:
        self._pages: dict[int, array[int]] = {}
        """Arrays that are never changed, of revisions plus 1, or 0 for numbers without one."""
        self.count = 0
        """The number of frame numbers with a revision."""

    def get(self, number: int) -> int | None:
        """Return the revision of a number, or `None` if it doesn't have one."""
        page = self._pages.get(number >> _PAGE_BITS)
        stored = 0 if page is None else page[number & (_PAGE_NUMBERS - 1)]
        return stored - 1 if stored else None

    def put(self, number: int, revision: int) -> None:
        """Set the revision of a number."""
        key, index = number >> _PAGE_BITS, number & (_PAGE_NUMBERS - 1)
        page = self._pages.get(key, _EMPTY)[:]
        self.count += page[index] == 0
        page[index] = revision + 1
        self._pages[key] = page

    @property
    def full(self) -> bool:
        """Whether there are too many pages, because the numbers are far apart."""
        return len(self._pages) >= MAX_PAGES

    def clear(self) -> None:
        """Forget all numbers."""
        self._pages = {}
        self.count = 0

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)()
        twin._pages = self._pages.copy()
        twin.count = self.count
        return twin
