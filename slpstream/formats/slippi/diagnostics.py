"""Diagnostics of one file, limited in number so that a hostile file cannot flood its subscribers."""

from __future__ import annotations

from typing import Self

from slpstream.model.events import Diagnostic, Event, Severity

DIAGNOSTICS_PER_CODE = 16


class DiagnosticLimiter:
    """Reports the diagnostics of one game, at most `DIAGNOSTICS_PER_CODE` of each code."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def copy(self) -> Self:
        """An independent copy with the same counts."""
        twin = type(self)()
        twin._counts = dict(self._counts)
        return twin

    def report(self, out: list[Event], severity: Severity, code: str, message: str, offset: int, end: int) -> None:
        """Append a diagnostic about the byte at file offset `offset` to `out`, unless its code has reached the limit.

        `end` is the file offset up to which bytes were needed.
        """
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if count > DIAGNOSTICS_PER_CODE:
            return
        if count == DIAGNOSTICS_PER_CODE:
            message += "; further ones of this kind are not reported"
        out.append(Diagnostic(max(end, offset), severity, code, offset, message))
