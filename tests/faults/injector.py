"""The other side of `inject.c`: makes the library, and tells a daemon that runs with it what is to go wrong."""

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
_HAPPENED_AT = 12


def compiler() -> str | None:
    """A C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc")


@cache
def _library() -> Path:
    """Made once in a process."""
    made = Path(mkdtemp(prefix="slpstream-faults-")) / "inject.so"
    command = [compiler() or "cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(made), str(_SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return made


class Injector:
    """The faults of one daemon; none at first."""

    def __init__(self, folder: Path) -> None:
        self._page_file = folder / "faults.page"
        self._page_file.write_bytes(bytes(mmap.PAGESIZE))
        with self._page_file.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the daemon must be started with."""
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
        """From now on this goes wrong, and nothing else."""
        happened = self.happened
        nanoseconds = round(clock_seconds * 1e9)
        packed = _FAULTS.pack(read_errno, watch_errno, overflow, happened, nanoseconds, path.encode())
        self._page[:_HAPPENED_AT] = packed[:_HAPPENED_AT]
        self._page[_HAPPENED_AT + 4 : _FAULTS.size] = packed[_HAPPENED_AT + 4 :]

    @property
    def happened(self) -> int:
        """How often something went wrong so far: a fault that was not met proves nothing."""
        count: int = struct.unpack_from("=i", self._page, _HAPPENED_AT)[0]
        return count
