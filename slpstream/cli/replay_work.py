"""Examines replays in several processes, and returns the results in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from slpstream.cli.process_pool import map_in_order, process_pool
from slpstream.cli.replay_files import MAX_HELD_BYTES, FoundReplay, bytes_sent, in_parts

Result = TypeVar("Result")

_AHEAD = 4
"""How many tasks wait for each process."""


def examined(
    examine: Callable[[FoundReplay], Result], replays: Iterable[FoundReplay], *, jobs: int, per_task: int
) -> Iterator[Result]:
    """Yield `examine(replay)` for each replay, in order.

    There are `jobs` processes, which take `per_task` replays at a time.
    """
    parts = in_parts(replays, max_files=per_task, max_held_bytes=MAX_HELD_BYTES)
    with process_pool(jobs) as pool:
        for part in map_in_order(pool, partial(_each, examine), parts, ahead=_AHEAD * jobs, size_bytes=bytes_sent):
            yield from part.result()


def _each(examine: Callable[[FoundReplay], Result], replays: Iterable[FoundReplay]) -> list[Result]:
    return [examine(found) for found in replays]
