"""Write those parts of a `.slp` that are around its events: the header with the raw length, the metadata, and the
closing brace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slpstream.formats.slippi import container, metadata


class RawWriter:
    """Writes a `.slp` around events that already are bytes. These must include Event Payloads.

    Each method returns bytes that you should append to the file. First call `open`, then `raw` as often as you need,
    and finally `close`. After that, only the first 15 bytes still have to change: `header` returns them with the raw
    length, so that you can overwrite the ones from `open`. The game writes in the same order, which means that a reader
    might see a closed file whose raw length is still 0.
    """

    def __init__(self) -> None:
        self.raw_length_bytes = 0
        """Number of bytes passed to `raw` so far."""

    def open(self) -> bytes:
        """Return the header of a game that is in progress. Its raw length is 0."""
        return container.header(0)

    def raw(self, data: bytes) -> bytes:
        """Count bytes of the raw array and return them.

        You can pass pieces of any size, and they don't have to end with an event.
        """
        self.raw_length_bytes += len(data)
        return data

    def close(self, values: Mapping[str, Any] | None = None) -> bytes:
        """Return the metadata element and the closing brace. If `values` is `None`, you only get the brace."""
        element = b"" if values is None else metadata.MARKER + metadata.encode(dict(values))
        return element + container.CLOSE

    def header(self) -> bytes:
        """Return the 15 bytes of the header for the finished file. It contains the raw length."""
        return container.header(self.raw_length_bytes)
