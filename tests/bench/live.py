"""The whole daemon at real pace: CPU of its process, and the time from a frame's write to its arrival at a client.

Three processes beside this one: a writer of games, `slpstream serve`, clients that only read. Everything is measured
in the same window, which begins when the games have run for a little. CPU is that of a process with all its threads,
user and system. Latency is on the clock that all processes share. What the clients need for reading is a part of it,
and so is waiting for a processor: the daemon, the writer and the clients share those of one machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from tests.bench import machine, slippi_js
from tests.bench.clocks import RECORD
from tests.bench.game_writer import FILE_NAME
from tests.daemon_process import DaemonProcess, running
from tests.project import ROOT

_ROOT = ROOT
_WARM_UP_SECONDS = 2.0
_COOL_DOWN_SECONDS = 0.5
_SECONDS_TO_SPARE = 60.0
DESCRIPTORS = 8192
_LAGGED = "slpstream_lagged_messages_total"
_DROPPED = ("slpstream_connections_dropped_total", "slpstream_connections_closed_total")


class Load(NamedTuple):
    """What the daemon has to do."""

    stations: int
    seconds: float
    each: int = 1
    """Subscribers of each station."""
    query: str = ""
    """What they ask for, beside the station; by default everything, live and conflating."""
    sample: int = 1
    """Every so-many-th subscriber notes when frames come."""
    in_step: bool = False
    """All stations write at the same moment."""
    peer: bool = False
    """slippi-js follows the same file of the first station."""
    attackers: tuple[str, ...] = ()
    """Hostile clients, as `tests.hostile.clients` has them: `never_reads=50`."""


class Measured(NamedTuple):
    """One run. CPU in percent of one core; latencies in milliseconds, ascending."""

    daemon_cpu: float
    writer_cpu: float
    clients_cpu: float
    peer_cpu: float | None
    others_cpu: float
    """What has nothing to do with the benchmark, and takes the processors from it."""
    latencies: list[float]
    frames: int
    """How many of the sampled subscribers' frames were due in the window."""
    messages_per_second: float
    """Delivered to all subscribers, of all types."""
    bytes_per_frame: float
    lagged: int
    writer_late: float
    """p99 of how late the writer itself was, in milliseconds."""
    attackers_cpu: float | None
    dropped: int
    """Connections that the daemon has ended."""
    resident: float
    """Most memory of the daemon, in megabytes."""

    def quantile(self, part: float) -> float:
        """A latency in milliseconds."""
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * part))]

    @property
    def missed(self) -> int:
        """Frames that did not come."""
        return self.frames - len(self.latencies)


def measure(load: Load) -> Measured:
    """Runs all processes once."""
    machine.allow_descriptors(DESCRIPTORS)
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        root = Path(name)
        folders = [root / f"s{station:02}" for station in range(load.stations)]
        for folder in folders:
            folder.mkdir()
        with running(*folders) as daemon:
            daemon.wait_ready()
            return measure_at(load, daemon, root, folders)


