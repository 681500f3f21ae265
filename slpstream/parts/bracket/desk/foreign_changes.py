"""Those sets of the bracket that someone else has changed."""

from __future__ import annotations

from typing import Final

from slpstream.parts.bracket.desk.entries import Key
from slpstream.parts.bracket.interface import BracketSet
from slpstream.parts.bracket.queue import State

REREAD: Final = frozenset({State.FOLLOWING, State.CONFIRM, State.CONFLICT, State.ASK})
"""States of entries whose set is read again after others have changed it."""


class ForeignChanges:
    """Those entries whose set we have to read again, and those changes that we have already read."""

    def __init__(self) -> None:
        self.unread: set[Key] = set()
        """Entries whose set was changed by others and has not been read since."""
        self.missing: set[str] = set()
        """Ids of sets that are no longer in the bracket."""
        self._noted: dict[str, int] = {}
        """The last noted change of each set with a result."""

    def is_new(self, found: BracketSet) -> bool:
        """Whether a set that has a result was changed since we have noted it."""
        return self._noted.get(found.id) != found.updated_at

    def note(self, found: BracketSet) -> None:
        """Note in which version we have seen a set that has a result."""
        self._noted[found.id] = found.updated_at
