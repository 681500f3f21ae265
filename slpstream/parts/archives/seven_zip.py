"""7z archives, which are read in order. Each block of compressed files is unpacked at most once, and never kept as a
whole.

The decompression is done by liblzma, through Python's `lzma`. The header needs about as much memory as it takes up in
the archive. The layouts are described in 7-Zip's `7zFormat.txt` (public domain).

We have tried some libraries on the archives of the tests. py7zr 1.1.4 pushes each file out in pieces of up to 122 MiB
(so for a file of 300 MiB, it needs 398 MiB of memory, compared to 16 MiB here), refuses more than 65,536 blocks, and
stops extracting at the first error. libarchive 3.6 needs as little memory as this module, but libarchive-c doesn't come
with a library for Windows. Also, it can't read zstd, and reports encryption in the same way as damage.
"""

from __future__ import annotations

import io
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, BinaryIO, NamedTuple

from slpstream.parts.archives.entry import Entry
from slpstream.parts.archives.streams import (
    MAX_FILE_BYTES,
    Budget,
    Decompressor,
    NewDecompressor,
    Part,
    deflate_decompressor,
    read_whole,
    skip,
    too_large,
    unpacked,
    unreadable,
    window_bytes,
    zstd_decompressor,
)

_SIGNATURE = struct.Struct("<6s2BLQQL")
_MAGIC = b"7z\xbc\xaf\x27\x1c"
_MAX_HEADER_BYTES = 32 << 20
"""Size limit of the header, packed or not. An archive of 200,000 replays has a header of 20 MB."""
_MAX_COUNT = 1 << 20
_MAX_CODERS = 32
_MAX_METHODS = 4096
"""Limit of different combinations of compression methods in an archive. Usual archives have a few."""
_MAX_PACKED_HEADERS = 4
(
    _END, _HEADER, _ARCHIVE_PROPERTIES, _ADDITIONAL_STREAMS, _MAIN_STREAMS, _FILES, _PACK_INFO, _UNPACK_INFO,
    _SUBSTREAMS, _SIZE, _CRC, _FOLDER, _UNPACK_SIZE, _UNPACK_COUNT, _EMPTY_STREAM, _EMPTY_FILE, _ANTI, _NAMES,
) = range(18)  # fmt: skip
_ATTRIBUTES = 0x15
_ENCODED_HEADER = 0x17
_UNIX_EXTENSION = 0x8000
_REPARSE_POINT = 0x400
_LINK_MODE, _MODE_KIND = 0o120000, 0o170000

_COPY, _LZMA, _LZMA2, _DELTA = b"\0", b"\3\1\1", b"\x21", b"\3"
_DEFLATE, _BZIP2, _ZSTD = b"\4\1\x08", b"\4\2\2", b"\4\xf7\x11\1"
_AES = b"\6\xf1\7\1"
_UNREAD = {b"\3\4\1": "PPMd", b"\4\1\x09": "Deflate64", b"\3\3\1\x1b": "BCJ2"}
_BRANCHES = {
    b"\3\3\1\3": 4, b"\3\3\2\5": 5, b"\3\3\4\1": 6, b"\3\3\5\1": 7, b"\3\3\7\1": 8, b"\3\3\x08\5": 9,
}  # fmt: skip
"""Filters for machine code, with their ids in liblzma. They help only programs, but py7zr adds one by default."""


class _Coder(NamedTuple):
    method: bytes
    properties: bytes


class _Folder(NamedTuple):
    """A block of files that were compressed together."""

    coders: tuple[_Coder, ...]
    """In the order of unpacking."""
    packed: int
    """The number of its packed streams. Readable blocks have one; BCJ2 has four."""
    problem: str | None


class _Streams(NamedTuple):
    """Where the packed blocks are, and the sizes and checksums of the files in them."""

    places: Sequence[int]
    """The offset of each packed stream, and that of the end of the last one."""
    first_streams: Sequence[int]
    """The number of each block's first packed stream."""
    folders: Sequence[_Folder]
    folder_sizes: Sequence[int]
    counts: Sequence[int]
    """The number of files in each block."""
    sizes: Sequence[int]
    """The sizes of all files in the blocks, one after the other."""
    crcs: Sequence[int]
    """Their checksums; -1 for a file without one."""


