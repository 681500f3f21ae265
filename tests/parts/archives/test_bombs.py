"""Commands stay below 200 MB and print a line for each problem, whatever an archive claims or unpacks to.

Bombs repeat compressed pieces, so that they are made quickly.
"""

from __future__ import annotations

import gzip
import lzma
import random
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.formats.slippi.built import Built
from tests.marks import release
from tests.parts.archives.packing import (
    Block,
    Coder,
    Files,
    blocks_7z,
    seven_zipped,
    tarred,
    zipped,
    zstd,
    zstd_with_window,
)
from tests.parts.archives.slpz_writer import assemble, pack

MAX_BYTES = 200_000_000
GOOD = Built((3, 18, 0)).frames(-123, -110).end().closed()
_PIECE = bytes(4 << 20)
_TIMEOUT_SECONDS = 300
_PEAK = "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
"""The peak of memory in KiB. Unlike `ru_maxrss`, it does not begin with that of the parent process."""
_WINDOW_LOG = 26
"""The largest supported window: 64 MiB."""


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


def _pax(size: str) -> bytes:
    """A tar archive whose pax header claims a size."""
    record = f" size={size}\n".encode()
    length = len(record)
    while len(str(length)) + len(record) != length:
        length = len(str(length)) + len(record)
    data = str(length).encode() + record
    return _claiming_tar(len(data), tarfile.XHDTYPE) + data + bytes(-len(data) % 512) + tarred({"good.slp": GOOD})


def _lying_zip(**lies: int) -> bytes:
    """A zip archive whose first member, which is stored, lies in its Zip64 field. The second one is good."""
    data = bytearray(zipped({"bomb.slp": GOOD, "good.slp": GOOD}, zipfile.ZIP_STORED))
    at = data.index(b"PK\1\2")
    extra = struct.pack("<2H3Q", 1, 24, lies.get("size", len(GOOD)), len(GOOD), lies.get("offset", 0))
    data[at + 20 : at + 28] = b"\xff" * 8  # both sizes
    data[at + 42 : at + 46] = b"\xff" * 4  # offset
    data[at + 30 : at + 32] = struct.pack("<H", len(extra))
    past_name = at + 46 + len("bomb.slp")
    data[past_name:past_name] = extra
    end = data.index(b"PK\5\6")
    data[end + 12 : end + 16] = struct.pack("<L", end - at)
    return bytes(data)


_LZMA = Coder(b"\3\1\1", b"\x5d" + struct.pack("<L", 64 << 20))


def _deep_7z() -> bytes:
    """A block that is compressed four times, which takes 64 MB each time."""
    bonds = [(number, number + 1) for number in range(3)]
    return blocks_7z(
        [Block("bomb.slp", [bytes(1000)], 1 << 30, [_LZMA] * 4, bonds), Block("good.slp", [GOOD], len(GOOD))]
    )


def _noise(size_bytes: int) -> bytes:
    """Bytes that cannot be compressed, so that a decompressor fills its window with them."""
    return random.Random(1).randbytes(size_bytes)


def _window_tar(files: Files) -> bytes:
    """A `.tar.zst` that uses all of the allowed memory before its files begin."""
    return zstd_with_window(tarred({"noise": _noise(70 << 20), **files}), _WINDOW_LOG)


def _windows_in_windows(inner_bytes: int) -> bytes:
    """A `.tar.zst` of a zip of a `.slp.zst` that the zip compresses again: three windows at the same time."""
    once = zstd_with_window(_noise(inner_bytes), _WINDOW_LOG)
    twice = zstd_with_window(once, _WINDOW_LOG)
    inner = bytearray(zipped({"bomb.slp.zst": twice}, zipfile.ZIP_STORED))
    for at, method_at in ((inner.index(b"PK\3\4"), 8), (inner.index(b"PK\1\2"), 10)):
        facts = struct.pack("<3L", zlib.crc32(once), len(twice), len(once))
        inner[at + method_at + 6 : at + method_at + 18] = facts
        inner[at + method_at : at + method_at + 2] = struct.pack("<H", 93)
    return _window_tar({"in.zip": bytes(inner)})


def _tiny_events(size_bytes: int) -> bytes:
    """A `.slpz` of events without payload, one byte each."""
    count = size_bytes // 2
    return assemble(
        b"\x35\x07\x36\0\2\x37\0\1", b"\x36ab", b"}", struct.pack(">I", count) + b"\x37" * count + bytes(count)
    )


def _noisy_slpz(size_bytes: int) -> bytes:
    count = size_bytes // 0x8001
    block = struct.pack(">I", count) + b"\x37" * count + _noise(count * 0x8000)
    return assemble(b"\x35\x07\x36\0\2\x37\x80\0", b"\x36ab", b"}", block)


