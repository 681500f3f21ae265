"""The frame numbers of a game in the order of the file, and which revision each sending has."""

from __future__ import annotations

import copy
from typing import Self

from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.formats.slippi.revisions import Revisions
from slpstream.model.events import Event

MAX_REPEATS = 8
"""If a game repeats its first frame number this often before it sends another, its numbers do not count time."""
MAX_NUMBERS_APART = 1 << 17
"""Limit for frame numbers that are stored one by one because they did not come in order."""


class FrameNumbers:
    """Gives each sending its revision. As long as the numbers come in order, this doesn't need any memory."""

    def __init__(self, diagnostics: DiagnosticLimiter) -> None:
        self._diagnostics = diagnostics
        self.first: int | None = None
        """The number of the first frame."""
        self.repeated = False
        """Whether the first number came again `MAX_REPEATS` times before another number."""
        self._next = 0
        """The number after those that came in order from `first` on."""
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
        self._next = 0 if first is None else first + 1

    @property
    def count_time(self) -> bool:
        """Whether you can use the frame numbers to tell the time of the game."""
        return not (self.repeated and self.first is not None and self.is_only_number(self.first))

    def is_only_number(self, number: int) -> bool:
        """Whether this is the only frame number that the game has sent."""
        revisions = self._revisions
        others = revisions.count - (revisions.get(number) is not None)
        return number == self.first and self._next == number + 1 and not others

    def revise(self, number: int, end: int, out: list[Event]) -> int:
        """Take the number of a complete sending and return its revision, which is how many times the number came
        before.
        """
        revisions = self._revisions
        known = revisions.get(number) if revisions.count else None
        if number == self._next and self.first is not None and known is None:
            self._next += 1
            return 0
        if self.first is None:
            self.first, self._next = number, number + 1
            return 0
        if revisions.count >= MAX_NUMBERS_APART or revisions.full:
            message = "too many frame numbers out of order; revisions start anew"
            self._diagnostics.report(out, "warning", "numbers_forgotten", message, end, end)
            revisions.clear()
            known = None
        if known is None:
            known = 0 if self.first <= number < self._next else -1
        revision = known + 1
        revisions.put(number, revision)
        if revision == MAX_REPEATS and self.is_only_number(number):
            message = f"all frames have the number {number}, which tells no time"
            self._diagnostics.report(out, "warning", "repeated_frame", message, end, end)
            self.repeated = True
        return revision
