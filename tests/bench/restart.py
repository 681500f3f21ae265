"""Start and stop of the daemon, which bound how long a restart is noticed."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from websockets.sync.client import connect

from tests.bench.report import Figure, Form
from tests.daemons.process import DaemonProcess

CLIENTS = 20


def run(form: Form) -> list[Figure]:
    """Seconds until the daemon listens, and until it has ended with clients connected."""
    starts, stops = zip(*(_restart() for _ in range(form.times)), strict=True)
    return [
        Figure("start, until it listens", list(starts), "s", 5.0),
        Figure(f"stop by SIGTERM, with {CLIENTS} clients", list(stops), "s", 5.0),
    ]


def _restart() -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="slpstream-restart-") as folder, ExitStack() as stack:
        began = time.monotonic()
        daemon = DaemonProcess(Path(folder))
        started = time.monotonic() - began
        for _ in range(CLIENTS):
            stack.enter_context(connect(daemon.stream_url(station="*")))
        began = time.monotonic()
        daemon.terminate()
        return started, time.monotonic() - began
