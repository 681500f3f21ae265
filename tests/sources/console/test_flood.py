"""A daemon stays responsive while consoles and Dolphins send as fast as they can.

Wall-clock time matters here: the figures are printed (`pytest -s`).
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio

from slpstream.api import messages
from slpstream.simulate.play import write_replay
from tests.daemon_process import DaemonProcess, LogReader
from tests.sources.console.flooders import ENET, TCP, flooding
from tests.sources.console.test_dolphin import needs_enet
from tests.synthetic.match import synthetic_match

_SECONDS = 10
_MAX_HEALTHZ_SECONDS = 0.05
_MAX_LINES_PER_STATION = 150

pytestmark = pytest.mark.slow


def _percentile(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


class Probe:
    """Asks for `/healthz` again and again, in a thread."""

    def __init__(self, url: str) -> None:
        self.seconds: list[float] = []
        self.late: list[float] = []
        """How much later than asked for the thread woke up, each time: its wait for a processor."""
        self._url = urlsplit(url)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        connection = http.client.HTTPConnection(str(self._url.hostname), self._url.port, timeout=30)
        slept = time.perf_counter()
        while not self._stopping.wait(0.01):
            began = time.perf_counter()
            self.late.append(began - slept - 0.01)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            slept = time.perf_counter()
            self.seconds.append(slept - began)
        connection.close()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def percentile(self, part: float) -> float:
        return _percentile(self.seconds, part)


def _configuration(folder: Path, ports: dict[str, int], copies: int) -> Path:
    lines = [
        "[recordings]",
        f"folder = '{folder / 'recordings'}'",
        "[[stations]]",
        'id = "canary"',
        f"folder = '{folder / 'canary'}'",
    ]
    for kind, port in ports.items():
        key = "dolphin" if kind in ENET else "console"
        for copy in range(copies):
            lines += ["[[stations]]", f'id = "{kind}-{copy}"', f'{key} = "127.0.0.1:{port}"']
    path = folder / "slpstream.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("kinds", "copies"),
    [
        *(([kind], 1) for kind in TCP),
        *(pytest.param([kind], 1, marks=needs_enet) for kind in ENET),
        (["messages", "small-messages", "helo-in-game", "rubbish"], 5),
        pytest.param(["messages", "dolphin"], 10, marks=needs_enet),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_flood(tmp_path: Path, kinds: list[str], copies: int) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    data = synthetic_match(seed=9, frames=60 * _SECONDS)
    with flooding(kinds) as ports:
        daemon = DaemonProcess(arguments=("--config", str(_configuration(tmp_path, ports, copies))))
        try:
            daemon.until(lambda: daemon.get("/v1/stations")["stations"][0]["state"] == "idle")
            reader = LogReader("canary")
            reading = threading.Thread(
                target=reader.read, args=(daemon, lambda reader: b'"metadata"' in (reader.lines or [b""])[-1][:25])
            )
            probe = Probe(daemon.url)
            reading.start()
            trio.run(lambda: write_replay(data, canary / "Game_1.slp", writer="frame"))
            reading.join()
            probe.stop()
            assert daemon.process.poll() is None
        finally:
            daemon.kill()
    events = Counter(line["event"] for line in daemon.lines)
    print(
        f"\n{'+'.join(kinds)} x {copies}: /healthz p50 {probe.percentile(0.5) * 1000:.1f} ms,"
        f" p99 {probe.percentile(0.99) * 1000:.1f} ms, {len(daemon.lines)} log lines"
    )
    assert [json.loads(line) for line in reader.lines] == [
        json.loads(m.json()) for m in messages(canary / "Game_1.slp")
    ]
    # Processes of a machine that is busy with something else wait for a processor, in proportion. In a moment that is
    # busier than others a request waits twice: the daemon for the request, and the probe for the response.
    waiting = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert probe.percentile(0.99) < _MAX_HEALTHZ_SECONDS * waiting + 2 * _percentile(probe.late, 0.99)
    assert len(daemon.lines) < _MAX_LINES_PER_STATION * (len(kinds) * copies + 1), events
