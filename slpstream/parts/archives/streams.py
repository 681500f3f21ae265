"""Streams of unpacked bytes. They have limits, and these don't rely on the sizes that are stored in the archive.

All errors are `OSError`s with one line of text, just like the ones that you get if a file on disk can't be read.
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
    """Decompresses one stream. The interface is that of `lzma.LZMADecompressor`."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether you have to pass more input to get more output."""

    @property
    def unused_data(self) -> bytes:
        """The bytes that come after the end of the stream."""

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        """Decompress more bytes, but return at most `max_length`.

        If `data` isn't used up, the rest is kept for the next call.
        """


def unreadable(text: str) -> OSError:
    """Return the error to raise for bytes that can't be unpacked."""
    return OSError(errno.EIO, text)


def too_large(text: str) -> OSError:
    """Return the error to raise for bytes that we refuse to unpack because of a limit."""
    return OSError(errno.EFBIG, text)


class Budget:
    """Limits how much we unpack from an archive. This protects us from bombs.

    There is a limit for the total number of unpacked bytes, which depends on the size of the archive, and one for the
    memory that is used at a time. Replays compress to a tenth of their size, and bombs to a thousandth.
    """

    __slots__ = ("_memory_bytes", "_outer", "_unpacked_bytes")

    def __init__(self, packed_bytes: int) -> None:
        self._unpacked_bytes = _SPARED_BYTES + _MAX_RATIO * packed_bytes
        """Number of further bytes that may be unpacked."""
        self._memory_bytes = _MEMORY_BYTES
        self._outer: Budget | None = None

    def inside(self, memory_bytes: int) -> Budget:
        """Return the same budget with less memory, which you can use for the contents of a nested archive."""
        found = Budget(0)
        found._memory_bytes = self._memory_bytes - memory_bytes
        found._outer = self
        return found

    def take(self, size_bytes: int) -> None:
        """Count bytes that were unpacked. If there are too many, this raises `OSError`."""
        if self._outer is not None:
            self._outer.take(size_bytes)
            return
        self._unpacked_bytes -= size_bytes
        if self._unpacked_bytes < 0:
            raise too_large(f"it unpacks to more than {_MAX_RATIO} times its size")

    @property
    def spent(self) -> bool:
        """Whether we have unpacked too many bytes."""
        return self._unpacked_bytes < 0 if self._outer is None else self._outer.spent

    @property
    def max_window_bytes(self) -> int:
        """The largest window that a decompressor is allowed to use. This is always a power of two."""
        return min(MAX_WINDOW_BYTES, 1 << (self._memory_bytes // 2).bit_length() - 1)

    @property
    def max_member_bytes(self) -> int:
        """The largest size that a replay is allowed to have."""
        return min(MAX_MEMBER_BYTES, self._memory_bytes // 2)


class Inflate:
    """Decompresses zlib streams. It has the same interface as the other decompressors."""

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
        """The bytes that come after the end of the stream."""
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
    """Create a decompressor for one gzip member."""
    return Inflate(16 + zlib.MAX_WBITS)


def deflate_decompressor(_max_window_bytes: int) -> Decompressor:
    """Create a decompressor for deflated bytes that don't have a header."""
    return Inflate(-zlib.MAX_WBITS)


def xz_decompressor(max_window_bytes: int) -> Decompressor:
    """Create a decompressor for one xz stream."""
    import lzma  # noqa: PLC0415 -- loaded only for such a file

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=max_window_bytes + (2 << 20))


def zstd_decompressor(max_window_bytes: int) -> Decompressor:
    """Create a decompressor for one zstd frame. Raises `OSError` if zstd isn't installed."""
    zstd = zstd_module()
    options = {zstd.DecompressionParameter.window_log_max: max_window_bytes.bit_length() - 1}
    found: Decompressor = zstd.ZstdDecompressor(options=options)
    return found


def window_bytes(new_decompressor: NewDecompressor, budget: Budget) -> int:
    """Return how much memory we should count for a decompressor, because we can't know in advance how much it
    will use.
    """
    return budget.max_window_bytes if new_decompressor in (xz_decompressor, zstd_decompressor) else 0


@cache
def inflating_module() -> Any:
    """Return the module of zlib-ng, which inflates three times as fast, or if it isn't installed, zlib."""
    try:
        return import_module("zlib_ng.zlib_ng")
    except ImportError:
        return zlib


def zstd_module() -> Any:
    """Return the module for zstd from the standard library or, before Python 3.14, its backport.

    Raises `OSError` if there isn't one.
    """
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise unreadable("reading zstd needs an extra: pip install 'slpstream[archives]'")


def _damage() -> tuple[type[Exception], ...]:
    """Return the exceptions that decompressors raise if the bytes are damaged."""
    import lzma  # noqa: PLC0415 -- see above

    found: list[type[Exception]] = [inflating_module().error, lzma.LZMAError, EOFError, ValueError]
    with contextlib.suppress(OSError):
        found.append(zstd_module().ZstdError)
    return tuple(found)


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a compressed stream.

    If `repeated` is set, several streams that follow each other count as one.
    """

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
        """Unpack more bytes. Raises `OSError` if that isn't possible."""
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
    """Return the unpacked bytes of a compressed stream, as a file that you can read in pieces of any size."""
    raw = Unpacked(source, new_decompressor, budget, repeated=repeated)
    return io.BufferedReader(raw, _CHUNK_BYTES)


class Part(io.RawIOBase):
    """The next `size_bytes` of a stream, as if they were a file of their own. If it is `seekable`, you can also seek in
    it.

    If we know the checksum of these bytes, pass it as `crc32`, and it is checked at the end. Raises `OSError` if the
    offset or size isn't possible.
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
        """Whether it is possible to seek in the archive itself."""
        return self._start is not None

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another offset. After this, we can't check the checksum any more."""
        if self._start is None:
            raise io.UnsupportedOperation("seek")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size_bytes}[whence]
        self._at = max(0, min(base + offset, self._size_bytes))
        self._crc32 = None
        return self._at

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read more bytes. Raises `OSError` if that fails."""
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
    """Read a stream to its end. If it is longer than `max_bytes`, or just claims to be, this raises `OSError`."""
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
    """Skip some bytes of the given stream. If it ends before that, this raises `OSError`."""
    while size_bytes:
        data = stream.read(min(size_bytes, _CHUNK_BYTES))
        if not data:
            raise unreadable("the archive ends early")
        size_bytes -= len(data)
