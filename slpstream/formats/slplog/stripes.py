"""Events that all have the same width, and whose middle parts belong together.

We need this because the Message Splitter cuts the list of Gecko codes into pieces of 512 bytes. If we join them again,
they compress better. All other bytes are stored column by column.
"""

from __future__ import annotations

from slpstream.formats.slplog.bits import MemoryStream
from slpstream.formats.slplog.frames import compress, decompress
from slpstream.model.errors import FieldError

_MAX_WIDTH = 0x10000


def encode_stripes(data: bytes, width: int, start: int, stop: int) -> bytes:
    """Encode rows of `width` bytes.

    In each row, the part from `start` to `stop - 1` belongs together with those of the others.
    """
    rows = [data[offset : offset + width] for offset in range(0, len(data), width)]
    joined = b"".join(row[start:stop] for row in rows)
    others = b"".join(data[column::width] for column in (*range(start), *range(stop, width)))
    stream = MemoryStream()
    for number in (width, start, stop):
        stream.write_number(number)
    return stream.to_bytes() + compress(joined + others)


def decode_stripes(payload: bytes, source_bytes: int) -> bytes:
    """The inverse of `encode_stripes`. Raises `FieldError`."""
    stream = MemoryStream(payload)
    width, start, stop = (stream.read_number(_MAX_WIDTH) for _ in range(3))
    if not width or not start <= stop <= width or source_bytes % width:
        raise FieldError("the stripes do not fit the rows", offset=0)
    data = decompress(stream.read_raw(stream.left), source_bytes)
    if len(data) != source_bytes:
        raise FieldError(f"expected {source_bytes} bytes of stripes, got {len(data)}", offset=0)
    count, middle = source_bytes // width, stop - start
    found = bytearray(source_bytes)
    for row in range(count):
        found[row * width + start : row * width + stop] = data[row * middle : (row + 1) * middle]
    at = count * middle
    for column in (*range(start), *range(stop, width)):
        found[column::width] = data[at : at + count]
        at += count
    return bytes(found)
