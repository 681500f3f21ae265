"""A chain of hashes over the messages of a log. If the same game is replayed later, you can compare it with this chain.

Each link is a hash of the previous link and of the message's line. So if two logs have the same link for a message,
they are equal up to this message. A link takes 8 bytes, which means that all messages of a game of eight minutes need
half a megabyte.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from typing import NamedTuple

_LINK_BYTES = 8


class Chain:
    """The links of one log. You have to `add` its lines in order."""

    def __init__(self) -> None:
        self._links = array("Q")
        self._last = b""

    def __len__(self) -> int:
        """The number of messages."""
        return len(self._links)

    def add(self, line: bytes) -> None:
        """Append a message. You have to pass its line without `station`."""
        self._last = next_link(self._last, line)
        self._links.append(int.from_bytes(self._last, "big"))

    def matches(self, index: int, link: bytes) -> bool:
        """Whether the message with this index (counted from 0) has this link."""
        return index < len(self._links) and self._links[index].to_bytes(_LINK_BYTES, "big") == link


def next_link(previous: bytes, line: bytes) -> bytes:
    """Return the link of a line that comes after the link `previous`. For the first line, this is empty."""
    return hashlib.blake2b(line, digest_size=_LINK_BYTES, key=previous).digest()


class Divergence(NamedTuple):
    """The first message of a replayed log that differs."""

    message_index: int
    """Index of the message, counted from 0."""
    line: bytes
    """Its line in the replayed log, or empty when that log has ended."""


class ReplayedLog:
    """Compares the log of a replayed game with the chain of the original log.

    You have to feed its lines in order, and then call `finish`.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._last = b""
        self.count = 0
        self.divergence: Divergence | None = None
        """The first difference, or `None` while there is no difference."""

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
        """Note that there are no more lines in the log. If the original has more, this is a difference."""
        if self.divergence is None and self.count != len(self._chain):
            self.divergence = Divergence(self.count, b"")
