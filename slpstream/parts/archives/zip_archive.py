"""Zip archives with any number of members. The central directory is read piece by piece.

When Python's `zipfile` opens an archive, it creates an object of half a kilobyte for each member. For example, for a
public dump with 300,000 members, this would take 200 MB. The layouts are described in PKWARE's APPNOTE 6.3.
"""

from __future__ import annotations

import io
import stat
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import BinaryIO, NamedTuple

from slpstream.parts.archives.entry import Entry
from slpstream.parts.archives.streams import (
    Budget,
    Decompressor,
    NewDecompressor,
    Part,
    deflate_decompressor,
    inflating_module,
    unpacked,
    unreadable,
    window_bytes,
    zstd_decompressor,
)

_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64_LOCATOR_MAGIC = b"PK\x06\x07"
_END64 = struct.Struct("<4sQ2H2L4Q")
_END64_MAGIC = b"PK\x06\x06"
_DIRECTORY = struct.Struct("<4s4B4HL2L5H2L")
_DIRECTORY_MAGIC = b"PK\x01\x02"
_LOCAL = struct.Struct("<4s2B4HL2L2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_MAX_COMMENT_BYTES = 0xFFFF
_PIECE_BYTES = 256 * 1024
"""Size of a read from the directory. No entry is larger."""
_WHOLE_BYTES = 16 << 20
"""Size limit of files that are unpacked in one go, for which their packed bytes are held too."""
_USUAL_BYTES = 512
"""Layout of one entry of the directory."""
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
_UTF8 = 1 << 11
_UNIX = 3
_EXTRA_ZIP64 = 1
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF


def _bzip2_decompressor(_max_window_bytes: int) -> Decompressor:
    import bz2  # noqa: PLC0415 -- loaded only for such a file

    return bz2.BZ2Decompressor()


_STORED, _DEFLATED = 0, 8
_METHODS: Mapping[int, NewDecompressor] = {
    _DEFLATED: deflate_decompressor,
    12: _bzip2_decompressor,
    93: zstd_decompressor,
}
_UNREAD_METHODS = {9: "Deflate64", 14: "LZMA", 95: "xz", 98: "PPMd", 99: "AES"}


class _Header(NamedTuple):
    """An entry of the central directory."""

    name: str
    method: int
    crc32: int
    packed_bytes: int
    size_bytes: int
    offset: int
    encrypted: bool
    regular: bool


class ZipArchive:
    """A zip archive in a file that supports seeking. Raises `OSError` if its directory can't be found."""

    def __init__(self, file: BinaryIO, budget: Budget) -> None:
        self.file = file
        """The open file. It may be replaced by another one for the same archive."""
        self.budget = budget
        """Limit for the unpacked size of the files that are opened from now on."""
        self._size_bytes = file.seek(0, io.SEEK_END)
        tail_at = max(0, self._size_bytes - _END.size - _MAX_COMMENT_BYTES)
        file.seek(tail_at)
        tail = file.read()
        at = tail.rfind(_END_MAGIC)
        if at < 0 or len(tail) - at < _END.size:
            raise unreadable("not a zip archive, or one that was cut off")
        (_, disk, *_, self.count, directory_bytes, offset, _) = _END.unpack_from(tail, at)
        end = tail_at + at
        if _FULL16 in (disk, self.count) or _FULL32 in (directory_bytes, offset):
            found = self._end64(end)
            if found is not None:
                self.count, directory_bytes, offset, end = found
        self._start = end - directory_bytes  # a self-extracting archive begins with a program
        self._shift = self._start - offset
        self._end = end
        if self._start < 0 or self._shift < 0:
            raise unreadable("the directory of the archive is damaged")
        self._table: _Table | None = None

    def _end64(self, end: int) -> tuple[int, int, int, int] | None:
        """Read how many entries there are, the size and offset of the directory, and its end.

        Returns `None` if this isn't Zip64.
        """
        if end < _END64_LOCATOR.size:
            return None
        self.file.seek(end - _END64_LOCATOR.size)
        locator = self.file.read(_END64_LOCATOR.size)
        if not locator.startswith(_END64_LOCATOR_MAGIC):
            return None
        at = end - _END64_LOCATOR.size - _END64.size
        if at < 0:
            return None
        self.file.seek(at)
        record = self.file.read(_END64.size)
        if not record.startswith(_END64_MAGIC):
            raise unreadable("the directory of the archive is damaged")
        *_, count, directory_bytes, offset = _END64.unpack(record)
        return count, directory_bytes, offset, at

    def entries(self) -> Iterator[Entry]:
        """Iterate over the entries in the order of the directory.

        If it is damaged, or if several entries share the same packed bytes, which only happens in bombs, this raises
        `OSError`.
        """
        packed_bytes = 0
        for _, header in self._headers():
            if header.packed_bytes <= self._start:  # others are refused when they are opened
                packed_bytes += header.packed_bytes
            if packed_bytes > self._start:
                raise unreadable("the archive is damaged: its files overlap")
            yield self._entry(header)

    def find(self, name: str, normalised: Callable[[str], str]) -> Entry | None:
        """Return the first entry whose normalised name is `name`, or `None` if there isn't one.

        To find names quickly, the first call creates a table of their offsets, which takes 32 bytes for each name.
        """
        if self._table is None:
            self._table = _Table(sum(1 for _ in self._headers()))
            for at, header in self._headers():
                self._table.add(normalised(header.name), at)
        place = self._table.find(name)
        found = None if place is None else self._header_at(place)
        return self._entry(found) if found is not None and normalised(found.name) == name else None

    def _header_at(self, at: int) -> _Header | None:
        for size_bytes in (_USUAL_BYTES, _PIECE_BYTES):
            self.file.seek(at)
            found = _parse(self.file.read(size_bytes), 0)
            if found is not None:
                return found[0]
        return None

    def _headers(self) -> Iterator[tuple[int, _Header]]:
        """Iterate over the entries of the directory. For each of them, you also get its position."""
        piece, piece_at = b"", self._start
        at = 0
        while piece_at + at < self._end:
            found = _parse(piece, at)
            if found is None and piece_at + len(piece) < self._end:
                piece_at += at
                at = 0
                self.file.seek(piece_at)
                piece = self.file.read(min(_PIECE_BYTES, self._end - piece_at))
                found = _parse(piece, 0)
            if found is None:
                raise unreadable("the directory of the archive is damaged")
            header, past = found
            yield piece_at + at, header
            at = past

    def _entry(self, header: _Header) -> Entry:
        problem = None
        if header.encrypted:
            problem = "it is encrypted"
        elif not header.regular:
            problem = "it is a link or a device, not a file"
        elif header.method != _STORED and header.method not in _METHODS:
            method = _UNREAD_METHODS.get(header.method, f"method {header.method}")
            problem = f"it is compressed by {method}, which is not read"
        new_decompressor = _METHODS.get(header.method)
        return Entry(
            header.name,
            header.size_bytes,
            partial(self._open, header),
            problem,
            0 if new_decompressor is None else window_bytes(new_decompressor, self.budget),
            partial(self._whole, header) if header.method == _DEFLATED else None,
        )

    def _whole(self, header: _Header) -> bytes | None:
        """Unpack a deflated file in one go. Returns `None` if it is damaged or too large for that."""
        if max(header.packed_bytes, header.size_bytes) > min(_WHOLE_BYTES, self.budget.max_member_bytes):
            return None
        self.file.seek(self._start_of(header))
        packed = self.file.read(header.packed_bytes)
        inflating = inflating_module()
        decompressor = inflating.decompressobj(-zlib.MAX_WBITS)
        try:
            data: bytes = decompressor.decompress(packed, header.size_bytes + 1)
        except inflating.error:
            return None
        if not decompressor.eof or len(data) != header.size_bytes or inflating.crc32(data) != header.crc32:
            return None
        self.budget.take(len(data))
        return data

    def _open(self, header: _Header) -> BinaryIO:
        start = self._start_of(header)
        if header.method == _STORED:
            self.budget.take(header.size_bytes)
            part = Part(self.file, header.size_bytes, start=start, crc32=header.crc32)
            return io.BufferedReader(part)
        packed: BinaryIO = io.BufferedReader(Part(self.file, header.packed_bytes, start=start))
        stream = unpacked(packed, _METHODS[header.method], self.budget, repeated=False)
        return io.BufferedReader(Part(stream, header.size_bytes, crc32=header.crc32))

    def _start_of(self, header: _Header) -> int:
        """Return the offset of a file's packed bytes. Raises `OSError` if they aren't inside of the archive."""
        offset = self._shift + header.offset
        local = b""
        if offset < self._size_bytes:
            self.file.seek(offset)
            local = self.file.read(_LOCAL.size)
        if len(local) < _LOCAL.size or not local.startswith(_LOCAL_MAGIC):
            raise unreadable("it is damaged: there is no file at its place")
        name_bytes, extra_bytes = _LOCAL.unpack(local)[-2:]
        start: int = offset + _LOCAL.size + name_bytes + extra_bytes
        if start + header.packed_bytes > self._size_bytes:
            raise unreadable("the archive ends in it")
        if header.method == _STORED and header.packed_bytes != header.size_bytes:
            raise unreadable("it is damaged: it is not compressed, and claims two sizes")
        return start


class _Table:
    """A hash table with open addressing that maps names to offsets in the directory.

    It only stores the hashes of the names, so if two names have the same hash, we treat them as equal. If there are
    several equal names, the first one counts.
    """

    def __init__(self, count: int) -> None:
        self._hashes = array("q", bytes(8 * (2 * count + 1)))
        self._places = array("Q", bytes(8 * (2 * count + 1)))
        """The offset plus one; 0 in empty slots."""

    def add(self, name: str, place: int) -> None:
        slot = self._slot(name)
        if not self._places[slot]:
            self._hashes[slot], self._places[slot] = hash(name), place + 1

    def find(self, name: str) -> int | None:
        found = self._places[self._slot(name)]
        return found - 1 if found else None

    def _slot(self, name: str) -> int:
        """Return the slot of the given name. If the name isn't in the table, this is the empty slot for it."""
        key, places = hash(name), self._places
        slot = key % len(places)
        while places[slot] and self._hashes[slot] != key:
            slot = (slot + 1) % len(places)
        return slot


def _parse(data: bytes, at: int) -> tuple[_Header, int] | None:
    """Parse the entry at an offset, and return it with the offset after it.

    Returns `None` if the entry isn't complete.
    """
    if len(data) - at < _DIRECTORY.size or not data.startswith(_DIRECTORY_MAGIC, at):
        return None
    (
        _, _, system, _, _, flags, method, _, _, crc32, packed_bytes, size_bytes,
        name_bytes, extra_bytes, comment_bytes, _, _, attributes, offset,
    ) = _DIRECTORY.unpack_from(data, at)  # fmt: skip
    name_at = at + _DIRECTORY.size
    extra_at = name_at + name_bytes
    past = extra_at + extra_bytes + comment_bytes
    if past > len(data):
        return None
    encoding = "utf-8" if flags & _UTF8 else "cp437"
    name = data[name_at:extra_at].decode(encoding, "surrogateescape")
    sizes = [size_bytes, packed_bytes, offset]
    if _FULL32 in sizes:
        sizes = _zip64(data[extra_at : extra_at + extra_bytes], sizes)
    kind = stat.S_IFMT(attributes >> 16) if system == _UNIX else 0
    regular = kind in (0, stat.S_IFREG, stat.S_IFDIR)
    return _Header(name, method, crc32, sizes[1], sizes[0], sizes[2], bool(flags & _ENCRYPTED), regular), past


def _zip64(extra: bytes, sizes: list[int]) -> list[int]:
    """Return the size, packed size and offset.

    If one of them doesn't fit into 32 bits, it is taken from the Zip64 field.
    """
    at = 0
    while at + 4 <= len(extra):
        tag, size_bytes = struct.unpack_from("<2H", extra, at)
        if tag == _EXTRA_ZIP64:
            values = iter(value for (value,) in struct.iter_unpack("<Q", extra[at + 4 : at + 4 + size_bytes // 8 * 8]))
            return [next(values, size) if size == _FULL32 else size for size in sizes]
        at += 4 + size_bytes
    return sizes
