"""The diagnostics of one file.

There is a limit for their number, so that a hostile file can't flood its subscribers.
"""

from __future__ import annotations

from typing import Self

from slpstream.model.events import Diagnostic, Event, Severity

DIAGNOSTICS_PER_CODE = 16


class DiagnosticLimiter:
    """Reports the diagnostics of one game, but at most `DIAGNOSTICS_PER_CODE` for each code."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def copy(self) -> Self:
        """Return a copy that has the same counts, but is independent from now on."""
        twin = type(self)()
        twin._counts = dict(self._counts)
        return twin

    def report(self, out: list[Event], severity: Severity, code: str, message: str, offset: int, end: int) -> None:
        """Append a diagnostic about the byte at the file offset `offset` to `out`. If its code has reached the limit,
        this does nothing.

        `end` is the offset in the file up to which we needed the bytes to notice the problem.
        """
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if count > DIAGNOSTICS_PER_CODE:
            return
        if count == DIAGNOSTICS_PER_CODE:
            message += "; further ones of this kind are not reported"
        out.append(Diagnostic(max(end, offset), severity, code, offset, message))