class SevenZipArchive:
    """A 7z archive in a file that supports seeking. Raises `OSError` if its header can't be read."""

    def __init__(self, file: BinaryIO, budget: Budget) -> None:
        self._file = file
        self._budget = budget
        file.seek(0)
        start = file.read(_SIGNATURE.size)
        if len(start) < _SIGNATURE.size or not start.startswith(_MAGIC):
            raise unreadable("not a 7z archive")
        _, _, _, crc32, offset, size_bytes, header_crc32 = _SIGNATURE.unpack(start)
        if zlib.crc32(start[12:]) != crc32:
            raise unreadable("the archive is damaged: the checksum of its beginning is wrong")
        header = self._stored_header(offset, size_bytes, header_crc32)
        self._streams: _Streams | None = None
        self._names = b""
        self._empty: Sequence[int] = ()
        self._directories: Sequence[int] = ()
        self._links: Sequence[int] = ()
        self._count = 0
        for _ in range(_MAX_PACKED_HEADERS):  # a packed header can contain a packed header
            if not header or header[0] != _ENCODED_HEADER:
                break
            fields = _Fields(header, 1)
            streams = _streams(fields)
            if len(streams.folders) != 1:
                raise unreadable("the header of the archive is damaged")
            with self._folder(streams, 0) as stream:
                size_bytes = streams.folder_sizes[0]
                header = read_whole(stream, size_bytes, _MAX_HEADER_BYTES)
        if header:
            self._read_header(_Fields(header, 0))

    def _stored_header(self, offset: int, size_bytes: int, crc32: int) -> bytes:
        if size_bytes > _MAX_HEADER_BYTES:
            raise too_large(f"its list of files claims {size_bytes:,} bytes, at most {_MAX_HEADER_BYTES:,} are read")
        end = self._file.seek(0, io.SEEK_END)
        if _SIGNATURE.size + offset + size_bytes > end:
            raise unreadable("the archive was cut off")
        self._file.seek(_SIGNATURE.size + offset)
        header = self._file.read(size_bytes)
        if zlib.crc32(header) != crc32:
            raise unreadable("the archive is damaged: the checksum of its list of files is wrong")
        return header

    def _read_header(self, fields: _Fields) -> None:
        if fields.byte() != _HEADER:
            raise unreadable("the header of the archive is damaged")
        kind = fields.byte()
        if kind == _ARCHIVE_PROPERTIES:
            while fields.byte() != _END:
                fields.take(fields.number())
            kind = fields.byte()
        if kind == _ADDITIONAL_STREAMS:
            raise unreadable("an archive of this kind is not read")
        if kind == _MAIN_STREAMS:
            self._streams = _streams(fields)
            kind = fields.byte()
        if kind == _FILES:
            self._read_files(fields)
        elif kind != _END:
            raise unreadable("the header of the archive is damaged")

    def _read_files(self, fields: _Fields) -> None:
        self._count = fields.count()
        self._empty = self._directories = self._links = bytes(self._count)
        while (kind := fields.byte()) != _END:
            part = _Fields(fields.take(fields.number()), 0)
            if kind == _EMPTY_STREAM:
                self._empty = part.bits(self._count)
                self._directories = self._empty  # unless the next part marks them as files
            elif kind == _EMPTY_FILE:
                files = iter(part.bits(sum(self._empty)))
                self._directories = bytes(bool(empty) and not next(files) for empty in self._empty)
            elif kind == _NAMES:
                if part.byte():
                    raise unreadable("an archive of this kind is not read")
                self._names = part.rest()
            elif kind == _ATTRIBUTES:
                defined = part.defined(self._count)
                if part.byte():
                    raise unreadable("an archive of this kind is not read")
                self._links = bytes(known and _is_link(part.uint32()) for known in defined)

    def entries(self) -> Iterator[Entry]:
        """Iterate over the entries in order. If the archive is damaged, this raises `OSError` when it gets there."""
        streams = self._streams
        names = _names(self._names)
        places = iter(()) if streams is None else _places(streams)
        block: _Block | None = None
        for i in range(self._count):
            name = next(names, None)
            if name is None:
                raise unreadable("the archive is damaged: files without a name")
            if self._empty[i]:
                if not self._directories[i]:
                    yield Entry(name, 0, io.BytesIO)
                continue
            place = next(places, None)
            if place is None or streams is None:
                raise unreadable("the archive is damaged: files without data")
            if block is None or block.number != place.folder:
                block = _Block(self, streams, place.folder, self._budget)
            problem = streams.folders[place.folder].problem
            if self._links[i]:
                problem = "it is a link, not a file"
            yield Entry(name, place.size_bytes, block.opener(place), problem, block.memory_bytes)

    def _folder(self, streams: _Streams, number: int) -> BinaryIO:
        """Return the unpacked bytes of a block."""
        folder = streams.folders[number]
        if folder.problem is not None:
            raise unreadable(folder.problem)
        first = streams.first_streams[number]
        start, end = streams.places[first : first + 2]
        stream: BinaryIO = io.BufferedReader(Part(self._file, end - start, start=start))
        return _decoded(stream, folder, streams.folder_sizes[number], self._budget)


