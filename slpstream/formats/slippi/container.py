r"""The outer element of a `.slp`, which looks like this: `{U\x03raw[$U#l`, the raw length, the events,
`U\x08metadata{...}`, `}`.

The raw length is the size of the events in bytes, as a big-endian int32. While the game is running, it is 0. The game
only sets it at the end, after it has written the metadata, and some files keep the 0 for ever. This means that only the
first 15 bytes of a file can ever change, and that a reader must be able to find the end of the events even without a
raw length.
"""

from __future__ import annotations

from typing import Literal

from slpstream.model.errors import WrongFormat

MAGIC = b"{U\x03raw[$U#l"
HEADER_BYTES = len(MAGIC) + 4
CLOSE = b"}"


def check_magic(data: bytes) -> None:
    """Raise `WrongFormat` if `data` doesn't begin like a replay. It doesn't have to contain the whole header."""
    for offset, (seen, expected) in enumerate(zip(data, MAGIC, strict=False)):
        if seen != expected:
            raise WrongFormat("not a Slippi replay", offset=offset)


def raw_length(header: bytes) -> int:
    """Return the raw length in a complete header. If it isn't set yet, or negative, you get 0."""
    return max(0, int.from_bytes(header[len(MAGIC) : HEADER_BYTES], "big", signed=True))


def is_finished(data: bytes) -> bool:
    """Whether `data` begins with a header in which the raw length is set. Some finished files keep the 0."""
    return data.startswith(MAGIC) and len(data) >= HEADER_BYTES and raw_length(data) > 0


def header(raw_length_bytes: int) -> bytes:
    """The header, 15 bytes."""
    return MAGIC + raw_length_bytes.to_bytes(4, "big")


def sniff(head: bytes, size_bytes: int | None, name: str) -> Literal["yes", "no", "maybe"]:
    """Return `yes` if the whole magic is there, or `maybe` if only its beginning is, as in a new file. Never raises."""
    if head.startswith(MAGIC):
        return "yes"
    return "maybe" if MAGIC.startswith(head) else "no"