class Bomb(NamedTuple):
    """An archive or a compressed replay."""

    file: str
    """Its name."""
    make: Callable[[], bytes]
    lines: int = 1
    """Number of its problems."""
    rows: int = 0
    """Number of its readable replays."""


_ZEROS = deflated(500)  # 2 GB
_MANY_ZEROS = deflated(11)  # 46 MB
BOMBS: Mapping[str, Bomb] = {
    "a member of 2 GB": Bomb(
        "a.zip", lambda: zip_of({"bomb.slp": (_ZEROS, 2 << 30), "good.slp": _small(GOOD)}), rows=1
    ),
    "2 GB that claim to be 2 kB": Bomb(
        "a.zip", lambda: zip_of({"bomb.slp": (_ZEROS, 2000), "good.slp": _small(GOOD)}), rows=1
    ),
    "overlapping members": Bomb("a.zip", lambda: zip_of({"bomb.slp": (_MANY_ZEROS, 11 << 22)}, copies=2000), lines=2),
    "members that are bombs together": Bomb(
        "a.zip", lambda: zip_of({f"bomb{i}.slp": (_MANY_ZEROS, 11 << 22) for i in range(60)}), lines=19
    ),
    "compressed members": Bomb(
        "a.zip", lambda: zipped(dict.fromkeys([f"{i}.slp.gz" for i in range(30)], gzip.compress(_PIECE) * 11)), lines=7
    ),
    "a zip in a zip": Bomb(
        "a.zip",
        lambda: zip_of({"in.zip": _small(zip_of({"bomb.slp": (_ZEROS, 2 << 30)})), "good.slp": _small(GOOD)}),
        rows=1,
    ),
    "a zip of 2 GB in a zip": Bomb(
        "a.zip", lambda: zip_of({"bomb.zip": (_ZEROS, 2 << 30), "good.slp": _small(GOOD)}), rows=1
    ),
    "zip with an offset of 8 EB": Bomb("a.zip", lambda: _lying_zip(offset=1 << 63), rows=1),
    "zip with a size of 16 EB": Bomb("a.zip", lambda: _lying_zip(size=(1 << 64) - 1), rows=1),
    "zip with a stored member of 1 TB": Bomb("a.zip", lambda: _lying_zip(size=1 << 40), rows=1),
    "gzip": Bomb("bomb.slp.gz", lambda: gzip.compress(_PIECE) * 500),
    "zstd": Bomb("bomb.slp.zst", lambda: zstd(_PIECE) * 2000),
    "xz": Bomb("bomb.slp.xz", lambda: lzma.compress(_PIECE, preset=0) * 500),
    "zstd with a window of 1 GB": Bomb("bomb.slp.zst", lambda: _patched(zstd(GOOD), 4, b"\0\xa0")),
    "tar.gz without an end": Bomb(
        "a.tar.gz", lambda: gzip.compress(_claiming_tar(8 << 30)) + gzip.compress(_PIECE) * 500, lines=2
    ),
    "tar with a size of 8 GB": Bomb("a.tar", lambda: _claiming_tar(8 << 30), lines=2),
    "tar with a size of 1 YB": Bomb("a.tar", lambda: _claiming_tar(1 << 80)),
    "tar.gz with a size of 1 YB": Bomb("a.tar.gz", lambda: gzip.compress(_claiming_tar(1 << 80))),
    "tar with a pax size of 30 digits": Bomb("a.tar", lambda: _pax("1" + 30 * "0")),
    "tar with a pax size of 5,000 digits": Bomb("a.tar", lambda: _pax(5000 * "9")),
    "tar with a pax size that is no number": Bomb("a.tar", lambda: _pax("²")),
    "tar with a pax size of 8 EB": Bomb("a.tar", lambda: _pax(str(1 << 63))),
    "tar.zst of zeros": Bomb("a.tar.zst", lambda: zstd(_claiming_tar(8 << 34)) + zstd(_PIECE) * 2000, lines=2),
    "tar with a name of 4 GB": Bomb(
        "a.tar.gz",
        lambda: gzip.compress(_claiming_tar(4 << 30, tarfile.GNUTYPE_LONGNAME)) + gzip.compress(_PIECE) * 100,
    ),
    "tar with a pax header of 4 GB": Bomb(
        "a.tar.gz",
        lambda: gzip.compress(_claiming_tar(4 << 30, tarfile.XHDTYPE)) + gzip.compress(_PIECE) * 100,
    ),
    "large members and a large window": Bomb(
        "a.tar.zst", lambda: _window_tar({f"{i}.slp": _noise(31 << 20) for i in range(3)}), lines=3
    ),
    "larger members and a large window": Bomb(
        "a.tar.zst", lambda: _window_tar({f"{i}.slp": _noise(47 << 20) for i in range(3)}), lines=3
    ),
    "large members": Bomb("a.tar", lambda: tarred({f"{i}.slp": _noise(47 << 20) for i in range(3)}), lines=3),
    "windows in windows": Bomb("a.tar.zst", lambda: _windows_in_windows(31 << 20)),
    "windows in windows around 46 MB": Bomb("a.tar.zst", lambda: _windows_in_windows(46 << 20)),
    "7z of 100 MB": Bomb("a.7z", lambda: seven_zipped({"bomb.slp": bytes(100 << 20), "good.slp": GOOD}), rows=1),
    "7z with a window of 4 GB": Bomb(
        "a.7z",
        lambda: blocks_7z(
            [Block("a.slp", [b"\0"], 4 << 30, [Coder(b"\x21", b"\x28")]), Block("good.slp", [GOOD], len(GOOD))]
        ),
        rows=1,
    ),
    "7z that is compressed several times": Bomb("a.7z", _deep_7z, rows=1),
    "7z of 300,000 blocks": Bomb(
        "a.7z",
        lambda: blocks_7z([*[Block("", [b""], 0)] * 300_000, Block("good.slp", [GOOD], len(GOOD))]),
        lines=0,
        rows=1,
    ),
    "7z of blocks of 200,000 kinds": Bomb(
        "a.7z", lambda: blocks_7z([Block("a.slp", [b""], 0, [Coder(struct.pack("<L", i))]) for i in range(200_000)])
    ),
    "7z with a place at 8 EB": Bomb("a.7z", lambda: blocks_7z([Block("a.slp", [GOOD], len(GOOD))], offset=1 << 63)),
    "7z with a list of 1 EB": Bomb("a.7z", lambda: _checked_7z(seven_zipped({"a.slp": GOOD}), size=1 << 60)),
    "7z with a list elsewhere": Bomb("a.7z", lambda: _checked_7z(seven_zipped({"a.slp": GOOD}), offset=1 << 62)),
    "slpz that claims 4 GB": Bomb("bomb.slpz", lambda: _patched(pack(GOOD), 20, b"\xff\xff\xff\xff")),
    "slpz that claims 30 MB of 2 GB": Bomb(
        "bomb.slpz",
        lambda: assemble(b"\x35\4\x36\0\2", b"\x36ab", b"}", b"", size=30 << 20) + zstd(_PIECE) * 500,
    ),
    "slpz of 15 million events": Bomb("bomb.slpz", lambda: _tiny_events(30 << 20)),
    "slpz of 4 million events": Bomb("bomb.slpz", lambda: _tiny_events(8 << 20)),
    "slpz of noise": Bomb("bomb.slpz", lambda: _noisy_slpz(15 << 20)),
}


