"""Whether some first bytes can be a ghost's."""

from __future__ import annotations

from typing import Literal

from slpstream.formats.mk8.header import BODY_MAGIC, FOREIGN_MAGICS, OUTER_MAGIC

SUFFIX = ".dat"


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """`yes` for a ghost, and for what the reader refuses by name: MKTV replays, Deluxe ghosts. Never raises.

    Size and name say nothing: other files are called `.dat`, and the pattern of the name alone is not enough.
    """
    known = head.startswith((BODY_MAGIC, OUTER_MAGIC, *FOREIGN_MAGICS))
    return "yes" if known else "no"
