"""The whole daemon in real time: CPU time of its process, and the latency from the write of a frame to its arrival.

There are three processes besides this one: a writer of games, `slpstream serve`, and clients that only read. Everything
is measured in the same window, which begins after a warm-up. CPU time is the user and system time of all threads of a
process. Latency is measured on a clock shared by all processes. It includes the time that the clients need for reading,
and the time spent waiting for a processor, because the daemon, the writer and the clients share one machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from tests.bench import machine, slippi_js
from tests.bench.clocks import RECORD
from tests.bench.game_writer import FILE_NAME
from tests.bench.report import quantile
from tests.daemons.process import DaemonProcess, running
from tests.project import ROOT

_MAX_WARM_UP_SECONDS = 2.0
_COOL_DOWN_SECONDS = 0.5
_PLAYED_SECONDS = 2.0
_QUIET_SECONDS = 8.0
"""Long enough for the daemon to notice that the games do not grow."""
_SPARE_SECONDS = 60.0
_SAMPLE_SECONDS = 0.5
DESCRIPTORS = 8192
_LAGGED = "slpstream_lagged_messages_total"
_DROPPED = ("slpstream_connections_dropped_total", "slpstream_connections_closed_total")


class Server(Protocol):
    """The process that is measured: a daemon, a gateway, or a bare loop."""

    @property
    def url(self) -> str:
        """Its address, `http://127.0.0.1:PORT`."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it has logged."""

    @property
    def process(self) -> subprocess.Popen[Any]:
        """The process."""

    def text(self, path: str) -> str:
        """What it answers to a request."""


class BareLoop(NamedTuple):
    """A running `bare_loop`."""

    url: str
    process: subprocess.Popen[str]
    lines: list[dict[str, Any]]

    def text(self, path: str) -> str:
        """It has no metrics, and answers no requests."""
        return ""


class Load(NamedTuple):
    """The load of the daemon."""

    stations: int
    seconds: float
    subscribers: int = 1
    """Subscribers of each station."""
    query: str = ""
    """The query of the subscription, without the station; by default all topics, live and conflating."""
    sample_every: int = 1
    """One of this many subscribers logs the arrival of frames."""
    in_step: bool = False
    """Whether all stations write simultaneously."""
    peer: bool = False
    """Whether slippi-js also follows the file of the first station."""
    disturbance: str = ""
    """One of `game_writer.DISTURBANCES`, applied to the file of the first station every second. Frames of that station
    do not count."""
    attackers: tuple[str, ...] = ()
    """Hostile clients in the form of `tests.hostile.clients`, such as `never_reads=50`."""

    @property
    def warm_up_seconds(self) -> float:
        """The duration of play before the window begins."""
        return min(_MAX_WARM_UP_SECONDS, self.seconds / 2)


class Measured(NamedTuple):
    """Results of one run: CPU time in percent of one core, latencies in milliseconds in ascending order."""

    daemon_cpu: float
    writer_cpu: float
    clients_cpu: float
    peer_cpu: float | None
    others_cpu: float
    """CPU time of processes outside the benchmark."""
    latencies: list[float]
    frames: int
    """Number of frames that the sampled subscribers should have received in the window."""
    messages_per_second: float
    """Messages of all types, delivered to all subscribers."""
    bytes_per_frame: float
    lagged: int
    writer_late_ms: float
    """The lateness of the writer itself (p99)."""
    attackers_cpu: float | None
    dropped: int
    """Number of connections that the daemon has ended."""
    peak_megabytes: float
    """Peak resident memory of the daemon."""

    def quantile(self, share: float) -> float:
        """A quantile of the latencies, in milliseconds."""
        return quantile(self.latencies, share)

    @property
    def missed(self) -> int:
        """Number of frames that did not arrive."""
        return self.frames - len(self.latencies)


def make_folders(root: Path, count: int) -> list[Path]:
    """Create folders of stations, named `s00` and so on."""
    folders = [root / f"s{station:02}" for station in range(count)]
    for folder in folders:
        folder.mkdir()
    return folders


@contextmanager
def stations(count: int) -> Iterator[tuple[DaemonProcess, Path, list[Path]]]:
    """A ready daemon with empty stations, a temporary folder, and the folders of the stations in it."""
    machine.allow_descriptors(DESCRIPTORS)
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        folders = make_folders(Path(name), count)
        with running(*folders) as daemon:
            daemon.wait_ready()
            yield daemon, Path(name), folders


def measure(load: Load) -> Measured:
    """Run all processes once."""
    with stations(load.stations) as (daemon, root, folders):
        return measure_at(load, daemon, root, folders)


def idle_cpu(count: int, seconds: float) -> float:
    """CPU time of a daemon in percent of a core, while the games of all its stations are paused."""
    with stations(count) as (daemon, root, folders):
        arguments = [*map(str, folders), "--seconds", str(_PLAYED_SECONDS), "--log", str(root / "log")]
        with process_of(module("game_writer", *arguments), _PLAYED_SECONDS) as writer:
            line_of(writer)
            line_of(writer)
        time.sleep(_QUIET_SECONDS)
        cpu, _, _ = watch({"daemon": daemon.process.pid}, time.monotonic_ns(), seconds)
        return cpu["daemon"]


def measure_bare(load: Load, form: str, message_bytes: int) -> Measured:
    """Run all processes once, with one of `bare_loop.FORMS` in the place of the daemon."""
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        root = Path(name)
        folders = make_folders(root, load.stations)
        command = module("bare_loop", *map(str, folders), "--form", form, "--message-bytes", str(message_bytes))
        with process_of(command, load.seconds) as process:
            server = BareLoop(f"http://127.0.0.1:{int(line_of(process))}", process, [])
            return measure_at(load, server, root, folders)


