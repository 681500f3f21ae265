"""Hostile clients against a whole daemon. Honest subscribers receive everything, memory stays within the configured
limits, and counters show the dropped connections. `python -m tests.bench hostile` measures the delay that they cause.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.machine import allow_descriptors, resident_megabytes
from tests.daemons.process import DaemonProcess, running
from tests.hostile.canary import Canary
from tests.project import ROOT

FRAMES = 150
OUTBOX_BYTES = 32 * 1024
SOCKET_BYTES = 16 * 1024
RING_BYTES = 256 * 1024
MAX_CONNECTIONS = 1000
IDLE_CONNECTION_BYTES = 64 * 1024
"""The memory of a connection before its first request: 16 KB of head, h11, a task."""
CONFIG = f"""
[server]
max_connections = {MAX_CONNECTIONS}
[stream]
ring_bytes = {RING_BYTES}
outbox_bytes = {OUTBOX_BYTES}
socket_buffer_bytes = {SOCKET_BYTES}
[[stations]]
id = "main"
folder = "{{folder}}"
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


@contextmanager
def attacked(daemon: DaemonProcess, *counts: str) -> Iterator[dict[str, int]]:
    """Run hostile clients during the block. Yields a dictionary that gets the connections of each kind in the end."""
    port = daemon.url.rpartition(":")[2]
    command = [sys.executable, "-m", "tests.hostile.clients", "--port", port, *counts]
    connected: dict[str, int] = {}
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "attacking\n"
            yield connected
            out, _ = process.communicate(timeout=120)
            connected |= json.loads(out)
        finally:
            process.kill()


def counters(daemon: DaemonProcess, name: str) -> dict[str, int]:
    """The values of a counter by label."""
    rows = re.findall(rf'^{name}(?:{{\w+="(\w+)"}})? ([0-9.e+]+)$', daemon.text("/metrics"), re.MULTILINE)
    return {label: int(float(value)) for label, value in rows}


def await_counters(daemon: DaemonProcess) -> tuple[dict[str, int], ...]:
    """Wait until every counter of dropped and closed connections and of missed messages shows the attack; return them.

    The attackers run with the lowest priority. On a busy machine their 10 MB take longer than the game, and an answer
    can take more than ten seconds.
    """
    names = ("connections_dropped", "connections_closed", "lagged_messages")
    deadline = time.monotonic() + 60
    while True:
        try:
            dropped, closed, lagged = (counters(daemon, f"slpstream_{name}_total") for name in names)
            seen = dropped["room"] > 100 and closed.get("1009", 0) > 0 and lagged[""] > 0
            if seen or time.monotonic() > deadline:
                return dropped, closed, lagged
        except TimeoutError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    folder = tmp_path / "replays"
    folder.mkdir()
    config = tmp_path / "slpstream.toml"
    config.write_text(CONFIG.format(folder=folder))
    with running(arguments=("--config", str(config))) as process:
        process.wait_ready()
        yield process


def test_honest_subscribers_receive_everything_in_bounded_memory(daemon: DaemonProcess, tmp_path: Path) -> None:
    descriptors = allow_descriptors(4000)
    silent = min(1500, descriptors // 2)
    slow = ("never_reads=50", "reads_a_byte_a_second=50")
    floods = ("subscribes=50", "pings=50", "big_messages=10", "big_bodies=10")
    before, _ = resident_megabytes(daemon.process.pid)
    with attacked(daemon, *slow, *floods, "half_open=50", "slow_head=50", f"nothing={silent}") as connected:
        canary = Canary(daemon, "main", tmp_path / "replays" / "Game_1.slp", frames=FRAMES)
        assert canary.receive(FRAMES)
        _, exact = canary.finish()
        dropped, closed, lagged = await_counters(daemon)
        health = daemon.get("/healthz")
    assert exact
    assert health == {"status": "ok"}
    assert all(
        connected[kind] >= count for kind, count in (("never_reads", 50), ("slow_head", 50), ("nothing", silent))
    )
    # Silent clients were dropped to make room, messages of 10 MB were refused, and slow readers lagged.
    assert dropped["room"] > 100
    assert closed["1009"] > 0
    assert lagged[""] > 0
    _, max_megabytes = resident_megabytes(daemon.process.pid)
    websockets = 50 * 4 + 10
    bound = websockets * (OUTBOX_BYTES + RING_BYTES) + RING_BYTES * 2 + MAX_CONNECTIONS * IDLE_CONNECTION_BYTES
    assert max_megabytes - before < bound / 1e6
    assert daemon.terminate() == 0
    assert not [line for line in daemon.lines if line.get("level") in ("error", "critical")]
