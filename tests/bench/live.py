"""The whole daemon at real pace: CPU of its process, and the time from a frame's write to its arrival at a client.

Three processes: a writer of games, `slpstream serve`, clients that only read. CPU is the daemon's alone, user and
system, between the first frame and the last. Latency is on the clock that all processes share.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench.clocks import RECORD
from tests.bench.report import Figure
from tests.daemon_process import DaemonProcess, running

_ONE_KILOBYTE = (
    "fields=post.percent,post.stocksRemaining,post.positionX,post.positionY,post.facingDirection,post.actionStateId,"
    "post.shieldSize,post.lastAttackLanded,pre.joystickX,pre.joystickY,pre.cStickX,pre.cStickY,pre.buttons,"
    "post.currentComboCount,post.lastHitBy,post.actionStateCounter,post.hurtboxCollisionState,start"
)


class Measured(NamedTuple):
    """CPU as a part of one core; latencies in milliseconds, ascending."""

    cpu_percent: float
    latencies: list[float]
    read_bytes: int
    lagged: int
    frames: int

    def quantile(self, part: float) -> float:
        """A latency in milliseconds."""
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * part))]


def cpu_seconds(process_id: int) -> float:
    """User and system time of a process, in seconds."""
    return sum(int(part) for part in _stat(process_id)[11:13]) / 100


def _stat(process_id: int) -> list[str]:
    return Path(f"/proc/{process_id}/stat").read_text(encoding="ascii").rpartition(")")[2].split()


def measure(*, stations: int, each: int, seconds: float, query: str = "topics=game,frame", sample: int = 1) -> Measured:
    """Runs all three processes once."""
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        root = Path(name)
        folders = [root / f"s{station:02}" for station in range(stations)]
        for folder in folders:
            folder.mkdir()
        with running(*folders) as daemon:
            daemon.wait_ready()
            return _measure(daemon, root, folders, each, seconds, query, sample)


def _measure(
    daemon: DaemonProcess, root: Path, folders: list[Path], each: int, seconds: float, query: str, sample: int
) -> Measured:
    port = daemon.url.rpartition(":")[2]
    written, seen = root / "written", root / "seen"
    clients = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.bench.listeners",
            "--port",
            port,
            "--stations",
            str(len(folders)),
            "--each",
            str(each),
            "--seconds",
            str(seconds + 4),
            "--query",
            query,
            "--log",
            str(seen),
            "--sample",
            str(sample),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert clients.stdout is not None
    with clients, clients.stdout:
        assert clients.stdout.readline() == "connected\n"
        time.sleep(0.5)
        before = cpu_seconds(daemon.process.pid)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.bench.game_writer",
                *map(str, folders),
                "--seconds",
                str(seconds),
                "--log",
                str(written),
            ],
            check=True,
        )
        used = cpu_seconds(daemon.process.pid) - before
        size, lagged = map(int, clients.stdout.readline().split())
    times = {(station, number): at for station, number, at in RECORD.iter_unpack(written.read_bytes())}
    arrivals = list(RECORD.iter_unpack(seen.read_bytes()))
    latencies = sorted((at - times[station, number]) / 1e6 for station, number, at in arrivals)
    return Measured(used / seconds * 100, latencies, size, lagged, len(arrivals))


def one_station(*, short: bool) -> list[Figure]:
    """One station at 60 frames a second with one subscriber: CPU and latency."""
    m = measure(stations=1, each=1, seconds=3 if short else 30)
    beside = f"{m.frames} frames, max {m.latencies[-1]:.1f} ms"
    return [
        Figure(
            "one station, one subscriber", m.cpu_percent, "% of a core", 5.0, "slippi-js alone: 290 µs a frame, 1.7%"
        ),
        Figure("append to websocket message, p50", m.quantile(0.5), "ms", 1.5, beside),
        Figure("append to websocket message, p99", m.quantile(0.99), "ms", 8.0, beside),
    ]


def sixty_four_stations(*, short: bool) -> list[Figure]:
    """64 stations at 60 frames a second with one subscriber each."""
    m = measure(stations=64, each=1, seconds=3 if short else 20)
    beside = f"{m.frames} frames, p50 {m.quantile(0.5):.1f} ms, lagged {m.lagged}"
    return [
        Figure("64 stations, one subscriber each", m.cpu_percent, "% of a core", 100.0, beside),
        Figure("64 stations, p99", m.quantile(0.99), "ms", 16.7, beside),
    ]


def thousand_subscribers(*, short: bool) -> list[Figure]:
    """One station, 1,000 subscribers, messages of about 1 KB."""
    each = 200 if short else 1000
    seconds = 3 if short else 15
    m = measure(
        stations=1, each=each, seconds=seconds, query=f"topics=frame&{_ONE_KILOBYTE}", sample=50 if not short else 10
    )
    per_frame = m.read_bytes / each / (seconds * 60)
    beside = f"{per_frame:,.0f} B a frame, p99 {m.quantile(0.99):.1f} ms, lagged {m.lagged}"
    return [Figure(f"one station, {each:,} subscribers", m.cpu_percent, "% of a core", 50.0, beside)]
