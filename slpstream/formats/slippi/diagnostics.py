"""What is odd in one file, said so often and no more: a hostile file must not flood its readers."""

from __future__ import annotations

from typing import Self

from slpstream.model.events import Diagnostic, Event, Severity

DIAGNOSTICS_PER_CODE = 16


class DiagnosticLimiter:
    """Says what is odd in one game; those who read its events share it."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def copy(self) -> Self:
        """Counts on from the same place by itself."""
        twin = type(self)()
        twin._counts = dict(self._counts)
        return twin

    def say(self, out: list[Event], severity: Severity, code: str, message: str, offset: int, end: int) -> None:
        """Appends the diagnostic of something at a file offset that is certain at `end`, unless there were enough of
        its code."""
        count = self._counts[code] = self._counts.get(code, 0) + 1
        if count > DIAGNOSTICS_PER_CODE:
            return
        if count == DIAGNOSTICS_PER_CODE:
            message += "; further ones of this kind are not reported"
        out.append(Diagnostic(max(end, offset), severity, code, offset, message))
