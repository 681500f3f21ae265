"""Builds the library of `inject.c` and controls the faults of a daemon that has loaded it."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_SOURCE = Path(__file__).with_name("inject.c")
_FAULTS = struct.Struct("=iiiiq1024s")
_COUNT_OFFSET = 12


def compiler() -> str | None:
    """The path of a C compiler; `None` if there is no compiler."""
    return shutil.which("cc") or shutil.which("gcc")


@cache
def _library() -> Path:
    """Build the library, once per process."""
    library = Path(mkdtemp(prefix="slpstream-faults-")) / "inject.so"
    command = [
        compiler() or "cc",
        "-O2",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(_SOURCE),
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return library


class Injector:
    """The faults of one daemon, initially none."""

    def __init__(self, folder: Path) -> None:
        self._page_file = folder / "faults.page"
        self._page_file.write_bytes(bytes(mmap.PAGESIZE))
        with self._page_file.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables with which the daemon must be started."""
        return {"LD_PRELOAD": str(_library()), "SLPSTREAM_FAULTS": str(self._page_file)}

    def set(
        self,
        *,
        read_errno: int = 0,
        path: str = "",
        watch_errno: int = 0,
        overflow: bool = False,
        clock_seconds: float = 0,
    ) -> None:
        """Inject exactly these faults from now on."""
        count = self.count
        nanoseconds = round(clock_seconds * 1e9)
        packed = _FAULTS.pack(read_errno, watch_errno, overflow, count, nanoseconds, path.encode())
        self._page[:_COUNT_OFFSET] = packed[:_COUNT_OFFSET]
        self._page[_COUNT_OFFSET + 4 : _FAULTS.size] = packed[_COUNT_OFFSET + 4 :]

    @property
    def count(self) -> int:
        """The number of faults injected so far. Tests check it, because a fault that never occurs proves nothing."""
        count: int = struct.unpack_from("=i", self._page, _COUNT_OFFSET)[0]
        return count
