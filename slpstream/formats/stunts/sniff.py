"""Recognise a Stunts replay by the first bytes, the length and the name of its file."""

from __future__ import annotations

from typing import Literal

from slpstream.formats.stunts.layout import MAX_BYTES, MIN_BYTES, fitting, plausible

SUFFIX = ".rpl"
_HEAD_BYTES = 0x500


def has_suffix(name: str) -> bool:
    """Return whether the file name has the suffix of replays."""
    return name.lower().endswith(SUFFIX)


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """Return `yes` when both the name and the length are those of a replay, `maybe` when one of them is.

    There is no magic number, so the answer is never `yes` without the size. Never raises.
    """
    head = head[:_HEAD_BYTES]
    suffix_fits = has_suffix(name)
    if size_bytes is None:
        return "maybe" if suffix_fits else "no"
    layouts = fitting(head, size_bytes) if MIN_BYTES <= size_bytes <= MAX_BYTES else []
    if suffix_fits:
        return "yes" if layouts else "maybe"
    return "maybe" if layouts and plausible(head, layouts[0]) else "no"
