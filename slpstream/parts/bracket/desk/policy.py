"""How a desk should behave according to the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from slpstream.parts.bracket.matching import Rule
from slpstream.parts.bracket.queue import Rules


class Policy(NamedTuple):
    """The changes that a desk is allowed to make in the bracket without asking a person."""

    dry_run: bool = True
    """Nothing is changed in the bracket."""
    rules: Rules = Rules()
    match: Rule = "players"
    hold_seconds: float = 20.0
    """How long an unconfirmed result waits, so that it can be corrected."""
    poll_seconds: float = 15.0
    call: bool = False
    start: bool = False
    assign: bool = False
    stations: Mapping[str, str] = {}
    """Our stations by the number or name of the bracket's."""
    streams: Mapping[str, str] = {}
    """Our stations by the name of the stream that shows them."""

    def effective(self, *, reads: bool) -> Policy:
        """Return the policy with those rules that really apply.

        `reads` tells us whether it is possible to read the sets of the bracket.
        """
        rules = self.rules
        if self.dry_run:  # a result from a rehearsal is reported only after a person has confirmed it
            rules = rules._replace(confirm=True)
        if not reads:  # a receiver of results gets whole sets
            rules = rules._replace(games=False)
        return self._replace(rules=rules)
