"""The outer element of a `.slp`: `{U\\x03raw[$U#l` and the raw length, the events, `U\\x08metadata{...}`, `}`.

The raw length is 0 while the game runs and is written when it ends, after the metadata; some files keep the 0. Hence
the first 15 bytes are the only ones that may change, and the raw length can confirm where the events end but is not
needed.
"""

from __future__ import annotations

from typing import Literal

from slpstream.model.errors import WrongFormat

MAGIC = b"{U\x03raw[$U#l"
HEADER_BYTES = len(MAGIC) + 4
CLOSE = b"}"


def check_magic(data: bytes) -> None:
    """Raises `WrongFormat` as soon as a byte differs; `data` may be shorter than the header."""
    for offset, (seen, expected) in enumerate(zip(data, MAGIC, strict=False)):
        if seen != expected:
            raise WrongFormat("not a Slippi replay", offset=offset)


def raw_length(header: bytes) -> int:
    """The raw length in a complete header, 0 while it is not known. A negative one is as good as none."""
    return max(0, int.from_bytes(header[len(MAGIC) : HEADER_BYTES], "big", signed=True))


def header(raw_length_bytes: int) -> bytes:
    """The 15 bytes of the header."""
    return MAGIC + raw_length_bytes.to_bytes(4, "big")


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """`yes` for the whole magic, `maybe` for the beginning of it: a file can just have been begun. Never raises."""
    if head.startswith(MAGIC):
        return "yes"
    return "maybe" if MAGIC.startswith(head) else "no"