class _Place(NamedTuple):
    """The place of a file in the archive."""

    folder: int
    offset: int
    size_bytes: int
    crc32: int | None


class _Block:
    """One block, while we read its files. It is only unpacked up to the last file that was opened."""

    def __init__(self, archive: SevenZipArchive, streams: _Streams, number: int, budget: Budget) -> None:
        self._archive = archive
        self._streams = streams
        self.number = number
        self.memory_bytes = _memory_bytes(streams.folders[number], streams.folder_sizes[number], budget)
        self._stream: BinaryIO | None = None
        self._part: Part | None = None
        self._at = 0

    def opener(self, place: _Place) -> Callable[[], BinaryIO]:
        """Return a function that opens a file in this block."""
        return lambda: self._open(place)

    def _open(self, place: _Place) -> BinaryIO:
        if self._stream is None:
            self._stream = self._archive._folder(self._streams, self.number)
        if self._part is not None:
            self._at += self._part.tell()
        self._part = None
        skip(self._stream, place.offset - self._at)
        self._at = place.offset
        self._part = Part(self._stream, place.size_bytes, crc32=place.crc32)
        return io.BufferedReader(self._part)


def _places(streams: _Streams) -> Iterator[_Place]:
    file = 0
    for folder, count in enumerate(streams.counts):
        offset = 0
        for _ in range(count):
            size_bytes, crc32 = streams.sizes[file], streams.crcs[file]
            yield _Place(folder, offset, size_bytes, None if crc32 < 0 else crc32)
            offset += size_bytes
            file += 1


def _names(data: bytes) -> Iterator[str]:
    """Iterate over the names of all files. Each of them is stored as UTF-16 and ends with a zero."""
    at = 0
    while at < len(data):
        end = data.find(b"\0\0", at)
        while end >= 0 and (end - at) % 2:
            end = data.find(b"\0\0", end + 1)
        if end < 0:
            return
        yield data[at:end].decode("utf-16-le", "replace")
        at = end + 2


def _is_link(attributes: int) -> bool:
    mode = attributes >> 16 if attributes & _UNIX_EXTENSION else 0
    return bool(attributes & _REPARSE_POINT) or mode & _MODE_KIND == _LINK_MODE


def _memory_bytes(folder: _Folder, size_bytes: int, budget: Budget) -> int:
    """Return how many bytes of memory we need to unpack a block."""
    for coder in folder.coders:
        if coder.method in (_LZMA, _LZMA2):
            return min(_window_bytes(coder), size_bytes)
        if coder.method in _NEW:
            return window_bytes(_NEW[coder.method], budget)
    return 0


