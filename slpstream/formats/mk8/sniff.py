"""Recognise a ghost by the first bytes in its file."""

from __future__ import annotations

from typing import Literal

from slpstream.formats.mk8.header import BODY_MAGIC, FOREIGN_MAGICS, OUTER_MAGIC

SUFFIX = ".dat"


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """Return `yes` for a ghost, and also for some other files that the reader rejects with a good reason: MKTV replays
    and Deluxe ghosts.

    We don't look at the size and the name. There are other files called `.dat`, and even if a name fits the pattern,
    this doesn't prove anything. This never raises an error.
    """
    known = head.startswith((BODY_MAGIC, OUTER_MAGIC, *FOREIGN_MAGICS))
    return "yes" if known else "no"
