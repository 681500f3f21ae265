"""The start-up time of commands and the daemon, and the number of threads of the daemon.

The compiled code of all modules is in a cache, as it is after the first start of an installation. The first run fills
the cache and is not counted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from tests.bench import machine
from tests.bench.games import EndlessGame
from tests.bench.live import stations
from tests.bench.report import Figure, Form
from tests.daemons.process import DaemonProcess

_STATIONS = 64
_FRAMES = 120
_POLL_SECONDS = 0.002
_SETTLE_SECONDS = 60.0
"""Idle worker threads end after ten seconds."""


def run(form: Form) -> list[Figure]:
    """Milliseconds of help pages, seconds until the daemon is ready, threads at 64 stations."""
    with tempfile.TemporaryDirectory(prefix="slpstream-start-") as name:
        cache = {"PYTHONPYCACHEPREFIX": name, "PYTHONDONTWRITEBYTECODE": ""}
        python = [_command(["-c", "pass"], cache) for _ in range(form.times + 1)][1:]
        figures = [_help(command, form, cache, median(wall for wall, _ in python)) for command in ("dump", "stats")]
        ready = [_ready(cache) for _ in range(form.times + 1)][1:]
    cpu_seconds = median(cpu for _, cpu in ready)
    threads = [_threads(form.seconds(_SETTLE_SECONDS)) for _ in range(1 if form.short else min(2, form.runs))]
    return [
        *figures,
        Figure("serve until ready", [wall for wall, _ in ready], "s", 0.5, f"of which CPU {cpu_seconds:.2f} s"),
        Figure(
            f"threads at {_STATIONS} stations", [later for later, _ in threads], "threads", 16,
            f"at most {max(highest for _, highest in threads)} while all games begin at the same moment",
        ),
    ]  # fmt: skip


def _help(command: str, form: Form, environment: Mapping[str, str], python_ms: float) -> Figure:
    runs = [_command(["-m", "slpstream", command, "--help"], environment) for _ in range(form.times + 1)][1:]
    cpu_ms = median(cpu for _, cpu in runs)
    note = f"of which CPU {cpu_ms:.0f} ms; Python alone takes {python_ms:.0f} ms"
    return Figure(f"{command} --help", [wall for wall, _ in runs], "ms", 100, note)


def _command(arguments: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """The wall-clock and CPU time of a Python process from start to end, in milliseconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (ended - began) * 1000, cpu_seconds * 1000


def _ready(environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds until a daemon with an empty folder is ready, and its CPU time until then, in seconds."""
    with tempfile.TemporaryDirectory(prefix="slpstream-start-") as folder:
        began = time.monotonic()
        daemon = DaemonProcess(Path(folder), environment=environment)
        try:
            while not _is_ready(daemon):
                time.sleep(_POLL_SECONDS)
            return time.monotonic() - began, machine.cpu_seconds(daemon.process.pid)
        finally:
            daemon.kill()


def _is_ready(daemon: DaemonProcess) -> bool:
    try:
        with urllib.request.urlopen(f"{daemon.url}/readyz", timeout=10):
            return True
    except urllib.error.HTTPError:
        return False


def _threads(seconds: float) -> tuple[int, int]:
    """The threads of a daemon some time after games began in all folders, and their maximum during that time."""
    game = EndlessGame()
    frames = b"".join(game.frame(index) for index in range(_FRAMES))
    with stations(_STATIONS) as (daemon, _, folders):
        for seed, folder in enumerate(folders):
            (folder / "Game.slp").write_bytes(game.head(seed) + frames)
        max_threads, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            max_threads = max(max_threads, machine.threads(daemon.process.pid))
            time.sleep(0.01)
        return machine.threads(daemon.process.pid), max_threads