def measure_at(load: Load, daemon: Server, root: Path, folders: list[Path]) -> Measured:
    """Measure with clients at `daemon`, which may be a gateway, and games written into `folders`."""
    written, seen = root / "written", root / "seen"
    seconds = load.warm_up_seconds + load.seconds + _COOL_DOWN_SECONDS
    with ExitStack() as stack:
        port = daemon.url.rpartition(":")[2]
        listen = ["--port", port, "--stations", str(load.stations), "--subscribers", str(load.subscribers)]
        listen += ["--sample-every", str(load.sample_every), "--query", load.query, "--log", str(seen)]
        clients = stack.enter_context(process_of(module("listeners", *listen), load.seconds))
        line_of(clients)
        attackers = None
        if load.attackers:
            command = [sys.executable, "-m", "tests.hostile.clients", "--port", port, *load.attackers]
            attackers = stack.enter_context(process_of(command, load.seconds))
            line_of(attackers)
        arguments = [*map(str, folders), "--seconds", str(seconds), "--log", str(written)]
        arguments += ["--in-step"] if load.in_step else []
        arguments += ["--disturbance", load.disturbance] if load.disturbance else []
        writer = stack.enter_context(process_of(module("game_writer", *arguments), load.seconds))
        began = int(line_of(writer))
        processes = {"daemon": daemon.process.pid, "writer": writer.pid, "clients": clients.pid}
        if load.peer and slippi_js.missing() is None:
            command = slippi_js.command("follow", str(folders[0] / FILE_NAME))
            processes["peer"] = stack.enter_context(process_of(command, load.seconds)).pid
        if attackers is not None:
            processes["attackers"] = attackers.pid
        from_ns = began + int(load.warm_up_seconds * 1e9)
        cpu, others, window = watch(processes, from_ns, load.seconds)
        writer_late_ns = int(line_of(writer))
        time.sleep(_COOL_DOWN_SECONDS)
        metrics = daemon.text("/metrics")
        lagged, dropped = _counter(metrics, _LAGGED), sum(_counter(metrics, name) for name in _DROPPED)
        peak_megabytes = machine.resident_megabytes(daemon.process.pid)[1]
        stdin_of(clients).close()
        counts = json.loads(line_of(clients))
        if counts["closed"]:
            raise RuntimeError(f"the daemon has closed {counts['closed']} connections: {daemon.lines[-3:]}")
    due = {
        (station, number): at
        for station, number, at in RECORD.iter_unpack(written.read_bytes())
        if from_ns <= at < from_ns + window and not (load.disturbance and station == 0)
    }
    arrivals = RECORD.iter_unpack(seen.read_bytes())
    latencies = sorted(
        (at - due[station, number]) / 1e6 for station, number, at in arrivals if (station, number) in due
    )
    if not latencies:
        raise RuntimeError(f"no frame has arrived: {daemon.lines[-3:]}")
    scale = counts["read_bytes"] / counts["sampled_bytes"]
    return Measured(
        daemon_cpu=cpu["daemon"],
        writer_cpu=cpu["writer"],
        clients_cpu=cpu["clients"],
        peer_cpu=cpu.get("peer"),
        others_cpu=others,
        latencies=latencies,
        frames=len(due) * counts["sampled"] // load.stations,
        messages_per_second=counts["sampled_messages"] * scale / seconds,
        bytes_per_frame=counts["sampled_bytes"] / counts["sampled"] / (seconds * 60),
        lagged=lagged,
        writer_late_ms=writer_late_ns / 1e6,
        attackers_cpu=cpu.get("attackers"),
        dropped=dropped,
        peak_megabytes=peak_megabytes,
    )


def watch(
    processes: dict[str, int], from_ns: int, seconds: float, sample: Callable[[], object] | None = None
) -> tuple[dict[str, float], float, int]:
    """Wait for the window and measure CPU time during it. Meanwhile `sample` is called twice a second.

    Returns the CPU time of each process and that of all others in percent of a core, and the length of the window in
    nanoseconds.
    """

    def used() -> dict[str, float]:
        return {name: machine.cpu_seconds(pid) for name, pid in processes.items()}

    time.sleep(max(0.0, (from_ns - time.monotonic_ns()) / 1e9))
    began, busy, before = time.monotonic_ns(), machine.busy_seconds(), used()
    while (rest := began / 1e9 + seconds - time.monotonic()) > 0:
        if sample is not None:
            sample()
        time.sleep(min(rest, rest if sample is None else _SAMPLE_SECONDS))
    after = used()
    window, busy = time.monotonic_ns() - began, machine.busy_seconds() - busy
    cpu = {name: (after[name] - before[name]) / window * 1e11 for name in processes}
    return cpu, max(0.0, busy / window * 1e11 - sum(cpu.values())), window


def _counter(metrics: str, name: str) -> int:
    return sum(int(float(line.rpartition(" ")[2])) for line in metrics.splitlines() if line.startswith(name))


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of this package."""
    return [sys.executable, "-m", f"tests.bench.{name}", *arguments]


@contextmanager
def process_of(command: list[str], seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Run a process for the duration of the block, and kill it if it takes much longer than `seconds`."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=slippi_js.environment(),
    ) as process:
        guard = threading.Timer(seconds + _SPARE_SECONDS, process.kill)
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line of a process's output."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args!r} has exited early")
    return line


def stdin_of(process: subprocess.Popen[str]) -> IO[str]:
    """The standard input of a process."""
    assert process.stdin is not None
    return process.stdin
