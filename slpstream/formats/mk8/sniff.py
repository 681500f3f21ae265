"""Recognise a ghost by the first bytes of its file."""

from __future__ import annotations

from typing import Literal

from slpstream.formats.mk8.header import BODY_MAGIC, FOREIGN_MAGICS, OUTER_MAGIC

SUFFIX = ".dat"


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """Return `yes` for a ghost, and for the related files that the reader rejects: MKTV replays and Deluxe ghosts.

    Size and name are not considered: other files are called `.dat` too, and a name that fits the pattern proves
    nothing. Never raises.
    """
    known = head.startswith((BODY_MAGIC, OUTER_MAGIC, *FOREIGN_MAGICS))
    return "yes" if known else "no"
