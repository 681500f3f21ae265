"""The names of players. They have 10 units of UTF-16, or fewer of them and then a zero unit."""

from __future__ import annotations

from typing import Literal


def decode_name(raw: bytes, order: Literal["be", "le"]) -> str:
    """Decode the text up to the first zero unit.

    Two zero bytes only end the text if they form one unit. For example, in U+3000 U+0042 they belong to two different
    ones. The game allows lone surrogates, which become U+FFFD.
    """
    units = [raw[index : index + 2] for index in range(0, len(raw) - 1, 2)]
    end = units.index(b"\0\0") if b"\0\0" in units else len(units)
    return b"".join(units[:end]).decode(f"utf-16-{order}", "replace")
