"""Tar archives, which are read once from front to back. This supports ustar, pax and GNU's long names.

We only use Python's `tarfile` to decode single headers. If we let it read the whole archive, it would keep an object
for each member in memory, and if a long name claims to be huge, it would read all of it.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

from slpstream.parts.archives.entry import Entry
from slpstream.parts.archives.streams import Part, skip, unreadable

_BLOCK_BYTES = tarfile.BLOCKSIZE
_MAX_EXTENSION_BYTES = 1 << 20
"""Size limit of the records that carry long names."""
_MAX_SIZE_DIGITS = 19
"""Limit for the decimal digits of a file size."""
_SPARSE_MORE, _SPARSE_STILL_MORE = 482, 504
"""Offset of the flag that another block follows, in the header of a sparse file and in each block after it."""
_EXTENSIONS = {tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME}
_SKIPPED = {tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK}
_REGULAR = {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE}


class TarArchive:
    """A tar archive in a stream.

    You don't have to be able to seek in it. `memory_bytes` is how much memory the stream uses.
    """

    def __init__(self, file: BinaryIO, memory_bytes: int = 0) -> None:
        self._file = file
        self._memory_bytes = memory_bytes
        self._go_forward: Callable[[int], None] = partial(skip, file)
        if file.seekable():
            self._end = file.seek(0, io.SEEK_END)
            file.seek(0)
            self._go_forward = self._seek_forward

    def _seek_forward(self, size_bytes: int) -> None:
        if size_bytes > self._end - self._file.tell():
            raise unreadable("the archive ends early")
        self._file.seek(size_bytes, io.SEEK_CUR)

    def entries(self) -> Iterator[Entry]:
        """Iterate over the entries. If the archive is damaged, this raises `OSError` when it gets there."""
        changes: dict[str, str] = {}
        while (info := self._next()) is not None:
            padded_bytes = -(-info.size // _BLOCK_BYTES) * _BLOCK_BYTES
            if info.type in _EXTENSIONS:
                changes |= self._extension(info, padded_bytes)
                continue
            if info.type in _SKIPPED:
                self._go_forward(padded_bytes)
                continue
            size_bytes = int(changes.get("size", info.size)) if info.type in _REGULAR or not info.isdev() else 0
            name = changes.get("path", info.name)
            sparse = any(key.startswith("GNU.sparse") for key in changes)
            changes = {}
            padded_bytes = -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES
            if info.type in _REGULAR and not sparse:
                part = Part(self._file, size_bytes)
                yield Entry(name, size_bytes, partial(io.BufferedReader, part), memory_bytes=self._memory_bytes)
                self._go_forward(padded_bytes - part.tell())
                continue
            if not info.isdir():
                kind = "a file with holes" if sparse or info.type == tarfile.GNUTYPE_SPARSE else "a link or a device"
                yield Entry(name, size_bytes, io.BytesIO, f"it is {kind}, which is not read")
            self._go_forward(0 if info.islnk() or info.issym() or info.isdir() else padded_bytes)

    def _next(self) -> tarfile.TarInfo | None:
        """Read the next header. Returns `None` at the end."""
        block = self._file.read(_BLOCK_BYTES)
        if not block or not any(block):
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as error:
            raise unreadable("the archive is damaged, or not a tar archive") from error
        if info.size < 0:
            raise unreadable("the archive is damaged: a size below zero")
        more = info.type == tarfile.GNUTYPE_SPARSE and block[_SPARSE_MORE]
        while more:  # further blocks with the offsets of holes
            block = self._file.read(_BLOCK_BYTES)
            if len(block) < _BLOCK_BYTES:
                raise unreadable("the archive ends early")
            more = block[_SPARSE_STILL_MORE]
        return info

    def _extension(self, info: tarfile.TarInfo, padded_bytes: int) -> dict[str, str]:
        """Read a record with attributes that belong to the next entry."""
        if info.size > _MAX_EXTENSION_BYTES:
            raise unreadable(f"a name of {info.size:,} bytes")
        data = self._file.read(padded_bytes)[: info.size]
        if len(data) < info.size:
            raise unreadable("the archive ends early")
        if info.type == tarfile.GNUTYPE_LONGNAME:
            return {"path": data.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")}
        found = {}
        at = 0
        while at < len(data):
            length = data[at : at + 20].partition(b" ")[0]
            if not length.isdigit() or not len(length) + 1 < int(length) <= len(data) - at:
                break
            key, _, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
            found[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
            at += int(length)
        size = found.get("size", "0")
        if not (size.isascii() and size.isdigit() and len(size) <= _MAX_SIZE_DIGITS):
            raise unreadable("the archive is damaged: a size that is no number")
        return found
