"""Streams of unpacked bytes, with limits that do not depend on the sizes in the archive.

All errors are `OSError`s with one line of text, as for an unreadable file on disk.
"""

from __future__ import annotations

import contextlib
import errno
import io
import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO, Protocol

MAX_MEMBER_BYTES = 48 << 20
"""Size limit of a replay in an archive. A game of eight minutes with four players has less than half of it."""
MAX_WINDOW_BYTES = 64 << 20
"""Limit for a decompressor's window, the memory that holds its recent output. The strongest usual settings need this
much."""
_MEMORY_BYTES = 128 << 20
"""Limit for the memory that unpacking uses at a time: windows, nested archives, and two replays, one of which is
kept."""
_CHUNK_BYTES = 64 * 1024
_MAX_RATIO = 200
_SPARED_BYTES = 256 << 20
MAX_FILE_BYTES = (1 << 63) - 1
"""Limit for offsets in a file. A header that claims more is damaged."""


class Decompressor(Protocol):
    """Decompresses one stream, like `lzma.LZMADecompressor`."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether further input is needed for more output."""

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the stream."""

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Decompress further bytes, at most `max_length`. The rest of `data` is kept for the next call."""


def unreadable(text: str) -> OSError:
    """The error for bytes that cannot be unpacked."""
    return OSError(errno.EIO, text)


def too_large(text: str) -> OSError:
    """The error for bytes that are not unpacked because of a limit."""
    return OSError(errno.EFBIG, text)


