"""The outer element of a `.slp`: `{U\\x03raw[$U#l`, the raw length, the events, `U\\x08metadata{...}`, `}`.

The raw length is the size of the events in bytes, a big-endian int32. It is 0 while the game runs. The game sets it at
the end, after the metadata, and some files keep the 0. So only the first 15 bytes of a file ever change, and the reader
finds the end of the events with or without a raw length.
"""

from __future__ import annotations

from typing import Literal

from slpstream.model.errors import WrongFormat

MAGIC = b"{U\x03raw[$U#l"
HEADER_BYTES = len(MAGIC) + 4
CLOSE = b"}"


def check_magic(data: bytes) -> None:
    """Raise `WrongFormat` if `data` does not begin like a replay. `data` may be shorter than the header."""
    for offset, (seen, expected) in enumerate(zip(data, MAGIC, strict=False)):
        if seen != expected:
            raise WrongFormat("not a Slippi replay", offset=offset)


def raw_length(header: bytes) -> int:
    """The raw length in a complete header; 0 while it is not set, and for a negative value."""
    return max(0, int.from_bytes(header[len(MAGIC) : HEADER_BYTES], "big", signed=True))


def is_finished(data: bytes) -> bool:
    """Whether `data` begins with a header whose raw length is set. Some finished files keep the 0."""
    return data.startswith(MAGIC) and len(data) >= HEADER_BYTES and raw_length(data) > 0


def header(raw_length_bytes: int) -> bytes:
    """The header, 15 bytes."""
    return MAGIC + raw_length_bytes.to_bytes(4, "big")


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """`yes` for the whole magic, `maybe` for its beginning, which a new file can have. Never raises."""
    if head.startswith(MAGIC):
        return "yes"
    return "maybe" if MAGIC.startswith(head) else "no"
