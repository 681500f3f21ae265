"""The bytes that a block stands for, by its kind."""

from __future__ import annotations

from slpstream.formats.slplog.container import Kind
from slpstream.formats.slplog.frames import decode_block, expand
from slpstream.formats.slplog.recorded import decode_pads
from slpstream.formats.slplog.stripes import decode_stripes
from slpstream.model.errors import FieldError

MAX_BYTES = 1 << 20
"""What a block stands for at most."""


def _decode_raw(payload: bytes, source_bytes: int) -> bytes:
    data = expand(payload, source_bytes)
    if len(data) != source_bytes:
        raise FieldError(f"{len(data)} bytes, where {source_bytes} should be", offset=0)
    return data


_DECODERS = {
    Kind.RAW: _decode_raw,
    Kind.FRAMES: decode_block,
    Kind.STRIPES: decode_stripes,
    Kind.PADS: decode_pads,
}


def decode(kind: int, payload: bytes, source_bytes: int) -> bytes:
    """What a block of a source kind stands for, `source_bytes` long. Raises `FieldError`; its offset is not that of
    the log."""
    decoder = _DECODERS.get(Kind(kind))
    if decoder is None or source_bytes > MAX_BYTES:
        raise FieldError(f"a block of kind {kind} for {source_bytes} bytes", offset=0)
    return decoder(payload, source_bytes)
