"""A daemon stays responsive while consoles and Dolphins send as fast as they can.

Wall-clock time matters here: the figures are printed (`pytest -s`).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio

from slpstream.api import messages
from slpstream.simulate.play import write_replay
from tests.daemons.process import DaemonProcess, LogReader
from tests.sources.console.dolphins import needs_enet
from tests.sources.console.flooders import ENET, TCP, flooding
from tests.synthetic.match import synthetic_match

_SECONDS = 2
_SECONDS_OF_MANY = 8
"""With many sources, so that the moment when all of them connect is a small part of the figures."""
_MAX_HEALTHZ_SECONDS = 0.05
_MAX_LINES_PER_STATION = 75

pytestmark = pytest.mark.slow


def _percentile(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


def _waited_ns(process: int) -> dict[str, int]:
    """How long each thread of a process has waited for a processor."""
    waited: dict[str, int] = {}
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            waited[thread.name] = int((thread / "schedstat").read_text().split()[1])
    return waited


class Probe:
    """Asks for `/healthz` again and again, in a thread."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.seconds: list[float] = []
        self.own_seconds: list[float] = []
        """The same without the time in which the daemon had something to do and waited for a processor."""
        self.late: list[float] = []
        """How much later than asked for the thread woke up, each time: its wait for a processor."""
        self._process = daemon.process.pid
        self._url = urlsplit(daemon.url)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        connection = http.client.HTTPConnection(str(self._url.hostname), self._url.port, timeout=30)
        slept = time.perf_counter()
        while not self._stopping.wait(0.01):
            self.late.append(time.perf_counter() - slept - 0.01)
            before = _waited_ns(self._process)
            began = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            seconds = time.perf_counter() - began
            waited_ns = sum(after - before.get(thread, 0) for thread, after in _waited_ns(self._process).items())
            self.seconds.append(seconds)
            self.own_seconds.append(seconds - waited_ns / 1e9)
            slept = time.perf_counter()
        connection.close()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


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
        *(pytest.param([kind], 1, marks=pytest.mark.release) for kind in TCP),
        *(pytest.param([kind], 1, marks=[needs_enet, pytest.mark.release]) for kind in ENET),
        (["messages", "small-messages", "helo-in-game", "rubbish"], 5),
        pytest.param(["messages", "dolphin"], 10, marks=needs_enet),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_flood(tmp_path: Path, kinds: list[str], copies: int) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    data = synthetic_match(seed=9, frames=60 * (_SECONDS if copies == 1 else _SECONDS_OF_MANY))
    with flooding(kinds) as ports:
        daemon = DaemonProcess(arguments=("--config", str(_configuration(tmp_path, ports, copies))))
        try:
            daemon.until(lambda: daemon.get("/v1/stations")["stations"][0]["state"] == "idle")
            reader = LogReader("canary")
            reading = threading.Thread(
                target=reader.read, args=(daemon, lambda reader: b'"metadata"' in (reader.lines or [b""])[-1][:25])
            )
            probe = Probe(daemon)
            reading.start()
            trio.run(lambda: write_replay(data, canary / "Game_1.slp", writer="frame"))
            reading.join()
            probe.stop()
            assert daemon.process.poll() is None
        finally:
            daemon.kill()
    events = Counter(line["event"] for line in daemon.lines)
    print(
        f"\n{'+'.join(kinds)} x {copies}: /healthz p50 {_percentile(probe.seconds, 0.5) * 1000:.1f} ms,"
        f" p99 {_percentile(probe.seconds, 0.99) * 1000:.1f} ms, {_percentile(probe.own_seconds, 0.99) * 1000:.1f} ms"
        f" without waiting for a processor, {len(daemon.lines)} log lines"
    )
    assert [json.loads(line) for line in reader.lines] == [
        json.loads(m.json()) for m in messages(canary / "Game_1.slp")
    ]
    # A machine that is busy with something else has daemon and probe wait for a processor. In a moment that is busier
    # than others, the probe waits before its request and again before it reads the response.
    late = _percentile(probe.late, 0.99)
    assert _percentile(probe.own_seconds, 0.99) < _MAX_HEALTHZ_SECONDS + 2 * late
    assert len(daemon.lines) < _MAX_LINES_PER_STATION * (len(kinds) * copies + 1), events
