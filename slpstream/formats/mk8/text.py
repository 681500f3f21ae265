"""Names in UTF-16: 10 units, cut at the first zero unit."""

from __future__ import annotations

from typing import Literal


def decode_name(raw: bytes, order: Literal["be", "le"]) -> str:
    """The text before the first zero unit.

    Only an aligned pair of zero bytes ends it: U+3000 and the like have a zero byte beside that of their neighbour.
    Lone surrogates, which the game allows, become U+FFFD.
    """
    units = [raw[at : at + 2] for at in range(0, len(raw) - 1, 2)]
    end = units.index(b"\0\0") if b"\0\0" in units else len(units)
    return b"".join(units[:end]).decode(f"utf-16-{order}", "replace")
