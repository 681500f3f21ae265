"""Packs files into archives of every kind, by the standard library and by py7zr."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import py7zr

from tests.formats.slippi import slpz_writer

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


def seven_zipped(files: Files, **options: Any) -> bytes:
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", **options) as archive:
        for name, data in files.items():
            archive.writestr(data, name)
    return out.getvalue()


def _fast(filter: int) -> dict[str, int]:
    return {"id": filter, "preset": 1} if filter in (py7zr.FILTER_LZMA, py7zr.FILTER_LZMA2) else {"id": filter}


def _coded(*filters: int) -> Callable[[Files], bytes]:
    return lambda files: seven_zipped(files, filters=[_fast(one) for one in filters])


KINDS: Mapping[str, Callable[[Files], bytes]] = {
    "deflated.zip": zipped,
    "stored.zip": lambda files: zipped(files, zipfile.ZIP_STORED),
    "bzip2.ZIP": lambda files: zipped(files, zipfile.ZIP_BZIP2),
    "plain.tar": tarred,
    "gnu.tar": lambda files: tarred(files, tarfile.GNU_FORMAT),
    "ustar.tar": lambda files: tarred(files, tarfile.USTAR_FORMAT),
    "a.tar.gz": lambda files: gzip.compress(tarred(files)),
    "a.tgz": lambda files: gzip.compress(tarred(files)),
    "a.tar.zst": lambda files: zstd(tarred(files)),
    "a.tar.xz": lambda files: lzma.compress(tarred(files), preset=1),
    "bcj_lzma2.7z": _coded(py7zr.FILTER_X86, py7zr.FILTER_LZMA2),
    "lzma2.7z": _coded(py7zr.FILTER_LZMA2),
    "lzma.7z": _coded(py7zr.FILTER_LZMA),
    "delta.7z": _coded(py7zr.FILTER_DELTA, py7zr.FILTER_LZMA2),
    "deflate.7z": _coded(py7zr.FILTER_DEFLATE),
    "bzip2.7z": _coded(py7zr.FILTER_BZIP2),
    "zstd.7z": _coded(py7zr.FILTER_ZSTD),
    "copy.7z": _coded(py7zr.FILTER_COPY),
}
"""Functions that pack files, by a name of an archive that it makes."""

COMPRESSED: Mapping[str, Callable[[bytes], bytes]] = {
    ".slp.gz": gzip.compress,
    ".SLP.GZ": gzip.compress,
    ".slp.zst": zstd,
    ".slp.xz": lambda data: lzma.compress(data, preset=1),
    ".slpz": slpz_writer.pack,
}
"""Functions that compress a replay, by the ending of its name."""
