"""Decode the payloads of blocks. There is one decoder for each kind of block."""

from __future__ import annotations

from slpstream.formats.slplog.container import Kind
from slpstream.formats.slplog.frames import decode_block, decompress
from slpstream.formats.slplog.inputs import decode_pads
from slpstream.formats.slplog.stripes import decode_stripes
from slpstream.model.errors import FieldError

MAX_BYTES = 1 << 20
"""Maximum size of the part of a replay in one block."""


def _decode_raw(payload: bytes, source_bytes: int) -> bytes:
    data = decompress(payload, source_bytes)
    if len(data) != source_bytes:
        raise FieldError(f"expected {source_bytes} bytes, got {len(data)}", offset=0)
    return data


_DECODERS = {
    Kind.RAW: _decode_raw,
    Kind.FRAMES: decode_block,
    Kind.STRIPES: decode_stripes,
    Kind.PADS: decode_pads,
}


def decode(kind: int, payload: bytes, source_bytes: int) -> bytes:
    """Return that part of the replay which is in a block. It has `source_bytes` bytes.

    Raises `FieldError` if the payload is damaged. Note that its offset doesn't refer to the log.
    """
    decoder = _DECODERS.get(Kind(kind))
    if decoder is None or source_bytes > MAX_BYTES:
        raise FieldError(f"invalid block of kind {kind} for {source_bytes} bytes", offset=0)
    return decoder(payload, source_bytes)