def _decoded(stream: BinaryIO, folder: _Folder, size_bytes: int, budget: Budget) -> BinaryIO:
    """Return the unpacked stream of a block, by decoding the packed one with each of its coders."""
    window = _memory_bytes(folder, size_bytes, budget)
    if window > budget.max_window_bytes:
        raise too_large(f"unpacking it takes {window >> 20} MiB of memory, more than {budget.max_window_bytes >> 20}")
    coders = folder.coders
    at = 0
    while at < len(coders):
        coder = coders[at]
        at += 1
        if coder.method == _COPY:
            continue
        if coder.method in (_LZMA, _LZMA2, _DELTA):
            filters = [_filter(coder, size_bytes)]
            while at < len(coders) and (coders[at].method == _DELTA or coders[at].method in _BRANCHES):
                filters.insert(0, _filter(coders[at], size_bytes))
                at += 1
            stream = unpacked(stream, _raw_lzma(filters), budget, repeated=False)
        else:
            stream = unpacked(stream, _NEW[coder.method], budget, repeated=coder.method == _ZSTD)
    return stream


def _raw_lzma(filters: list[dict[str, Any]]) -> NewDecompressor:
    import lzma  # noqa: PLC0415 -- loaded only for such archives

    return lambda _max_window_bytes: lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)


