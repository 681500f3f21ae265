"""Events of one width whose middle belongs together: the Message Splitter cuts the list of Gecko codes into pieces of
512 bytes, and a compressor finds more when they are joined again."""

from __future__ import annotations

from slpstream.formats.slplog.bits import MemoryStream
from slpstream.formats.slplog.frames import expand, squeeze
from slpstream.model.errors import FieldError

_WIDEST = 0x10000


def encode_stripes(data: bytes, width: int, start: int, stop: int) -> bytes:
    """`data` is rows of `width` bytes, of which `start` to `stop - 1` belong together."""
    rows = [data[at : at + width] for at in range(0, len(data), width)]
    joined = b"".join(row[start:stop] for row in rows)
    others = b"".join(data[at::width] for at in (*range(start), *range(stop, width)))
    stream = MemoryStream()
    for number in (width, start, stop):
        stream.write_number(number)
    return stream.to_bytes() + squeeze(joined + others)


def decode_stripes(payload: bytes, source_bytes: int) -> bytes:
    """The mirror of `encode_stripes`. Raises `FieldError`."""
    stream = MemoryStream(payload)
    width, start, stop = (stream.read_number(_WIDEST) for _ in range(3))
    if not width or not start <= stop <= width or source_bytes % width:
        raise FieldError("the stripes do not fit the rows", offset=0)
    data = expand(stream.read_raw(stream.left), source_bytes)
    if len(data) != source_bytes:
        raise FieldError(f"{len(data)} bytes of stripes, where {source_bytes} should be", offset=0)
    count, middle = source_bytes // width, stop - start
    found = bytearray(source_bytes)
    for row in range(count):
        found[row * width + start : row * width + stop] = data[row * middle : (row + 1) * middle]
    at = count * middle
    for place in (*range(start), *range(stop, width)):
        found[place::width] = data[at : at + count]
        at += count
    return bytes(found)