def measured(*arguments: str | Path, zlib_ng: bool = True) -> tuple[list[str], list[str], int]:
    """Lines of stdout and stderr of a command, and the peak of memory of its largest process in bytes.

    Without `zlib_ng` it runs as if that were not installed.
    """
    program = (
        f"import atexit, re, resource, runpy, sys\n{_PEAK}"
        f"sys.modules.update({{}} if {zlib_ng} else {{'zlib_ng': None}})\n"
        "processes = lambda: max(peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "if __name__ == '__main__':\n"
        "    atexit.register(lambda: print(f'peak {processes()}', file=sys.stderr))\n"
        "    runpy.run_module('slpstream', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    lines = done.stderr.splitlines()
    peaks = [line for line in lines if line.startswith("peak ")]
    assert peaks, done.stderr
    return done.stdout.splitlines(), [line for line in lines if line not in peaks], 1024 * int(peaks[0].split()[1])


_DEFLATED = (
    ("2 GB that claim to be 2 kB", False),
    ("gzip", False),
    *release(
        ("members that are bombs together", False),
        ("compressed members", False),
        ("a zip in a zip", False),
        ("tar.gz without an end", False),
    ),
)
_LONG = ("7z of 300,000 blocks", "larger members and a large window", "windows in windows around 46 MB")
"""Bombs that take long, and are like others."""
_WITH_ZLIB_NG = (
    *((bomb, True) for bomb in BOMBS if bomb not in _LONG),
    *release(*((bomb, True) for bomb in _LONG)),
)


@pytest.mark.parametrize(("bomb", "zlib_ng"), [*_WITH_ZLIB_NG, *_DEFLATED])
def test_bombs_stay_below_the_limit(tmp_path: Path, bomb: str, zlib_ng: bool) -> None:
    path = tmp_path / BOMBS[bomb].file
    path.write_bytes(BOMBS[bomb].make())
    rows, lines, peak_bytes = measured("info", "--json", path, zlib_ng=zlib_ng)
    problems = [line for line in lines if " files in " not in line]
    assert all(line.startswith(f"slpstream: {path}") for line in problems), lines
    assert (len(rows), len(problems)) == (BOMBS[bomb].rows, BOMBS[bomb].lines), lines
    assert peak_bytes < MAX_BYTES


_IN_PROCESSES = (
    "2 GB that claim to be 2 kB",
    "zip with an offset of 8 EB",
    "large members and a large window",
    *release(
        "zip with a size of 16 EB",
        "overlapping members",
        "members that are bombs together",
        "tar with a size of 1 YB",
        "windows in windows",
        "slpz of 15 million events",
    ),
)
"""Bombs that are read by other commands too."""
_SENT = ("large members and a large window",)
"""Bombs with replays of 31 MiB, which are copied several times on the way from one process to another."""
MAX_SENT_BYTES = 350_000_000


@pytest.mark.parametrize("bomb", _IN_PROCESSES)
def test_bombs_stay_below_the_limit_in_several_processes(tmp_path: Path, bomb: str) -> None:
    path = tmp_path / BOMBS[bomb].file
    path.write_bytes(BOMBS[bomb].make())
    (tmp_path / "other.slp").write_bytes(GOOD)
    out = tmp_path / "out"
    rows, lines, peak_bytes = measured(
        "export", "--to", "training", "--jobs", "2", "-o", out, path, tmp_path / "other.slp"
    )
    copies = [line for line in lines if "the same game as" in line]
    max_bytes = MAX_SENT_BYTES if bomb in _SENT else MAX_BYTES
    problems = [line for line in lines if line.startswith(f"slpstream: {path}") and line not in copies]
    assert len(copies) == BOMBS[bomb].rows, lines
    assert len(problems) == BOMBS[bomb].lines, lines
    assert rows[-1].endswith(" of 1 games"), rows
    assert peak_bytes < max_bytes


@pytest.mark.parametrize("bomb", _IN_PROCESSES)
def test_bombs_stay_below_the_limit_in_the_index(tmp_path: Path, bomb: str) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    (folder / BOMBS[bomb].file).write_bytes(BOMBS[bomb].make())
    (folder / "other.slp").write_bytes(GOOD)
    config = tmp_path / "slpstream.toml"
    config.write_text(f'[store]\nfolder = "{tmp_path / "state"}"\n')
    rows, lines, peak_bytes = measured("reindex", folder, "--config", config)
    broken = BOMBS[bomb].lines
    good = 1 + BOMBS[bomb].rows
    assert rows[0].startswith(f"{good + broken} files: {good} games, {broken} broken"), (rows, lines)
    assert peak_bytes < MAX_BYTES


MANY = 200_000


def _many(count: int) -> Files:
    return {f"folder/diamond-platinum-{number:032x}.slp": b"" for number in range(count)}


def _many_tar(count: int) -> bytes:
    """The archive that `tarred` would create. Only names and checksums of the headers differ."""
    names = [name.encode() for name in _many(count)]
    header = tarfile.TarInfo(names[0].decode()).tobuf(tarfile.PAX_FORMAT)
    middle, rest = header[len(names[0]) : 148], header[156:]
    around = sum(middle) + sum(rest) + sum(b" " * 8)
    headers = b"".join(b"%b%b%06o\0 %b" % (name, middle, sum(name) + around, rest) for name in names)
    end = bytes(2 * tarfile.BLOCKSIZE)
    return headers + end + bytes(-len(headers + end) % tarfile.RECORDSIZE)


def _equal_names_zip() -> bytes:
    """All entries are the same."""
    data = zip_of(dict.fromkeys(list(_many(1)), (b"\x03\x00", 0)))
    at, end = data.index(b"PK\1\2"), data.index(b"PK\6\6")
    directory = MANY * data[at:end]
    end64 = bytearray(data[end:])
    struct.pack_into("<4Q", end64, 24, MANY, MANY, len(directory), at)
    struct.pack_into("<Q", end64, end64.index(b"PK\6\7") + 8, at + len(directory))
    return bytes(2 * MANY) + data[:at] + directory + bytes(end64)


@pytest.mark.release
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.zip", lambda: zip_of(dict.fromkeys(_many(MANY), (b"\x03\x00", 0)))),
        ("equal.zip", _equal_names_zip),
        ("a.tar.gz", lambda: gzip.compress(_many_tar(MANY), 1)),
        ("a.7z", lambda: blocks_7z([Block(name, [b""], 0) for name in _many(MANY)])),
    ],
)
def test_hundreds_of_thousands_of_members_stay_below_the_limit(
    tmp_path: Path, name: str, make: Callable[[], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(make())
    program = (
        f"import re, sys\nfrom pathlib import Path\n{_PEAK}"
        "from slpstream.parts.archives.members import members\n"
        "from slpstream.sources.packed import read_packed\n"
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
