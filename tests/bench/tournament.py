"""A tournament: fifty setups, each with a lossless client that repeatedly loses its connection.

There are four processes: a writer that plays one game after another at every setup in real time, `slpstream serve`, the
clients, and this one, which measures and compares. The lines of each client, over all its connections, must be the
lines of `dump` for its station's games, each exactly once and in order.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from slpstream.api import messages
from slpstream.model.messages import FramesMode
from tests.bench import live, machine
from tests.bench.clocks import RECORD
from tests.bench.listeners import mode_of
from tests.bench.live import line_of, module, process_of, stdin_of
from tests.bench.report import Figure, Form, quantile
from tests.daemons.process import DaemonProcess

STATIONS = 50
RECONNECTS_PER_SECOND = 10.0
_SECONDS = 300.0
_SHORT_SECONDS = 20.0
_GAME_SECONDS = 75.0
_WARM_UP_SHARE = 0.4


class Measured(NamedTuple):
    """Results of one run: CPU time in percent of one core, latencies in milliseconds, memory in MB (1e6 bytes)."""

    differences: list[str]
    """Differences between the lines of clients and the files, and other faults."""
    messages: int
    games: int
    reconnects_per_second: float
    latencies: list[float]
    """From just before the write of a frame to its arrival, even across a reconnect; in ascending order."""
    daemon_cpu: float
    clients_cpu: float
    writer_cpu: float
    others_cpu: float
    memory: list[float]
    """Resident memory of the daemon at equal intervals."""
    writer_late_ms: float

    def quantile(self, share: float) -> float:
        """A quantile of the latencies."""
        return quantile(self.latencies, share)

    @property
    def memory_growth(self) -> float:
        """The excess of the last quarter's peak over the earlier peak, once all rings are full."""
        settled = self.memory[int(len(self.memory) * _WARM_UP_SHARE) :]
        last = len(settled) * 7 // 12
        return max(0.0, max(settled[last:]) - max(settled[:last]))


def run(form: Form) -> list[Figure]:
    """Run fifty stations for five minutes. The short form only checks correctness."""
    short = float(os.environ.get("SLPSTREAM_TOURNAMENT_SECONDS", _SHORT_SECONDS))
    runs = [measure(short if form.short else _SECONDS) for _ in range(1 if form.short else form.runs)]
    for difference in [difference for measured in runs for difference in measured.differences]:
        print(difference)
    note = f"{sum(m.messages for m in runs):,} messages of {sum(m.games for m in runs):,} games"
    cpu = f"clients {runs[0].clients_cpu:.0f} %, writer {runs[0].writer_cpu:.0f} %, others {runs[0].others_cpu:.0f} %"
    late = f"max {max(m.latencies[-1] for m in runs):.0f} ms; writer itself late {runs[0].writer_late_ms:.1f} ms (p99)"
    resident = f"from {min(m.memory[0] for m in runs):.0f} to {max(max(m.memory) for m in runs):.0f} MB in all"
    return [
        Figure("tournament, differences from the files", [len(m.differences) for m in runs], "", 0.0, note),
        Figure("tournament, reconnects", [m.reconnects_per_second for m in runs], "a second", 9.5, "", at_least=True),
        Figure("tournament, latency p50", [m.quantile(0.5) for m in runs], "ms"),
        Figure("tournament, latency p99", [m.quantile(0.99) for m in runs], "ms", 16.7, late),
        Figure("tournament, CPU", [m.daemon_cpu for m in runs], "% of a core", None, cpu),
        Figure("tournament, memory that grows", [m.memory_growth for m in runs], "MB", 10.0, resident),
    ]


def measure(seconds: float) -> Measured:
    """Run all processes once."""
    with live.stations(STATIONS) as (daemon, root, folders):
        return _measure(daemon, root, folders, seconds)


def _measure(daemon: DaemonProcess, root: Path, folders: Sequence[Path], seconds: float) -> Measured:
    written, seen = root / "written", root / "seen"
    clients_command = module(
        "listeners", "--port", daemon.url.rpartition(":")[2], "--stations", str(len(folders)),
        "--reconnects-per-second", str(RECONNECTS_PER_SECOND), "--log", str(seen),
    )  # fmt: skip
    writer_command = module(
        "game_writer", *map(str, folders), "--seconds", str(seconds),
        "--game-seconds", str(min(_GAME_SECONDS, seconds / 2.5)), "--log", str(written),
    )  # fmt: skip
    with process_of(clients_command, seconds) as clients:
        line_of(clients)
        with process_of(writer_command, seconds) as writer:
            began = int(line_of(writer))
            pids = {"daemon": daemon.process.pid, "writer": writer.pid, "clients": clients.pid}
            memory: list[float] = []
            pid = daemon.process.pid
            cpu, others, _ = live.watch(
                pids, began, seconds - 0.5, lambda: memory.append(machine.resident_megabytes(pid)[0])
            )
            writer_late_ns = int(line_of(writer))
            games: list[int] = json.loads(line_of(writer))
        print(json.dumps(games), file=stdin_of(clients), flush=True)
        result = json.loads(line_of(clients))
    due = {(game, number): at for game, number, at in RECORD.iter_unpack(written.read_bytes())}
    arrivals = RECORD.iter_unpack(seen.read_bytes())
    latencies = sorted((at - due[game, number]) / 1e6 for game, number, at in arrivals if (game, number) in due)
    found = [
        f"{folder.name}: {difference}"
        for station, folder in enumerate(folders)
        for difference in differences(folder, station, result["clients"][station])
    ]
    found += [
        f"the daemon has logged: {line}"
        for line in daemon.lines
        if line.get("level") in ("warning", "error", "critical")
    ]
    return Measured(
        differences=found,
        messages=sum(game["lines"] for client in result["clients"] for game in client["games"].values()),
        games=sum(games),
        reconnects_per_second=sum(client["reconnects"] for client in result["clients"]) / result["seconds"],
        latencies=latencies,
        daemon_cpu=cpu["daemon"],
        clients_cpu=cpu["clients"],
        writer_cpu=cpu["writer"],
        others_cpu=others,
        memory=memory,
        writer_late_ms=writer_late_ns / 1e6,
    )


def differences(folder: Path, station: int, client: dict[str, Any]) -> Iterator[str]:
    """The differences of one client's lines from the files of its station."""
    yield from client["faults"]
    received: dict[str, Any] = client["games"]
    files = sorted(folder.iterdir())
    expected: list[str] = []
    for file in files:
        lines = [message.json(folder.name) for message in messages(file, frames=cast("FramesMode", mode_of(station)))]
        game_id = json.loads(lines[0])["gameId"]
        expected.append(game_id)
        if game_id not in received:
            yield f"{file.name}: no line was received"
            continue
        if received[game_id]["lines"] != len(lines):
            yield f"{file.name}: received {received[game_id]['lines']} of {len(lines)} lines"
        elif hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest() != received[game_id]["sha256"]:
            yield f"{file.name}: the lines differ"
    if list(received) != expected:
        yield f"the games were received as {list(received)} instead of {expected}"
