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

    The revisions of all other numbers are in pages. A reader is copied every few hundred kilobytes of its file, and we
    keep all copies. So pages are shared by all copies, and if one of them changes, we only copy this one.
    """

    def __init__(self) -> None:
        self.first: int | None = None
        """The number of the first frame."""
        self.repeated = False
        """Whether the first number came again `MAX_REPEATS` times before another number."""
        self.next = 0
        """The number after those that came in order from `first` on."""
        self._highest_elsewhere: int | None = None
        """The highest number that came again or out of order."""
        self._pages: dict[int, array[int]] = {}
        """Arrays that are never changed, of the newest revisions plus 1, or 0 for numbers without one."""
        self._stored = 0
        """The number of frame numbers in the pages."""

    def copy(self) -> Self:
        """Return a copy. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin._pages = self._pages.copy()
        return twin

    def place_after(self, first: int | None, *, repeated: bool) -> None:
        """Continue after frames that were found in another way. `first` is the number of the first of them."""
        self.first, self.repeated = first, repeated
        self.next = 0 if first is None else first + 1

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
        others = self._stored - (self._stored_revision(number) is not None)
        return number == self.first and self.next == number + 1 and not others

    def revise(self, number: int, diagnostics: DiagnosticLimiter, end: int, out: list[Event]) -> int:
        """Take the number of a complete sending and return its revision, which is how many times the number came
        before.
        """
        known = self._stored_revision(number) if self._stored else None
        if number == self.next and self.first is not None and known is None:
            self.next += 1
            return 0
        if self.first is None:
            self.first, self.next = number, number + 1
            return 0
        if self._stored >= MAX_NUMBERS_APART or len(self._pages) >= MAX_PAGES:
            message = "too many frame numbers out of order; revisions start anew"
            diagnostics.report(out, "numbers_forgotten", message, end, end)
            self._pages, self._stored, known = {}, 0, None
        if known is None:
            known = 0 if self.first <= number < self.next else -1
        revision = known + 1
        self._store(number, revision)
        if self._highest_elsewhere is None or number > self._highest_elsewhere:
            self._highest_elsewhere = number
        if revision == MAX_REPEATS and self.is_only_number(number):
            message = f"all frames have the number {number}, which tells no time"
            diagnostics.report(out, "repeated_frame", message, end, end)
            self.repeated = True
        return revision

    def _stored_revision(self, number: int) -> int | None:
        page = self._pages.get(number >> _PAGE_BITS)
        stored = 0 if page is None else page[number & (_PAGE_NUMBERS - 1)]
        return stored - 1 if stored else None

    def _store(self, number: int, revision: int) -> None:
        key, index = number >> _PAGE_BITS, number & (_PAGE_NUMBERS - 1)
        page = self._pages.get(key, _EMPTY)[:]
        self._stored += page[index] == 0
        page[index] = revision + 1
        self._pages[key] = page
