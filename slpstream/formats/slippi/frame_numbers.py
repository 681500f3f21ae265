"""The frame numbers of a game in the order of the file, and which revision each sending has."""

from __future__ import annotations

import copy
from array import array
from typing import Self

from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.model.events import Event

MAX_REPEATS = 8
"""If a game repeats its first frame number this often before it sends another, its numbers do not count time."""
_PAGE_NUMBERS = 64
_EMPTY = array("I", bytes(4 * _PAGE_NUMBERS))
MAX_PAGES = 1 << 12
"""Limit for the pages, which need 1 MiB then. Numbers far apart take one each."""


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
    def all_equal(self) -> bool:
        """Whether the game has only sent its first number."""
        return self.next - 1 == self.first and self._stored == (self._stored_count(self.first) > 0)

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
        if len(self._pages) >= MAX_PAGES:
            message = "too many frame numbers out of order; revisions start anew"
            diagnostics.report(out, "numbers_forgotten", message, end)
            self._pages, self._stored, count = {}, 0, 0
        revision = count or int(self.first <= number < self.next)
        key, index = divmod(number, _PAGE_NUMBERS)
        self._pages[key] = page = self._pages.get(key, _EMPTY)[:]
        page[index] = revision + 1
        self._stored += not count
        if self._highest_elsewhere is None or number > self._highest_elsewhere:
            self._highest_elsewhere = number
        if revision == MAX_REPEATS and self.all_equal:
            message = f"all frames have the number {number}, which tells no time"
            diagnostics.report(out, "repeated_frame", message, end)
            self.repeated = True
        return revision

    def _stored_count(self, number: int) -> int:
        key, index = divmod(number, _PAGE_NUMBERS)
        return self._pages.get(key, _EMPTY)[index]