class Budget:
    """Budget for unpacking an archive: unpacked bytes in total, depending on the archive's size, and memory at a time.
    Replays compress to a tenth, bombs to a thousandth.
    """

    __slots__ = ("_memory_bytes", "_outer", "_unpacked_bytes")

    def __init__(self, packed_bytes: int) -> None:
        self._unpacked_bytes = _SPARED_BYTES + _MAX_RATIO * packed_bytes
        """Number of further bytes that may be unpacked."""
        self._memory_bytes = _MEMORY_BYTES
        self._outer: Budget | None = None

    def inside(self, memory_bytes: int) -> Budget:
        """The same budget with less memory, for the contents of a nested archive."""
        found = Budget(0)
        found._memory_bytes = self._memory_bytes - memory_bytes
        found._outer = self
        return found

    def take(self, size_bytes: int) -> None:
        """Count unpacked bytes. Raises `OSError` if there are too many."""
        if self._outer is not None:
            self._outer.take(size_bytes)
            return
        self._unpacked_bytes -= size_bytes
        if self._unpacked_bytes < 0:
            raise too_large(f"it unpacks to more than {_MAX_RATIO} times its size")

    @property
    def spent(self) -> bool:
        """Whether too many bytes were unpacked."""
        return self._unpacked_bytes < 0 if self._outer is None else self._outer.spent

    @property
    def max_window_bytes(self) -> int:
        """Limit for a decompressor's window, a power of two."""
        return min(MAX_WINDOW_BYTES, 1 << (self._memory_bytes // 2).bit_length() - 1)

    @property
    def max_member_bytes(self) -> int:
        """Size limit of a replay."""
        return min(MAX_MEMBER_BYTES, self._memory_bytes // 2)


class Inflate:
    """Decompresses zlib streams, with the interface of the other decompressors."""

    def __init__(self, window_bits: int) -> None:
        self._object = inflating_module().decompressobj(window_bits)
        self._tail = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        eof: bool = self._object.eof
        return eof

    @property
    def unused_data(self) -> bytes:
        """The bytes after the end of the stream."""
        unused: bytes = self._object.unused_data
        return unused

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Decompress further bytes."""
        found: bytes = self._object.decompress(self._tail + data, max_length)
        self._tail = self._object.unconsumed_tail
        self.needs_input = not self._tail and len(found) < max_length
        return found


NewDecompressor = Callable[[int], Decompressor]
"""Creates a decompressor. The argument limits its window."""


def gzip_decompressor(_max_window_bytes: int) -> Decompressor:
    """A decompressor for one gzip member."""
    return Inflate(16 + zlib.MAX_WBITS)


def deflate_decompressor(_max_window_bytes: int) -> Decompressor:
    """A decompressor for deflated bytes without a header."""
    return Inflate(-zlib.MAX_WBITS)


def xz_decompressor(max_window_bytes: int) -> Decompressor:
    """A decompressor for one xz stream."""
    import lzma  # noqa: PLC0415 -- loaded only for such a file

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=max_window_bytes + (2 << 20))


def zstd_decompressor(max_window_bytes: int) -> Decompressor:
    """A decompressor for one zstd frame. Raises `OSError` where zstd is not installed."""
    zstd = zstd_module()
    options = {zstd.DecompressionParameter.window_log_max: max_window_bytes.bit_length() - 1}
    found: Decompressor = zstd.ZstdDecompressor(options=options)
    return found


def window_bytes(new_decompressor: NewDecompressor, budget: Budget) -> int:
    """The memory to count for a decompressor, since its use is unknown in advance."""
    return budget.max_window_bytes if new_decompressor in (xz_decompressor, zstd_decompressor) else 0


@cache
def inflating_module() -> Any:
    """The module of zlib-ng, which inflates three times as fast, or zlib where it is not installed."""
    try:
        return import_module("zlib_ng.zlib_ng")
    except ImportError:
        return zlib


def zstd_module() -> Any:
    """The standard library's module for zstd, or its backport before Python 3.14. Raises `OSError` without it."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise unreadable("reading zstd needs an extra: pip install 'slpstream[archives]'")


def _damage() -> tuple[type[Exception], ...]:
    """The exceptions of decompressors for damaged bytes."""
    import lzma  # noqa: PLC0415 -- see above

    found: list[type[Exception]] = [inflating_module().error, lzma.LZMAError, EOFError, ValueError]
    with contextlib.suppress(OSError):
        found.append(zstd_module().ZstdError)
    return tuple(found)


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a compressed stream. With `repeated`, several consecutive streams count as one."""

    def __init__(
        self, source: BinaryIO, new_decompressor: NewDecompressor, budget: Budget, *, repeated: bool = True
    ) -> None:
        self._source = source
        self._new = new_decompressor
        self._budget = budget
        self._repeated = repeated
        self._decompressor: Decompressor | None = None
        self._next = b""
        self._ended = False
        """Whether a stream has ended, so that zeros may follow."""

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack further bytes. Raises `OSError`."""
        view = memoryview(buffer).cast("B")
        try:
            found = self._read(min(len(view), _CHUNK_BYTES))
        except _damage() as error:
            raise unreadable(_damage_text(error, self._budget)) from error
        self._budget.take(len(found))
        view[: len(found)] = found
        return len(found)

    def _read(self, max_bytes: int) -> bytes:
        while True:
            if self._decompressor is None:
                data = self._next or self._source.read(_CHUNK_BYTES)
                self._next = b""
                if not data:
                    return b""
                if self._ended:
                    data = data.lstrip(b"\0")
                    if not data:
                        continue
                self._decompressor = self._new(self._budget.max_window_bytes)
            else:
                data = b""
                if self._decompressor.needs_input and not self._decompressor.eof:
                    data = self._source.read(_CHUNK_BYTES)
                    if not data:
                        raise unreadable("the compressed data end early")
            found = self._decompressor.decompress(data, max_bytes)
            if self._decompressor.eof:
                self._next = self._decompressor.unused_data if self._repeated else b""
                self._source = self._source if self._repeated else io.BytesIO()
                self._ended = True
                self._decompressor = None
            if found:
                return found


def _damage_text(error: Exception, budget: Budget) -> str:
    if "memory" in str(error).lower() or "Frame requires too much" in str(error):
        return f"unpacking it takes more than {budget.max_window_bytes >> 20} MiB of memory"
    return "the compressed data are damaged"


def unpacked(source: BinaryIO, new_decompressor: NewDecompressor, budget: Budget, *, repeated: bool = True) -> BinaryIO:
    """The unpacked bytes of a compressed stream, as a file that can be read in pieces of any size."""
    raw = Unpacked(source, new_decompressor, budget, repeated=repeated)
    return io.BufferedReader(raw, _CHUNK_BYTES)


class Part(io.RawIOBase):
    """The next `size_bytes` of a stream, as a separate file, which supports seeking if `seekable`.

    `crc32` is the checksum of these bytes, if known; it is checked at the end. Raises `OSError` for an impossible
    offset or size.
    """

    def __init__(
        self, source: BinaryIO, size_bytes: int, *, start: int | None = None, crc32: int | None = None
    ) -> None:
        if (start or 0) + size_bytes > MAX_FILE_BYTES:
            raise unreadable("the archive is damaged: it claims a size that no file has")
        self._source = source
        self._size_bytes = size_bytes
        self._start = start
        self._at = 0
        self._crc32 = crc32
        self._seen_crc32 = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """Whether the archive itself supports seeking."""
        return self._start is not None

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek to another offset. This disables the checksum."""
        if self._start is None:
            raise io.UnsupportedOperation("seek")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size_bytes}[whence]
        self._at = max(0, min(base + offset, self._size_bytes))
        self._crc32 = None
        return self._at

    def tell(self) -> int:
        """The number of bytes read."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read further bytes. Raises `OSError`."""
        view = memoryview(buffer).cast("B")
        if self._start is not None:
            self._source.seek(self._start + self._at)
        data = self._source.read(min(len(view), self._size_bytes - self._at, _CHUNK_BYTES))
        if not data and self._at < self._size_bytes and len(view):
            raise unreadable("the archive ends in it")
        self._at += len(data)
        if self._crc32 is not None:
            self._seen_crc32 = zlib.crc32(data, self._seen_crc32)
            if self._at == self._size_bytes and self._seen_crc32 != self._crc32:
                raise unreadable("it is damaged: the checksum is wrong")
        view[: len(data)] = data
        return len(data)


def read_whole(stream: BinaryIO, size_bytes: int | None = None, max_bytes: int = MAX_MEMBER_BYTES) -> bytes:
    """Read a stream to its end. Raises `OSError` if it is longer than `max_bytes`, or claims to be."""
    reason = "more than any replay has" if max_bytes == MAX_MEMBER_BYTES else "more than there is memory for"
    if size_bytes is not None and size_bytes > max_bytes:
        raise too_large(f"{size_bytes:,} bytes are {reason}")
    collected = io.BytesIO(stream.read(size_bytes or 0))  # in one read, because growing takes more memory
    collected.seek(0, io.SEEK_END)
    while chunk := stream.read(_CHUNK_BYTES):
        if collected.tell() + len(chunk) > max_bytes:
            raise too_large(f"it unpacks to more than {max_bytes:,} bytes, {reason}")
        collected.write(chunk)
    return collected.getvalue()


def skip(stream: BinaryIO, size_bytes: int) -> None:
    """Skip bytes of a stream. Raises `OSError` at its end."""
    while size_bytes:
        data = stream.read(min(size_bytes, _CHUNK_BYTES))
        if not data:
            raise unreadable("the archive ends early")
        size_bytes -= len(data)
