"""Compressed replays (`.slp.gz`, `.slp.zst`, `.slp.xz` and `.slpz`), which are decompressed into memory."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from functools import partial
from pathlib import PurePath
from typing import BinaryIO

from slpstream.formats.slippi import container
from slpstream.parts.archives import slpz
from slpstream.parts.archives.streams import (
    Budget,
    NewDecompressor,
    gzip_decompressor,
    read_whole,
    unpacked,
    unreadable,
    window_bytes,
    xz_decompressor,
    zstd_decompressor,
)
from slpstream.sources.packed_names import REFUSED, is_compressed, is_slpz

_DECOMPRESSORS: Mapping[bytes, NewDecompressor] = {
    b"\x1f\x8b": gzip_decompressor,
    b"\x28\xb5\x2f\xfd": zstd_decompressor,
    b"\xfd7zXZ\0": xz_decompressor,
    **{struct.pack("<L", 0x184D2A50 + number): zstd_decompressor for number in range(16)},
}
"""Decompressors by first bytes, since the names of files are less reliable. `pzstd` begins with a zstd frame that
decoders skip."""
_SLIPPC = REFUSED[".zlp"]
_VERSION_OFFSET = 2
"""Offset of the version in the payload of Game Start. Its fourth byte is the encoder's version in slippc's files, else
0."""
_XZ_SNIFFED_BYTES = 4096


def read_replay(name: str, stream: BinaryIO, size_bytes: int | None = None, budget: Budget | None = None) -> bytes:
    """Return the bytes of the replay in a file. If the name belongs to a compressed replay, it is decompressed first.

    Raises `OSError` if the file is too large or can't be decompressed, and `FormatError` if a `.slpz` is damaged.
    """
    budget = Budget(size_bytes or 0) if budget is None else budget
    if not is_compressed(name):
        return read_whole(stream, size_bytes, budget.max_member_bytes)
    refusal = REFUSED.get(PurePath(name).suffix.lower())
    if refusal is not None:
        raise unreadable(refusal)
    if is_slpz(name):
        max_bytes = budget.max_member_bytes * 2 // 3  # they are in memory in several forms
        packed = read_whole(stream, size_bytes, max_bytes // 2)
        return slpz.unpack(packed, partial(_decompress_block, budget), max_bytes)
    head = stream.read(max(map(len, _DECOMPRESSORS)))
    for magic, new_decompressor in _DECOMPRESSORS.items():
        if head.startswith(magic):
            source: BinaryIO = io.BufferedReader(_Rest(head, stream))
            max_bytes = budget.inside(window_bytes(new_decompressor, budget)).max_member_bytes
            data = read_whole(unpacked(source, new_decompressor, budget), max_bytes=max_bytes)
            if new_decompressor is xz_decompressor and _is_of_slippc(data):
                raise unreadable(_SLIPPC)
            return data
    raise unreadable("not compressed by gzip, zstd or xz, although it has such a name")


def _decompress_block(budget: Budget, frame: bytes, size_bytes: int) -> bytes:
    stream = unpacked(io.BytesIO(frame), zstd_decompressor, budget.inside(3 * budget.max_member_bytes // 2))
    return stream.read(size_bytes + 1)


def _is_of_slippc(data: bytes) -> bool:
    """Whether the content of an xz stream was re-encoded by slippc.

    We have to check this, because otherwise it looks like a replay.
    """
    at = container.HEADER_BYTES
    if not data.startswith(container.MAGIC) or len(data) < at + 2:
        return False
    version = at + 1 + data[at + 1] + 1
    return len(data) > version + 3 and data[version + 3] != 0


class _Rest(io.RawIOBase):
    """A stream that begins with bytes that were already read from it."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self._head[: len(view)] or self._stream.read(len(view))
        self._head = self._head[len(view) :]
        view[: len(data)] = data
        return len(data)
