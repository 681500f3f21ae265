"""Resources of a process over time, and whether they grow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

_LINE = "{:>8}  {:>11}  {:>7}  {:>7}  {:>9}"


class Sample(NamedTuple):
    """The resources at one moment."""

    seconds: float
    descriptors: int
    tasks: int
    threads: int
    memory_bytes: int


class Limit(NamedTuple):
    """The allowed growth from beginning to end: a share, plus a constant for noise."""

    field: str
    share: float
    noise: int


LIMITS = (
    Limit("descriptors", 0.05, 12),
    Limit("tasks", 0.05, 24),
    Limit("threads", 0.05, 4),
    Limit("memory_bytes", 0.10, 4 << 20),
)


def sample(pid: int, seconds: float, metrics: str) -> Sample:
    """The current resources of a process. The number of tasks is read from its metrics."""
    status = Path(f"/proc/{pid}/status").read_text()
    resources = {key: int(value) for key, value in re.findall(r"^(Threads|VmRSS):\s+(\d+)", status, re.MULTILINE)}
    tasks = re.search(r"^slpstream_tasks (\d+)", metrics, re.MULTILINE)
    assert tasks is not None, "the metrics have no number of tasks"
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Sample(seconds, descriptors, int(tasks[1]), resources["Threads"], resources["VmRSS"] * 1024)


def growing(samples: Sequence[Sample], first_seconds: float) -> list[str]:
    """A line for each resource that has grown; empty if all are flat.

    Compares the median over `first_seconds` without their first fifth, which includes the start, with the median over
    as much time at the end.
    """
    begin, end = samples[0].seconds, samples[-1].seconds
    early = [s for s in samples if begin + first_seconds / 5 <= s.seconds <= begin + first_seconds]
    late = [s for s in samples if s.seconds >= end - first_seconds * 0.8]
    assert early, "the run is too short to have a beginning"
    assert late, "the run is too short to have an end"
    found = []
    for limit in LIMITS:
        before, after = (median(getattr(s, limit.field) for s in part) for part in (early, late))
        if after > before * (1 + limit.share) + limit.noise:
            found.append(f"{limit.field}: {before:,.0f} at the beginning, {after:,.0f} at the end")
    return found


def table(samples: Sequence[Sample], rows: int = 30) -> str:
    """The resources over time, as a table of about `rows` rows."""
    lines = [_LINE.format("minute", "descriptors", "tasks", "threads", "memory MB")]
    step = max(1, len(samples) // rows)
    for one in samples[::step]:
        memory = f"{one.memory_bytes / 2**20:.1f}"
        lines.append(_LINE.format(f"{one.seconds / 60:.1f}", one.descriptors, one.tasks, one.threads, memory))
    return "\n".join(lines)
