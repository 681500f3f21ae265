"""Whatever an archive claims or unpacks to, `slpstream info` stays below 200 MB and prints a line for each problem.

Bombs are made by repeating compressed pieces, which takes no time.
"""

from __future__ import annotations

import gzip
import lzma
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.formats.slippi.built import Built
from tests.formats.slippi.slpz_writer import assemble, pack
from tests.sources.archives.packing import Files, seven_zipped, tarred, zstd

MAX_BYTES = 200_000_000
GOOD = Built((3, 18, 0)).frames(-123, -110).end().closed()
_PIECE = bytes(4 << 20)
_TIMEOUT_SECONDS = 300
_PEAK = "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
"""The peak of memory in KiB. Unlike `ru_maxrss`, it does not begin with that of the parent process."""


def deflated(pieces: int) -> bytes:
    """Many zeros, deflated without a header."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = compressor.compress(_PIECE) + compressor.flush(zlib.Z_FULL_FLUSH)
    return piece * pieces + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def zip_of(members: Mapping[str, tuple[bytes, int]], *, copies: int = 1) -> bytes:
    """A zip archive of deflated data, each with the size that it claims; `copies` of all entries share their data."""
    body, directory, offsets = bytearray(), bytearray(), {}
    for name, (data, size) in members.items():
        offsets[name] = len(body)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0x21, 0, len(data), size, len(name), 0)
        body += name.encode() + data
    for copy in range(copies):
        for name, (data, size) in members.items():
            shown = (name if copy == 0 else f"{copy}-{name}").encode()
            crc32 = 0 if name.startswith("bomb") else zlib.crc32(zlib.decompress(data, -15))
            sizes = (crc32, len(data), size, len(shown))
            directory += struct.pack(
                "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0x21, *sizes, 0, 0, 0, 0, 0, offsets[name]
            )
            directory += shown
    count = copies * len(members)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(directory), len(body))
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(body) + len(directory), 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return bytes(body + directory + end64 + locator + end)


def _small(data: bytes) -> tuple[bytes, int]:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush(), len(data)


def _claiming_tar(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo("bomb.slp")
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def _patched(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def _checked_7z(data: bytes, **fields: int) -> bytes:
    """A 7z archive with other values in its first header, and a checksum that fits."""
    offset, size, crc32 = struct.unpack_from("<QQL", data, 12)
    start = struct.pack("<QQL", fields.get("offset", offset), fields.get("size", size), crc32)
    return data[:8] + struct.pack("<L", zlib.crc32(start)) + start + data[32:]


def _huge_window_7z() -> bytes:
    """A 7z archive whose LZMA2 wants 4 GB."""
    plain = seven_zipped({"a.slp": GOOD}, filters=[{"id": 0x21, "preset": 1}])
    header = bytearray(plain)
    at = header.rindex(b"\x21\x21\x01")
    header[at + 3] = 40
    return bytes(header)


_ZEROS = deflated(500)  # 2 GB
BOMBS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "a member of 2 GB": ("a.zip", lambda: zip_of({"bomb.slp": (_ZEROS, 2 << 30), "good.slp": _small(GOOD)})),
    "2 GB that claim to be 2 kB": ("a.zip", lambda: zip_of({"bomb.slp": (_ZEROS, 2000), "good.slp": _small(GOOD)})),
    "overlapping members": ("a.zip", lambda: zip_of({"bomb.slp": (deflated(12), 12 << 22)}, copies=2000)),
    "a zip in a zip": (
        "a.zip",
        lambda: zip_of({"in.zip": _small(zip_of({"bomb.slp": (_ZEROS, 2 << 30)})), "good.slp": _small(GOOD)}),
    ),
    "a zip of 2 GB in a zip": ("a.zip", lambda: zip_of({"bomb.zip": (_ZEROS, 2 << 30), "good.slp": _small(GOOD)})),
    "gzip": ("bomb.slp.gz", lambda: gzip.compress(_PIECE) * 500),
    "zstd": ("bomb.slp.zst", lambda: zstd(_PIECE) * 2000),
    "xz": ("bomb.slp.xz", lambda: lzma.compress(_PIECE, preset=0) * 500),
    "zstd with a window of 1 GB": ("bomb.slp.zst", lambda: _patched(zstd(GOOD), 4, b"\0\xa0")),
    "tar.gz without an end": ("a.tar.gz", lambda: gzip.compress(_claiming_tar(8 << 30)) + gzip.compress(_PIECE) * 500),
    "tar with a size of 8 GB": ("a.tar", lambda: _claiming_tar(8 << 30)),
    "tar.zst of zeros": ("a.tar.zst", lambda: zstd(_claiming_tar(8 << 34)) + zstd(_PIECE) * 2000),
    "tar with a name of 4 GB": (
        "a.tar.gz",
        lambda: gzip.compress(_claiming_tar(4 << 30, tarfile.GNUTYPE_LONGNAME)) + gzip.compress(_PIECE) * 100,
    ),
    "tar with a pax header of 4 GB": (
        "a.tar.gz",
        lambda: gzip.compress(_claiming_tar(4 << 30, tarfile.XHDTYPE)) + gzip.compress(_PIECE) * 100,
    ),
    "7z of 100 MB": ("a.7z", lambda: seven_zipped({"bomb.slp": bytes(100 << 20), "good.slp": GOOD})),
    "7z with a window of 4 GB": ("a.7z", _huge_window_7z),
    "7z with a list of 1 EB": ("a.7z", lambda: _checked_7z(seven_zipped({"a.slp": GOOD}), size=1 << 60)),
    "7z with a list elsewhere": ("a.7z", lambda: _checked_7z(seven_zipped({"a.slp": GOOD}), offset=1 << 62)),
    "slpz that claims 4 GB": ("bomb.slpz", lambda: _patched(pack(GOOD), 20, b"\xff\xff\xff\xff")),
    "slpz that claims 47 MB of 2 GB": (
        "bomb.slpz",
        lambda: assemble(b"\x35\4\x36\0\2", b"\x36ab", b"}", b"", size=47 << 20) + zstd(_PIECE) * 500,
    ),
}  # fmt: skip
"""Bombs: the name of the file, and the function that makes it."""


def info(path: Path) -> tuple[list[str], list[str], int]:
    """Lines of stdout and stderr of `slpstream info`, and its peak of memory in bytes."""
    program = (
        f"import atexit, re, runpy, sys\n{_PEAK}"
        "atexit.register(lambda: print(f'peak {peak()}', file=sys.stderr))\n"
        "runpy.run_module('slpstream', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", program, "info", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    lines = done.stderr.splitlines()
    peaks = [line for line in lines if line.startswith("peak ")]
    assert peaks, done.stderr
    return done.stdout.splitlines(), [line for line in lines if line not in peaks], 1024 * int(peaks[0].split()[1])


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_stay_below_the_limit(tmp_path: Path, bomb: str) -> None:
    name, make = BOMBS[bomb]
    path = tmp_path / name
    path.write_bytes(make())
    rows, problems, peak_bytes = info(path)
    assert peak_bytes < MAX_BYTES
    assert problems
    assert all(line.startswith(f"slpstream: {path}") for line in problems if " files in " not in line)
    assert not any("Traceback" in line for line in problems)
    if b"good.slp" in path.read_bytes():
        assert len(rows) == 1


MANY = 200_000


def _many(count: int) -> Files:
    return {f"folder/diamond-platinum-{number:032x}.slp": b"" for number in range(count)}


def _many_zip() -> bytes:
    return zip_of(dict.fromkeys(list(_many(1)), (b"\x03\x00", 0)), copies=MANY)


@pytest.mark.parametrize(
    ("name", "make"), [("a.zip", _many_zip), ("a.tar.gz", lambda: gzip.compress(tarred(_many(MANY)), 1))]
)
def test_hundreds_of_thousands_of_members_stay_below_the_limit(
    tmp_path: Path, name: str, make: Callable[[], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(make())
    program = (
        f"import re, sys\nfrom pathlib import Path\n{_PEAK}"
        "from slpstream.sources.archives.members import members\n"
        "from slpstream.sources.archives.packed import read_packed\n"
        "path = Path(sys.argv[1])\n"
        "count, last = 0, None\n"
        "for last in members(path, ('.slp',)): count += 1\n"
        "read_packed(last.path)\n"
        "print(count, peak())\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True)
    count, peak = map(int, done.stdout.split())
    assert count == MANY
    assert 1024 * peak < MAX_BYTES
