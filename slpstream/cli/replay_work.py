"""Examines replays in several processes, and returns the results in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from slpstream.cli.replay_files import (
    MAX_HELD_BYTES,
    FoundReplay,
    ReplayFile,
    bytes_sent,
    each_replay,
    has_archives,
    in_parts,
)

Result = TypeVar("Result")

_AHEAD = 4
"""How many tasks wait for each process."""
_MIN_PARALLEL_FILES = 64
"""With fewer files than this, starting processes takes longer than it saves."""
_FILES_PER_TASK = 16


def usable_cores() -> int:
    """Return how many cores this process is allowed to use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def examined_files(
    examine: Callable[[FoundReplay], Result], files: Sequence[ReplayFile], endings: tuple[str, ...], jobs: int | None
) -> Iterator[Result]:
    """Return an iterator over `examine(replay)` for each replay in some files, in order.

    There are `jobs` processes. By default, there is one for each core if there are many files, and otherwise none but
    this one.
    """
    many = len(files) >= _MIN_PARALLEL_FILES or has_archives(files)
    count = jobs or (usable_cores() if many else 1)
    if not has_archives(files):
        count = min(len(files), count)
    if count < 2:
        return map(examine, each_replay(files, endings))
    replays = each_replay(files, endings, by_name=True)
    return examined(examine, replays, jobs=count, per_task=_FILES_PER_TASK if many else 1)


def examined(
    examine: Callable[[FoundReplay], Result], replays: Iterable[FoundReplay], *, jobs: int, per_task: int
) -> Iterator[Result]:
    """Yield `examine(replay)` for each replay, in order.

    There are `jobs` processes, which take `per_task` replays at a time.
    """
    from slpstream.cli.process_pool import apply_to_all, map_in_order, process_pool, result_of

    parts = in_parts(replays, max_files=per_task, max_held_bytes=MAX_HELD_BYTES)
    with process_pool(jobs) as pool:
        for part in map_in_order(
            pool, partial(apply_to_all, examine), parts, ahead=_AHEAD * jobs, size_bytes=bytes_sent
        ):
            yield from result_of(part)
