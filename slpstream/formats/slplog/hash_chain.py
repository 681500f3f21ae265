"""A chain of hashes over the messages of a log, with which a later replay of the same game is compared.

Each link is a hash of the previous link and of the message's line, so two logs are equal up to a message exactly when
their links for it are equal. A link takes 8 bytes: half a megabyte for all messages of a game of eight minutes.
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
        """The number of messages."""
        return len(self._links)

    def add(self, line: bytes) -> None:
        """Append a message, given as its line without `station`."""
        self._last = next_link(self._last, line)
        self._links.append(int.from_bytes(self._last, "big"))

    def matches(self, index: int, link: bytes) -> bool:
        """Return whether the message `index`, counted from 0, has this link."""
        return index < len(self._links) and self._links[index].to_bytes(_LINK_BYTES, "big") == link


def next_link(previous: bytes, line: bytes) -> bytes:
    """Return the link of a line that follows the link `previous`, empty for the first line."""
    return hashlib.blake2b(line, digest_size=_LINK_BYTES, key=previous).digest()


class Divergence(NamedTuple):
    """The first message of a replayed log that differs."""

    message_index: int
    """Index of the message, counted from 0."""
    line: bytes
    """Its line in the replayed log; empty when that log has ended."""


class ReplayedLog:
    """Compares the log of a replayed game with the chain of the original log.

    Feed its lines in order, then call `finish`.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._last = b""
        self.count = 0
        self.divergence: Divergence | None = None
        """The first difference; `None` while there is no difference."""

    def feed(self, lines: Iterable[bytes]) -> None:
        """Compare the next lines."""
        for line in lines:
            if self.divergence is not None:
                return
            self._last = next_link(self._last, line)
            if not self._chain.matches(self.count, self._last):
                self.divergence = Divergence(self.count, line)
                return
            self.count += 1

    def finish(self) -> None:
        """Note that the log has no more lines, which is a difference if the original has more."""
        if self.divergence is None and self.count != len(self._chain):
            self.divergence = Divergence(self.count, b"")
