"""Decide which of the files that exist when a tail starts are no longer being written.

A file's modification time shows this, unless it lies in the future. Then either the daemon's clock is slow (a board
without a battery starts in the past), or the file comes from a machine whose clock is fast. Such a file is at rest if
its first bytes show that it is finished, or if it is older than another file from the future by the idle time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from slpstream.sources.tail.scan import FileStat, Finding
from slpstream.sources.tail.tailer import FileTail, IsFinished, open_file


class FirstLook(NamedTuple):
    """How to read and judge the first bytes of files below a root."""

    root: str
    rewritable_bytes: int
    is_finished: IsFinished


def files_at_rest(
    findings: Mapping[str, Finding], now: float, idle_seconds: float, look: FirstLook | None
) -> frozenset[str]:
    """The paths of the files that have not been written for `idle_seconds` as of `now`, in Unix time.

    Blocks if there are files from the future and `look` is given; without it, only their times are compared.
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
