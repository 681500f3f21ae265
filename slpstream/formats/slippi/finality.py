"""Decide when frames become final.

There are four rules for this (spec page, rule 3). Which one applies to a game depends on Game Start and the declared
sizes:

- without bookends: when it is complete, because no rollback was ever seen there;
- offline, since 3.7: at its bookend;
- online with `latest_finalized_frame`: when that reaches it; a lower value than before has no effect;
- with bookends but without these fields: when 7 newer frame numbers are complete.

Usually, there are only a few frames that are complete but not final; on real netplay, there are at most 7. However, if
there's a file in which the latest finalized frame never advances, there would be more and more of them. That's why we
make the oldest ones final if there are more than `MAX_LAG_FRAMES`, and report this with a diagnostic.
"""

from __future__ import annotations

import copy
from enum import Enum, auto
from typing import Self

from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.model.events import Event, Frame, FrameFinalized

ROLLBACK_FRAMES = 7
MAX_LAG_FRAMES = 120


class FinalityRule(Enum):
    """The rule that says when a complete frame becomes final."""

    WHEN_COMPLETE = auto()
    """Immediately: without bookends, and offline."""
    AS_SENT = auto()
    """When `latest_finalized_frame` reaches it."""
    BY_AGE = auto()
    """When `ROLLBACK_FRAMES` newer frames are complete."""

    @classmethod
    def of_game(cls, *, bookends: bool, online: bool | None, finalized_field: bool) -> FinalityRule:
        """Return the rule for a game. The arguments have the same meaning as for `Assembler`."""
        if not bookends or online is False:
            return cls.WHEN_COMPLETE
        return cls.AS_SENT if online and finalized_field else cls.BY_AGE


_WHEN_COMPLETE, _BY_AGE = FinalityRule.WHEN_COMPLETE, FinalityRule.BY_AGE


class Finality:
    """Those frames of a game that are complete but not final. When they become final, this appends a `FrameFinalized`.

    `end` is the offset in the file just after the event that was read last.
    """

    def __init__(self, diagnostics: DiagnosticLimiter, rule: FinalityRule) -> None:
        self._diagnostics = diagnostics
        self._rule = rule
        self.pending: dict[int, Frame] = {}
        """The complete frames that are not final, each with its latest revision, by frame number."""
        self.through: int | None = None
        """The highest final frame number."""

    def copy(self, diagnostics: DiagnosticLimiter) -> Self:
        """Return a copy. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin._diagnostics = diagnostics
        twin.pending = dict(self.pending)
        return twin

    def complete(self, number: int, latest_finalized: int | None, end: int, out: list[Event]) -> None:
        """Apply the rule, because a frame is complete now.

        `latest_finalized` is the latest finalized frame according to its bookend.
        """
        rule = self._rule
        if rule is _WHEN_COMPLETE:
            self.finalize(number, end, out)
        elif rule is _BY_AGE:
            if len(self.pending) > ROLLBACK_FRAMES:
                self.finalize(sorted(self.pending)[-ROLLBACK_FRAMES - 1], end, out)
        else:
            self.finalize(number if latest_finalized is None else min(latest_finalized, number), end, out)
            self.limit_lag(end, out)

    def limit_lag(self, end: int, out: list[Event]) -> None:
        """If more than `MAX_LAG_FRAMES` are pending, make the oldest ones final."""
        if len(self.pending) > MAX_LAG_FRAMES:
            message = f"more than {MAX_LAG_FRAMES} frames are not final; the oldest are now"
            self._diagnostics.report(out, "warning", "finality_lag", message, end, end)
            self.finalize(sorted(self.pending)[-MAX_LAG_FRAMES // 2], end, out)

    def finish(self, end: int, out: list[Event]) -> None:
        """Make all complete frames final."""
        if self.pending:
            self.finalize(max(self.pending), end, out)

    def finalize(self, number: int, end: int, out: list[Event]) -> None:
        """Make all complete frames up to `number` final."""
        if self.through is not None and number <= self.through:
            return
        pending = self.pending
        if len(pending) == 1 and number in pending:  # the usual case when frames become final at their bookends
            final = [pending.pop(number)]
        else:
            final = [pending.pop(n) for n in sorted(pending) if n <= number]
        if final:
            self.through = number
            out.append(FrameFinalized(end, number, final))
