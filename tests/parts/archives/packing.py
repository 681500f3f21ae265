"""Pack files into archives of every kind, with the standard library and py7zr."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import py7zr

from tests.parts.archives import slpz_writer

Files = Mapping[str, bytes]


def zipped(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: Files, format: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zstd(data: bytes, **options: Any) -> bytes:
    return bytes(slpz_writer.zstd().compress(data, **options))


def zstd_with_window(data: bytes, window_log: int) -> bytes:
    """A zstd frame that needs `2 ** window_log` bytes of memory, if it is that long."""
    parameter = slpz_writer.zstd().CompressionParameter
    return zstd(data, options={parameter.window_log: window_log, parameter.compression_level: 1})


def seven_zipped(files: Files, **options: Any) -> bytes:
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", **options) as archive:
        for name, data in files.items():
            archive.writestr(data, name)
    return out.getvalue()


def _fast(filter: int) -> dict[str, int]:
    return {"id": filter, "preset": 0} if filter in (py7zr.FILTER_LZMA, py7zr.FILTER_LZMA2) else {"id": filter}


def _coded(*filters: int) -> Callable[[Files], bytes]:
    return lambda files: seven_zipped(files, filters=[_fast(one) for one in filters])


class Coder(NamedTuple):
    """A coder of a block in a 7z archive."""

    method: bytes
    properties: bytes = b""
    inputs: int = 1


class Block(NamedTuple):
    """A block with one file in a 7z archive, as stored."""

    name: str
    streams: Sequence[bytes]
    """Packed bytes."""
    size_bytes: int
    coders: Sequence[Coder] = (Coder(b"\0"),)
    bonds: Sequence[tuple[int, int]] = ()
    """Pairs of input and output of all coders."""


def blocks_7z(blocks: Sequence[Block], *, offset: int = 0) -> bytes:
    """A 7z archive of these blocks, written from the description of the format. `offset` is their claimed offset."""
    streams = [stream for block in blocks for stream in block.streams]
    header = b"\x01\x04\x06" + _number(offset) + _number(len(streams))
    header += b"\x09" + b"".join(_number(len(stream)) for stream in streams) + b"\0"
    header += b"\x07\x0b" + _number(len(blocks)) + b"\0" + b"".join(map(_definition, blocks))
    sizes = b"".join(_number(block.size_bytes) * len(block.coders) for block in blocks)
    header += b"\x0c" + sizes + b"\0\0"
    names = b"".join(f"{block.name}\0".encode("utf-16-le") for block in blocks)
    header += b"\x05" + _number(len(blocks)) + b"\x11" + _number(1 + len(names)) + b"\0" + names + b"\0\0"
    start = struct.pack("<QQL", sum(map(len, streams)), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(start)) + start + b"".join(streams) + header


def _definition(block: Block) -> bytes:
    found = _number(len(block.coders))
    for method, properties, inputs in block.coders:
        found += bytes([len(method) | (inputs > 1) << 4 | bool(properties) << 5]) + method
        found += _number(inputs) + _number(1) if inputs > 1 else b""
        found += _number(len(properties)) + properties if properties else b""
    found += b"".join(_number(value) for bond in block.bonds for value in bond)
    given = {into for into, _ in block.bonds}
    packed = [number for number in range(sum(coder.inputs for coder in block.coders)) if number not in given]
    return found + (b"".join(map(_number, packed)) if len(packed) > 1 else b"")


def _number(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else b"\xff" + struct.pack("<Q", value)


KINDS: Mapping[str, Callable[[Files], bytes]] = {
    "deflated.zip": zipped,
    "stored.zip": lambda files: zipped(files, zipfile.ZIP_STORED),
    "bzip2.ZIP": lambda files: zipped(files, zipfile.ZIP_BZIP2),
    "plain.tar": tarred,
    "gnu.tar": lambda files: tarred(files, tarfile.GNU_FORMAT),
    "ustar.tar": lambda files: tarred(files, tarfile.USTAR_FORMAT),
    "a.tar.gz": lambda files: gzip.compress(tarred(files), 1),
    "a.tgz": lambda files: gzip.compress(tarred(files), 1),
    "a.tar.zst": lambda files: zstd(tarred(files)),
    "a.tar.xz": lambda files: lzma.compress(tarred(files), preset=0),
    "bcj_lzma2.7z": _coded(py7zr.FILTER_X86, py7zr.FILTER_LZMA2),
    "lzma2.7z": _coded(py7zr.FILTER_LZMA2),
    "lzma.7z": _coded(py7zr.FILTER_LZMA),
    "delta.7z": _coded(py7zr.FILTER_DELTA, py7zr.FILTER_LZMA2),
    "deflate.7z": _coded(py7zr.FILTER_DEFLATE),
    "bzip2.7z": _coded(py7zr.FILTER_BZIP2),
    "zstd.7z": _coded(py7zr.FILTER_ZSTD),
    "copy.7z": _coded(py7zr.FILTER_COPY),
}
"""Functions that pack files, by the name of an archive of their kind."""

COMPRESSED: Mapping[str, Callable[[bytes], bytes]] = {
    ".slp.gz": lambda data: gzip.compress(data, 1),
    ".SLP.GZ": lambda data: gzip.compress(data, 1),
    ".slp.zst": zstd,
    ".slp.xz": lambda data: lzma.compress(data, preset=0),
    ".slpz": slpz_writer.pack,
}
"""Functions that compress a replay, by the ending of its name."""
