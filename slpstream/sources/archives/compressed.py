"""Compressed replays: `.slp.gz`, `.slp.zst`, `.slp.xz` and `.slpz`, decompressed into memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import BinaryIO

from slpstream.formats.slippi import container, slpz
from slpstream.sources.archives.names import REFUSED, is_compressed, is_slpz
from slpstream.sources.archives.streams import (
    MAX_MEMBER_BYTES,
    Budget,
    Decompressor,
    gzip_decompressor,
    read_whole,
    unpacked,
    unreadable,
    xz_decompressor,
    zstd_decompressor,
)

_DECOMPRESSORS: Mapping[bytes, Callable[[], Decompressor]] = {
    b"\x1f\x8b": gzip_decompressor,
    b"\x28\xb5\x2f\xfd": zstd_decompressor,
    b"\xfd7zXZ\0": xz_decompressor,
}
"""By the first bytes, because names are wrong more often."""
_SLIPPC = REFUSED[".zlp"]
_VERSION_OFFSET = 2
"""Of the version in the payload of Game Start; its fourth byte is the encoder's version in slippc's files, else 0."""
_XZ_SNIFFED_BYTES = 4096


def read_replay(name: str, stream: BinaryIO, size_bytes: int | None = None, budget: Budget | None = None) -> bytes:
    """The bytes of the replay in a file, which is decompressed if its name says that it is compressed.

    Raises `OSError` for a file that cannot be decompressed or is too large, and `FormatError` for a damaged `.slpz`.
    """
    if not is_compressed(name):
        return read_whole(stream, size_bytes)
    refusal = REFUSED.get(PurePath(name).suffix.lower())
    if refusal is not None:
        raise unreadable(refusal)
    if is_slpz(name):
        return slpz.unpack(read_whole(stream, size_bytes), _decompress_block, MAX_MEMBER_BYTES)
    head = stream.read(max(map(len, _DECOMPRESSORS)))
    for magic, new_decompressor in _DECOMPRESSORS.items():
        if head.startswith(magic):
            source: BinaryIO = io.BufferedReader(_Rest(head, stream))
            data = read_whole(unpacked(source, new_decompressor, budget=budget))
            if new_decompressor is xz_decompressor and _is_of_slippc(data):
                raise unreadable(_SLIPPC)
            return data
    raise unreadable("not compressed by gzip, zstd or xz, although its name says so")


def _decompress_block(frame: bytes, size_bytes: int) -> bytes:
    stream = unpacked(io.BytesIO(frame), zstd_decompressor)
    return stream.read(size_bytes + 1)


def _is_of_slippc(data: bytes) -> bool:
    """Whether an unpacked xz stream is slippc's re-encoded replay, which looks like a replay otherwise."""
    at = container.HEADER_BYTES
    if not data.startswith(container.MAGIC) or len(data) < at + 2:
        return False
    version = at + 1 + data[at + 1] + 1
    return len(data) > version + 3 and data[version + 3] != 0


class _Rest(io.RawIOBase):
    """A stream with bytes that were already read from it."""

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
