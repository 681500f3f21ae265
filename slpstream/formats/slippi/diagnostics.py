"""The diagnostics of one file. There is a limit for them, so that a hostile file can't flood its subscribers."""

from __future__ import annotations

from collections import Counter

from slpstream.model.events import Diagnostic, Event, Severity

DIAGNOSTICS_PER_CODE = 16


class DiagnosticLimiter:
    """Reports the diagnostics of one game, but at most `DIAGNOSTICS_PER_CODE` for each code."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def report(
        self, out: list[Event], code: str, message: str, offset: int, end: int = 0, severity: Severity = "warning"
    ) -> None:
        """Append a diagnostic about the byte at the file offset `offset` to `out`. If its code has reached the limit,
        this does nothing.

        `end` is the offset in the file up to which we needed the bytes to notice the problem, if that is further on.
        """
        self._counts[code] += 1
        if self._counts[code] == DIAGNOSTICS_PER_CODE:
            message += "; further ones of this kind are not reported"
        if self._counts[code] <= DIAGNOSTICS_PER_CODE:
            out.append(Diagnostic(max(end, offset), severity, code, offset, message))
