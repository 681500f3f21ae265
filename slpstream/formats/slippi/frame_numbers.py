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


class FrameNumbers:
    """Gives each sending its revision. As long as the numbers come in order, this doesn't need any memory.

    All other numbers are counted in pages. A reader is copied every few hundred kilobytes of its file, and we keep all
    copies. So pages are shared by all copies, and if one of them changes, we only copy this one.
    """

    def __init__(self, first: int | None = None, *, repeated: bool = False) -> None:
        """To continue after frames that were found in another way, pass the `first` of their numbers."""
        self.first = first
        """The number of the first frame."""
        self.repeated = repeated
        """Whether the first number came again `MAX_REPEATS` times before another number."""
        self.next = 0 if first is None else first + 1
        """The number after those that came in order from `first` on."""
        self._highest_elsewhere: int | None = None
        """The highest number that came again or out of order."""
        self._pages: dict[int, array[int]] = {}
        """Arrays that are never changed, of how often each number was sent, or 0 if it only came in order."""
        self._stored = 0
        """The number of frame numbers in the pages."""

    def copy(self) -> Self:
        """Return a copy. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin._pages = self._pages.copy()
        return twin

    @property
    def in_order(self) -> bool:
        """Whether `next` and all numbers after it are new."""
        return self.first is not None and (self._highest_elsewhere is None or self._highest_elsewhere < self.next)

    @property
    def count_time(self) -> bool:
        """Whether you can use the frame numbers to tell the time of the game."""
        return not (self.repeated and self.first is not None and self.is_only_number(self.first))

    def is_only_number(self, number: int) -> bool:
        """Whether this is the only frame number that the game has sent."""
        others = self._stored - (self._stored_count(number) > 0)
        return number == self.first and self.next == number + 1 and not others

    def revise(self, number: int, diagnostics: DiagnosticLimiter, end: int, out: list[Event]) -> int:
        """Take the number of a complete sending and return its revision, which is how many times the number came
        before.
        """
        if self.first is None:
            self.first = self.next = number
        count = self._stored_count(number)
        if number == self.next and not count:
            self.next += 1
            return 0
        if self._stored >= MAX_NUMBERS_APART or len(self._pages) >= MAX_PAGES:
            message = "too many frame numbers out of order; revisions start anew"
            diagnostics.report(out, "numbers_forgotten", message, end)
            self._pages, self._stored, count = {}, 0, 0
        revision = count or int(self.first <= number < self.next)
        self._store(number, revision + 1)
        if self._highest_elsewhere is None or number > self._highest_elsewhere:
            self._highest_elsewhere = number
        if revision == MAX_REPEATS and self.is_only_number(number):
            message = f"all frames have the number {number}, which tells no time"
            diagnostics.report(out, "repeated_frame", message, end)
            self.repeated = True
        return revision

    def _stored_count(self, number: int) -> int:
        return self._pages.get(number >> _PAGE_BITS, _EMPTY)[number & (_PAGE_NUMBERS - 1)]

    def _store(self, number: int, count: int) -> None:
        key, index = number >> _PAGE_BITS, number & (_PAGE_NUMBERS - 1)
        page = self._pages.get(key, _EMPTY)[:]
        self._stored += page[index] == 0
        page[index] = count
        self._pages[key] = page
