"""Facts about the machine, and the CPU time and memory of other processes from /proc."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from statistics import median

_MEGABYTE = 1e6


def facts() -> dict[str, str]:
    """Properties of the machine that the figures depend on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()} of {sys.base_prefix}",
        "load at start": f"{load:.2f}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def loop_milliseconds() -> float:
    """CPU time of a loop that fits into every cache. It shows how much of a core the machine gives us.

    On a shared core, the loop takes up to twice as long, and code that needs the caches suffers more.
    """

    def once() -> float:
        began, total = time.process_time(), 0
        for number in range(100_000):
            total += number & 7
        return (time.process_time() - began) * 1000

    return median(once() for _ in range(20))


def cpu_seconds(process_id: int) -> float:
    """User and system time of all threads of a process, in steps of the kernel's clock tick (usually 10 ms)."""
    stat = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """CPU time of all processes on this machine, including the time stolen by the host of a virtual machine."""
    cpu = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, cpu[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(process_id: int) -> tuple[float, float]:
    """Resident memory of a process in MB (1e6 bytes): current and peak."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines()
    kibibytes = {name: value.split()[0] for name, _, value in (line.partition(":") for line in status) if value.strip()}
    return int(kibibytes["VmRSS"]) * 1024 / _MEGABYTE, int(kibibytes["VmHWM"]) * 1024 / _MEGABYTE


def threads(process_id: int) -> int:
    """The number of threads of a process."""
    return sum(1 for _ in Path(f"/proc/{process_id}/task").iterdir())


def allow_descriptors(count: int) -> int:
    """Raise the limit of open files of this process and its children. Returns the resulting limit, at most `count`."""
    import resource  # not available on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        return limit
    return count
