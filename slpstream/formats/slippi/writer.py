"""The parts of a `.slp` around its events: the header with the raw length, the metadata element, the closing brace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slpstream.formats.slippi import container, metadata


class RawWriter:
    """Writes a `.slp` around events that already are bytes, Event Payloads included.

    Each method returns bytes to append to the file: call `open`, `raw` as often as needed, then `close`. Only the first
    15 bytes change afterwards: `header` returns them with the raw length, to overwrite the ones from `open`. The game
    writes in the same order, so a reader may see a closed file whose raw length is still 0.
    """

    def __init__(self) -> None:
        self.raw_length_bytes = 0
        """Number of bytes passed to `raw` so far."""

    def open(self) -> bytes:
        """Return the header of a game in progress, with raw length 0."""
        return container.header(0)

    def raw(self, data: bytes) -> bytes:
        """Count bytes of the raw array and return them. Pieces can be of any size and need not end with an event."""
        self.raw_length_bytes += len(data)
        return data

    def close(self, values: Mapping[str, Any] | None = None) -> bytes:
        """Return the metadata element, unless `values` is `None`, and the closing brace."""
        element = b"" if values is None else metadata.MARKER + metadata.encode(dict(values))
        return element + container.CLOSE

    def header(self) -> bytes:
        """Return the 15 bytes of the finished file's header, with the raw length."""
        return container.header(self.raw_length_bytes)
