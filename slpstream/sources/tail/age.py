"""When a tail starts, decide which of the existing files are no longer being written.

Usually, the modification time of a file is enough to tell. However, it might lie in the future. This happens if the
clock of the daemon is slow (a board without a battery starts in the past), or if the file comes from a machine whose
clock is fast. In this case, a file is at rest if its first bytes show that it is finished, or if another file from the
future is newer by at least the idle time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slpstream.sources.tail.scan import FileStat, Finding
from slpstream.sources.tail.tailer import FileTail, IsFinished, open_file


class FirstLook(NamedTuple):
    """How to read the first bytes of files below a root, and how to tell from them whether a file is finished."""

    root: str
    rewritable_bytes: int
    is_finished: IsFinished


def files_at_rest(
    findings: Mapping[str, Finding], now: float, idle_seconds: float, look: FirstLook | None
) -> frozenset[str]:
    """Return the paths of all files that, at the Unix time `now`, have not been written to for `idle_seconds`.

    If there are files from the future and you pass a `look`, then this reads from the disk, so it can block. Otherwise,
    it only compares times.
    """
    modified = {path: found.mtime_ns / 1e9 for path, found in findings.items() if isinstance(found, FileStat)}
    at_rest = {path for path, seconds in modified.items() if seconds < now - idle_seconds}
    ahead = [path for path, seconds in modified.items() if seconds > now]
    if ahead and look is not None:
        at_rest |= _finished(ahead, look)
    newest = max((modified[path] for path in ahead if path not in at_rest), default=now)
    at_rest.update(path for path in ahead if modified[path] < newest - idle_seconds)
    return frozenset(at_rest)


def _finished(paths: list[str], look: FirstLook) -> set[str]:
    real_root = os.path.realpath(look.root)
    finished: set[str] = set()
    for path in paths:
        tail = open_file(path, real_root, look.rewritable_bytes)
        if not isinstance(tail, FileTail):
            continue  # it is opened again to be followed, and the problem is reported then
        try:
            head = tail.read(look.rewritable_bytes).data
        except OSError:
            continue
        finally:
            tail.descriptor.close()
        if look.is_finished(Path(path).name, head):
            finished.add(path)
    return finished
