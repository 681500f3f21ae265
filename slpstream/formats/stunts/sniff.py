"""Recognise a Stunts replay by the first bytes, length and name of its file."""

from __future__ import annotations

from typing import Literal

from slpstream.formats.stunts.layout import MAX_BYTES, MIN_BYTES, fitting, plausible

SUFFIX = ".rpl"
_HEAD_BYTES = 0x500


def has_suffix(name: str) -> bool:
    """Return whether the file name has the suffix of replays."""
    return name.lower().endswith(SUFFIX)


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """Return `yes` if both the name and the length are those of a replay, and `maybe` if only one of them is.

    Since there is no magic number, the answer can't be `yes` if we don't know the size. This never raises an error.
    """
    head = head[:_HEAD_BYTES]
    suffix_fits = has_suffix(name)
    if size_bytes is None:
        return "maybe" if suffix_fits else "no"
    layouts = fitting(head, size_bytes) if MIN_BYTES <= size_bytes <= MAX_BYTES else []
    if suffix_fits:
        return "yes" if layouts else "maybe"
    return "maybe" if layouts and plausible(head, layouts[0]) else "no"
