"""The state of the connection to a bracket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import trio

from slpstream.parts.bracket.interface import Refusal, Refused
from slpstream.system.backoff import backoff_seconds
from slpstream.system.logs import get_logger

PAUSING: Final[frozenset[Refusal]] = frozenset({"unavailable", "slow_down", "forbidden"})
"""Refusals that concern every request, not only the one that was refused."""
_FIRST_PAUSE_SECONDS: Final[Mapping[Refusal, float]] = {"slow_down": 20.0, "forbidden": 60.0}
_WORDS: Final[Mapping[Refusal, str]] = {
    "unavailable": "does not answer",
    "slow_down": "asks for fewer requests",
    "forbidden": "refuses the token",
}


class Link:
    """Knows whether a bracket answers and, if it has refused a request, how long we should wait before we send any
    others.
    """

    def __init__(self, bracket: str, waiting: Callable[[], int]) -> None:
        """`bracket` is the name of the bracket in the log. `waiting` returns how many entries are pending."""
        self._bracket = bracket
        self._waiting = waiting
        self._failures = 0
        self._log = get_logger()
        self.paused_until = float("-inf")
        """When requests resume, on trio's clock."""
        self.trouble: str | None = None
        """Why the bracket cannot be reached or used, or `None` while it can."""
        self.connected = False
        """Whether the last request was answered."""
        self.checked = ""
        """The outcome of the check of the token, or empty before the check."""

    def passed_check(self, outcome: str, *, dry_run: bool) -> None:
        """Note what came out when we checked the token."""
        self.checked = outcome
        self._log.info("bracket connected", bracket=self._bracket, what=outcome, dry_run=dry_run)

    def failed(self, refusal: Refused) -> None:
        """Stop sending requests for a while, because the bracket doesn't answer, or refuses everything."""
        self._failures += 1
        pause_seconds = backoff_seconds(self._failures, _FIRST_PAUSE_SECONDS.get(refusal.kind, 1.0))
        self.paused_until = trio.current_time() + max(pause_seconds, refusal.retry_after_seconds)
        trouble = f"{_WORDS.get(refusal.kind, 'does not answer as expected')}: {refusal.what}"
        if trouble != self.trouble:
            waiting = self._waiting()
            self._log.warning("bracket: reports wait", bracket=self._bracket, what=trouble, waiting=waiting)
        self.trouble, self.connected = trouble, False

    def worked(self) -> None:
        """Note that we got an answer to a request."""
        if self.trouble is not None:
            self._log.info("bracket answers again", bracket=self._bracket, waiting=self._waiting())
        self._failures, self.trouble, self.connected = 0, None, True
