"""The machine, and what Linux tells of other processes: CPU time, memory."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

_MEGABYTE = 1e6


def facts() -> dict[str, str]:
    """What the figures depend on."""
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


def cpu_seconds(process_id: int) -> float:
    """User and system time of a process with all its threads. Linux counts it in hundredths of a second."""
    stat = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """CPU time of everything on this machine, and what the host of a virtual machine took from it."""
    cpu = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, cpu[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(process_id: int) -> tuple[float, float]:
    """Resident memory of a process in MB (1e6 bytes): now, and at its highest."""
    status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines()
    kibibytes = {name: value.split()[0] for name, _, value in (line.partition(":") for line in status) if value.strip()}
    return int(kibibytes["VmRSS"]) * 1024 / _MEGABYTE, int(kibibytes["VmHWM"]) * 1024 / _MEGABYTE


def allow_descriptors(count: int) -> int:
    """Raises this process's limit of open files, which its children inherit; how many there may be."""
    import resource  # not on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return count
