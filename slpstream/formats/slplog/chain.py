"""A log as a chain of hashes: what was said is remembered without keeping it, and a later reading of the same game is
held against it, message by message.

Each link is the hash of the one before and of the message's line, so two logs are equal up to a place exactly when
their links there are. A link takes 8 bytes: a game of eight minutes, with all its messages, half a megabyte.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from typing import NamedTuple

_LINK_BYTES = 8


class Chain:
    """The links of one log. `add` its lines in order."""

    def __init__(self) -> None:
        self._links = array("Q")
        self._last = b""

    def __len__(self) -> int:
        """How many messages."""
        return len(self._links)

    def add(self, line: bytes) -> None:
        """The next message, as its line without `station`."""
        self._last = link(self._last, line)
        self._links.append(int.from_bytes(self._last, "big"))

    def holds(self, place: int, given: bytes) -> bool:
        """Whether the link of the message `place` (from 0) is this one."""
        return place < len(self._links) and self._links[place].to_bytes(_LINK_BYTES, "big") == given


def link(before: bytes, line: bytes) -> bytes:
    """The link of a line behind another link."""
    return hashlib.blake2b(line, digest_size=_LINK_BYTES, key=before).digest()


class Divergence(NamedTuple):
    """Where a second reading says something else."""

    place: int
    """Which message, from 0 on."""
    line: bytes
    """What the second reading says there; empty when it has no more."""


class ReplayedLog:
    """A second reading of a game, held against the chain of the first. Feed its lines in order, then `finish`."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._last = b""
        self.count = 0
        self.divergence: Divergence | None = None
        """The first difference, when there is one."""

    def feed(self, lines: Iterable[bytes]) -> None:
        """The next lines."""
        for line in lines:
            if self.divergence is not None:
                return
            self._last = link(self._last, line)
            if not self._chain.holds(self.count, self._last):
                self.divergence = Divergence(self.count, line)
                return
            self.count += 1

    def finish(self) -> None:
        """There are no more lines."""
        if self.divergence is None and self.count != len(self._chain):
            self.divergence = Divergence(self.count, b"")