def _filter(coder: _Coder, size_bytes: int) -> dict[str, Any]:
    """Return a filter for Python's `lzma`."""
    properties = coder.properties
    try:
        if coder.method == _DELTA:
            return {"id": 3, "dist": properties[0] + 1}
        if coder.method in _BRANCHES:
            return {"id": _BRANCHES[coder.method]}
        if coder.method == _LZMA2:
            found: dict[str, Any] = {"id": 0x21}
        else:
            first = properties[0]
            found = {"id": 0x4000000000000001, "lc": first % 9, "lp": first // 9 % 5, "pb": first // 45}
    except IndexError as error:
        raise unreadable("the header of the archive is damaged") from error
    # No file refers further back than the bytes that were unpacked before it.
    return {**found, "dict_size": max(min(_window_bytes(coder), size_bytes), 4096)}


def _window_bytes(coder: _Coder) -> int:
    """Return the size of the window of LZMA or LZMA2 in bytes, which is stored in the properties."""
    properties = coder.properties
    if coder.method == _LZMA:
        return int.from_bytes(properties[1:5], "little")
    exponent = properties[0] if properties else 0
    return 0xFFFFFFFF if exponent >= 40 else (2 | exponent & 1) << exponent // 2 + 11


def _bzip2(_max_window_bytes: int) -> Decompressor:
    import bz2  # noqa: PLC0415 -- loaded only for such archives

    return bz2.BZ2Decompressor()


_NEW: dict[bytes, NewDecompressor] = {
    _DEFLATE: deflate_decompressor, _BZIP2: _bzip2, _ZSTD: zstd_decompressor,
}  # fmt: skip


class _Fields:
    """Reads the fields of a header. To be safe, it checks every count against the number of bytes that are left."""

    __slots__ = ("_data", "at")

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at

    def take(self, size_bytes: int) -> bytes:
        data = self._data[self.at : self.at + size_bytes]
        if len(data) != size_bytes:
            raise unreadable("the header of the archive is damaged")
        self.at += size_bytes
        return data

    def skip(self, data: bytes) -> bool:
        """Skip these bytes if they come next. Returns whether they did."""
        found = self._data.startswith(data, self.at)
        if found:
            self.at += len(data)
        return found

    def since(self, start: int) -> bytes:
        """Return the bytes that were read since a position."""
        return self._data[start : self.at]

    def rest(self) -> bytes:
        return self.take(len(self._data) - self.at)

    def byte(self) -> int:
        return self.take(1)[0]

    def uint32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def number(self) -> int:
        """Read a number of 1 to 9 bytes.

        The number of leading ones in the first byte tells us how many bytes follow.
        """
        first = self.byte()
        further = 0
        while further < 8 and first & 0x80 >> further:
            further += 1
        low = int.from_bytes(self.take(further), "little")
        return low if further == 8 else low + ((first & 0x7F >> further) << 8 * further)

    def count(self) -> int:
        """Read the number of some items. Each item needs at least one bit of the header, so there is a limit."""
        found = self.number()
        if found > 8 * (len(self._data) - self.at):
            raise unreadable("the header of the archive is damaged")
        if found > _MAX_COUNT:
            raise too_large(f"it has {found:,} files, more than {_MAX_COUNT:,}")
        return found

    def bits(self, count: int) -> bytes:
        """Read a vector of bits. In the result, each bit is a byte."""
        data = self.take(-(-count // 8))
        return bytes(data[i >> 3] >> (7 - (i & 7)) & 1 for i in range(count))

    def defined(self, count: int) -> bytes:
        """Read a vector of bits that comes after another byte.

        If that byte is not 0, all bits are set and not stored.
        """
        return b"\1" * count if self.byte() else self.bits(count)


def _streams(fields: _Fields) -> _Streams:
    """Read that part of a header which describes the packed blocks."""
    offset = 0
    packed_sizes: array[int] = array("Q")
    folders: list[_Folder] = []
    folder_sizes: array[int] = array("Q")
    folder_crcs: array[int] = array("q")
    counts: array[int] | None = None
    sizes: array[int] | None = None
    crcs: array[int] | None = None
    while (kind := fields.byte()) != _END:
        if kind == _PACK_INFO:
            offset = fields.number()
            count = fields.count()
            while (part := fields.byte()) != _END:
                if part == _SIZE:
                    packed_sizes = _numbers(fields, count)
                elif part == _CRC:
                    _checksums(fields, count)
                else:
                    raise unreadable("the header of the archive is damaged")
        elif kind == _UNPACK_INFO:
            folders, folder_sizes, folder_crcs = _folders(fields)
        elif kind == _SUBSTREAMS:
            counts, sizes, crcs = _substreams(fields, folder_sizes, folder_crcs)
        else:
            raise unreadable("the header of the archive is damaged")
    first_streams = array("L", accumulate((folder.packed for folder in folders), initial=0))
    if len(packed_sizes) < first_streams[-1] or _SIGNATURE.size + offset + sum(packed_sizes) > MAX_FILE_BYTES:
        raise unreadable("the header of the archive is damaged")
    places = array("Q", accumulate(packed_sizes, initial=_SIGNATURE.size + offset))
    if counts is None or sizes is None or crcs is None:
        counts, sizes, crcs = array("Q", [1]) * len(folders), folder_sizes, folder_crcs
    return _Streams(places, first_streams, folders, folder_sizes, counts, sizes, crcs)


def _numbers(fields: _Fields, count: int) -> array[int]:
    found = array("Q")
    for _ in range(count):
        found.append(fields.number())
    return found


def _checksums(fields: _Fields, count: int) -> array[int]:
    return array("q", (fields.uint32() if known else -1 for known in fields.defined(count)))


def _folders(fields: _Fields) -> tuple[list[_Folder], array[int], array[int]]:
    """Read the blocks, with their unpacked sizes and their checksums."""
    if fields.byte() != _FOLDER:
        raise unreadable("the header of the archive is damaged")
    count = fields.count()
    if fields.byte():
        raise unreadable("an archive of this kind is not read")
    known: dict[tuple[_Folder, int, int], tuple[_Folder, int, int]] = {}
    found = []
    folder = None
    definition = b""
    for _ in range(count):
        if folder is None or not fields.skip(definition):
            start = fields.at
            parsed = _folder(fields)
            definition = fields.since(start)
            folder = known.setdefault(parsed, parsed)
        found.append(folder)
        if len(known) > _MAX_METHODS:
            raise too_large("its files are compressed in too many different ways")
    if fields.byte() != _UNPACK_SIZE:
        raise unreadable("the header of the archive is damaged")
    sizes = array("Q", ([fields.number() for _ in range(coders)][main] for _, coders, main in found))
    crcs = array("q", [-1]) * count
    while (part := fields.byte()) != _END:
        if part != _CRC:
            raise unreadable("the header of the archive is damaged")
        crcs = _checksums(fields, count)
    return [folder for folder, _, _ in found], sizes, crcs


def _folder(fields: _Fields) -> tuple[_Folder, int, int]:
    """Read a block. Also returns how many coders it has, and the index of the coder from which we get the files."""
    count = fields.number()
    if not 0 < count <= _MAX_CODERS:
        raise unreadable("the header of the archive is damaged")
    coders = []
    problem = None
    inputs = outputs = 0
    for _ in range(count):
        flags = fields.byte()
        method = fields.take(flags & 0x0F)
        ins, outs = (fields.number(), fields.number()) if flags & 0x10 else (1, 1)
        inputs, outputs = inputs + ins, outputs + outs
        coders.append(_Coder(method, fields.take(fields.number()) if flags & 0x20 else b""))
        if method == _AES:
            problem = "it is encrypted"
        elif method not in (_COPY, _LZMA, _LZMA2, _DELTA, *_BRANCHES, *_NEW) and problem is None:
            problem = f"it is compressed by {_UNREAD.get(method, 'method ' + method.hex())}, which is not read"
        elif (ins, outs) != (1, 1):
            problem = "it is compressed in a way that is not read"
    if inputs > 32 or outputs > 32:
        raise unreadable("the header of the archive is damaged")
    bonds = {fields.number(): fields.number() for _ in range(outputs - 1)}
    packed = inputs - outputs + 1
    if outputs < 1 or packed < 1:
        raise unreadable("the header of the archive is damaged")
    if packed > 1:
        for _ in range(packed):
            fields.number()
    elif problem is None and len(bonds) != count - 1:
        problem = "it is compressed in a way that is not read"
    main = next((i for i in range(outputs) if i not in bonds.values()), 0)
    order = [main]
    while problem is None and order[-1] in bonds:
        following = bonds[order[-1]]
        if following >= count or following in order:
            raise unreadable("the header of the archive is damaged")
        order.append(following)
    chain = tuple(coders[i] for i in reversed(order)) if problem is None else ()
    methods = [coder.method for coder in chain]
    if problem is None and sum(method in (_LZMA, _LZMA2, *_NEW) for method in methods) > 1:
        problem = "it is compressed several times, which is not read"
    for before, method in zip([None, *methods], methods, strict=False):
        # liblzma undoes these only together with LZMA2, and plain LZMA does not mark their end
        alone = method in _BRANCHES and (_LZMA2 not in methods or before == _COPY)
        if problem is None and (alone or (method == _DELTA and not {_LZMA, _LZMA2} & set(methods))):
            problem = "it is compressed in a way that is not read"
    return _Folder(chain, packed, problem), outputs, main


def _substreams(
    fields: _Fields, folder_sizes: Sequence[int], folder_crcs: Sequence[int]
) -> tuple[array[int], array[int], array[int]]:
    """Read how many files there are in each block, with their sizes and checksums."""
    counts = array("Q", [1]) * len(folder_sizes)
    part = fields.byte()
    if part == _UNPACK_COUNT:
        counts = array("Q", (fields.count() for _ in folder_sizes))
        part = fields.byte()
    sizes: array[int] = array("Q")
    for count, size_bytes in zip(counts, folder_sizes, strict=True):
        left = size_bytes
        for _ in range(count - 1):
            if part != _SIZE:
                raise unreadable("the header of the archive is damaged")
            sizes.append(fields.number())
            left -= sizes[-1]
        if left < 0:
            raise unreadable("the header of the archive is damaged")
        if count:
            sizes.append(left)  # the size of the last file of a block is not written
    if part == _SIZE:
        part = fields.byte()
    inherited = [count == 1 and crc32 >= 0 for count, crc32 in zip(counts, folder_crcs, strict=True)]
    unknown = sum(count for count, known in zip(counts, inherited, strict=True) if not known)
    read = array("q", [-1]) * unknown
    while part != _END:
        if part != _CRC:
            raise unreadable("the header of the archive is damaged")
        read = _checksums(fields, unknown)
        part = fields.byte()
    values = iter(read)
    crcs: array[int] = array("q")
    for count, known, crc32 in zip(counts, inherited, folder_crcs, strict=True):
        crcs.extend([crc32] if known else [next(values) for _ in range(count)])
    return counts, sizes, crcs