def measure_at(load: Load, daemon: DaemonProcess, root: Path, folders: list[Path]) -> Measured:
    """The clients are at `daemon`, be that a gateway; the games come into `folders`."""
    written, seen = root / "written", root / "seen"
    seconds = _WARM_UP_SECONDS + load.seconds + _COOL_DOWN_SECONDS
    with ExitStack() as stack:
        clients = stack.enter_context(_listeners(load, daemon, seen))
        line_of(clients)
        attackers = None
        if load.attackers:
            attackers = stack.enter_context(_attackers(load, daemon))
            line_of(attackers)
        arguments = [*map(str, folders), "--seconds", str(seconds), "--log", str(written)]
        arguments += ["--in-step"] if load.in_step else []
        writer = stack.enter_context(process_of(module("game_writer", *arguments), load.seconds))
        began = int(line_of(writer))
        processes = {"daemon": daemon.process.pid, "writer": writer.pid, "clients": clients.pid}
        if load.peer and slippi_js.missing() is None:
            command = slippi_js.command("follow", str(folders[0] / FILE_NAME))
            processes["peer"] = stack.enter_context(process_of(command, load.seconds)).pid
        if attackers is not None:
            processes["attackers"] = attackers.pid
        from_ns = began + int(_WARM_UP_SECONDS * 1e9)
        cpu, others, window = _watch(processes, from_ns, load.seconds)
        writer_late_ns = int(line_of(writer))
        time.sleep(_COOL_DOWN_SECONDS)
        metrics = daemon.text("/metrics")
        lagged, dropped = _counter(metrics, _LAGGED), sum(_counter(metrics, name) for name in _DROPPED)
        resident = machine.resident_megabytes(daemon.process.pid)[1]
        stdin_of(clients).close()
        counted = json.loads(line_of(clients))
        if counted["closed"]:
            raise RuntimeError(f"the daemon has closed {counted['closed']} connections: {daemon.lines[-3:]}")
    due = {
        (station, number): at
        for station, number, at in RECORD.iter_unpack(written.read_bytes())
        if from_ns <= at < from_ns + window
    }
    arrivals = RECORD.iter_unpack(seen.read_bytes())
    latencies = sorted(
        (at - due[station, number]) / 1e6 for station, number, at in arrivals if (station, number) in due
    )
    if not latencies:
        raise RuntimeError(f"no frame has arrived: {daemon.lines[-3:]}")
    everybody = counted["read_bytes"] / counted["sampled_bytes"]
    return Measured(
        daemon_cpu=cpu["daemon"],
        writer_cpu=cpu["writer"],
        clients_cpu=cpu["clients"],
        peer_cpu=cpu.get("peer"),
        others_cpu=others,
        latencies=latencies,
        frames=len(due) * counted["sampled"] // load.stations,
        messages_per_second=counted["sampled_messages"] * everybody / seconds,
        bytes_per_frame=counted["sampled_bytes"] / counted["sampled"] / (seconds * 60),
        lagged=lagged,
        writer_late=writer_late_ns / 1e6,
        attackers_cpu=cpu.get("attackers"),
        dropped=dropped,
        resident=resident,
    )


def _watch(processes: dict[str, int], from_ns: int, seconds: float) -> tuple[dict[str, float], float, int]:
    """Waits; then says, in percent of a core, what each process and all others used in the window, and how long that
    was in nanoseconds."""

    def used() -> dict[str, float]:
        return {name: machine.cpu_seconds(pid) for name, pid in processes.items()}

    time.sleep(max(0.0, (from_ns - time.monotonic_ns()) / 1e9))
    began, busy, before = time.monotonic_ns(), machine.busy_seconds(), used()
    time.sleep(seconds)
    after = used()
    window, busy = time.monotonic_ns() - began, machine.busy_seconds() - busy
    cpu = {name: (after[name] - before[name]) / window * 1e11 for name in processes}
    return cpu, max(0.0, busy / window * 1e11 - sum(cpu.values())), window


def _counter(metrics: str, name: str) -> int:
    return sum(int(float(line.rpartition(" ")[2])) for line in metrics.splitlines() if line.startswith(name))


# -- processes ---------------------------------------------------------------------------------------------------------


@contextmanager
def _listeners(load: Load, daemon: DaemonProcess, log: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = ["--port", daemon.url.rpartition(":")[2], "--stations", str(load.stations), "--each", str(load.each)]
    arguments += ["--query", load.query, "--sample", str(load.sample), "--log", str(log)]
    with process_of(module("listeners", *arguments), load.seconds) as process:
        yield process


@contextmanager
def _attackers(load: Load, daemon: DaemonProcess) -> Iterator[subprocess.Popen[str]]:
    port = daemon.url.rpartition(":")[2]
    command = [sys.executable, "-m", "tests.hostile.clients", "--port", port, *load.attackers]
    with process_of(command, load.seconds) as process:
        yield process


def module(name: str, *arguments: str) -> list[str]:
    """The command of a module beside this one."""
    return [sys.executable, "-m", f"tests.bench.{name}", *arguments]


@contextmanager
def process_of(command: list[str], seconds: float) -> Iterator[subprocess.Popen[str]]:
    """A process that surely ends: with the block, or when it has taken much longer than it should."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        env=slippi_js.environment(),
    ) as process:
        guard = threading.Timer(seconds + _SECONDS_TO_SPARE, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a process says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args!r} has ended early")
    return line


def stdin_of(process: subprocess.Popen[str]) -> IO[str]:
    """Where a process is told something."""
    assert process.stdin is not None
    return process.stdin
