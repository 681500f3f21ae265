"""The frame numbers of a game in the order of the file, and which revision each sending has."""

from __future__ import annotations

import copy
from array import array
from typing import Self

from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.model.events import Event

MAX_REPEATS = 8
"""If a game repeats its first frame number this often before it sends another, its numbers do not count time."""
MAX_NUMBERS_APART = 1 << 17
"""Limit for frame numbers that are stored one by one because they did not come in order."""
_PAGE_BITS = 6
_PAGE_NUMBERS = 1 << _PAGE_BITS
_EMPTY = array("I", bytes(4 * _PAGE_NUMBERS))
MAX_PAGES = 1 << 12
"""The limit of pages; numbers far apart take one each."""


class Revisions:
    """The newest revision of each frame number that came again or out of order, in a map that is cheap to copy.

    This is important because a reader is copied every few hundred kilobytes of its file, and we keep all copies. So the
    numbers are in pages, which are shared by all copies, and if one of the pages changes, we only copy this one.
    """

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


class FrameNumbers:
    """Gives each sending its revision. As long as the numbers come in order, this doesn't need any memory."""

    def __init__(self, diagnostics: DiagnosticLimiter) -> None:
        self._diagnostics = diagnostics
        self.first: int | None = None
        """The number of the first frame."""
        self.repeated = False
        """Whether the first number came again `MAX_REPEATS` times before another number."""
        self.next = 0
        """The number after those that came in order from `first` on."""
        self.highest_elsewhere: int | None = None
        """The highest number that came again or out of order."""
        self._revisions = Revisions()
        """Revisions of the numbers that came again or out of order."""

    def copy(self, diagnostics: DiagnosticLimiter) -> Self:
        """Return a copy. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin._diagnostics = diagnostics
        twin._revisions = self._revisions.copy()
        return twin

    def place_after(self, first: int | None, *, repeated: bool) -> None:
        """Continue after frames that were found in another way. `first` is the number of the first of them."""
        self.first, self.repeated = first, repeated
        self.next = 0 if first is None else first + 1

    @property
    def in_order(self) -> bool:
        """Whether `next` and all numbers after it are new."""
        return self.first is not None and (self.highest_elsewhere is None or self.highest_elsewhere < self.next)

    @property
    def count_time(self) -> bool:
        """Whether you can use the frame numbers to tell the time of the game."""
        return not (self.repeated and self.first is not None and self.is_only_number(self.first))

    def is_only_number(self, number: int) -> bool:
        """Whether this is the only frame number that the game has sent."""
        revisions = self._revisions
        others = revisions.count - (revisions.get(number) is not None)
        return number == self.first and self.next == number + 1 and not others

    def revise(self, number: int, end: int, out: list[Event]) -> int:
        """Take the number of a complete sending and return its revision, which is how many times the number came
        before.
        """
        revisions = self._revisions
        known = revisions.get(number) if revisions.count else None
        if number == self.next and self.first is not None and known is None:
            self.next += 1
            return 0
        if self.first is None:
            self.first, self.next = number, number + 1
            return 0
        if revisions.count >= MAX_NUMBERS_APART or revisions.full:
            message = "too many frame numbers out of order; revisions start anew"
            self._diagnostics.report(out, "warning", "numbers_forgotten", message, end, end)
            revisions.clear()
            known = None
        if known is None:
            known = 0 if self.first <= number < self.next else -1
        revision = known + 1
        revisions.put(number, revision)
        if self.highest_elsewhere is None or number > self.highest_elsewhere:
            self.highest_elsewhere = number
        if revision == MAX_REPEATS and self.is_only_number(number):
            message = f"all frames have the number {number}, which tells no time"
            self._diagnostics.report(out, "warning", "repeated_frame", message, end, end)
            self.repeated = True
        return revision
