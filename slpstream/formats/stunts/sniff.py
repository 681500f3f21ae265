"""Whether some first bytes can be a Stunts replay's."""

from __future__ import annotations

from typing import Literal

from slpstream.formats.stunts.layout import MAX_BYTES, MIN_BYTES, fitting, plausible

SUFFIX = ".rpl"
_HEAD_BYTES = 0x500


def has_suffix(name: str) -> bool:
    """The file name says that it is a replay."""
    return name.lower().endswith(SUFFIX)


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """`yes` when name and length agree, `maybe` when only one of them speaks for it. Never raises.

    There is no magic number, so without a size nothing is sure.
    """
    head = head[:_HEAD_BYTES]
    named = has_suffix(name)
    if size_bytes is None:
        return "maybe" if named else "no"
    layouts = fitting(head, size_bytes) if MIN_BYTES <= size_bytes <= MAX_BYTES else []
    if named:
        return "yes" if layouts else "maybe"
    return "maybe" if layouts and plausible(head, layouts[0]) else "no"
