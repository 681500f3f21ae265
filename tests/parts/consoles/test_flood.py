"""A daemon stays responsive while consoles and Dolphins send as fast as they can.

Determinism: the daemon's CPU time is measured, not its wait for a processor.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio

from slpstream.api import messages
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, LogReader
from tests.daemons.written import write_replay
from tests.parts.consoles.flooders import ENET, TCP, flooding
from tests.parts.consoles.spectators.dolphins import needs_enet
from tests.synthetic.match import synthetic_match

_SECONDS = 8
"""Long enough for the moment when all sources connect to be a small part of the figures."""
_MAX_BUSY_SECONDS = 0.15
"""In one turn of the loop, each of the twenty sources may use a slice of a millisecond, and its station reads what was
recorded. After a wait for a processor, all of them have more to process, and with cold caches."""
_MAX_LINES_PER_STATION = 75

pytestmark = pytest.mark.slow


class Probe:
    """Requests `/healthz` repeatedly, in a thread."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.busy_seconds: list[float] = []
        """Work of the daemon's event loop until each answer, in seconds."""
        self._daemon = daemon
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _worked_ns(self) -> int:
        """CPU time of the main thread, which other programs on the machine do not affect."""
        process = self._daemon.process.pid
        return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[0])

    def _run(self) -> None:
        url = urlsplit(self._daemon.url)
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=30)
        while not self._stopping.wait(0.01):
            before = self._worked_ns()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            self.busy_seconds.append((self._worked_ns() - before) / 1e9)
        connection.close()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def _configuration(folder: Path, ports: dict[str, int], copies: int) -> tuple[str, str]:
    stations = [("canary", f"folder = '{folder / 'canary'}'")]
    for kind, port in ports.items():
        source = f"{'dolphin' if kind in ENET else 'console'} = '127.0.0.1:{port}'"
        stations += [(f"{kind}-{copy}", source) for copy in range(copies)]
    tables = [f"[[stations]]\nid = '{name}'\n{source}\n" for name, source in stations]
    return configuration(folder, f"[recordings]\nfolder = '{folder / 'recordings'}'\n{''.join(tables)}")


@pytest.mark.parametrize(
    ("kinds", "copies"),
    [
        (list(TCP), 5),
        pytest.param(["messages", "dolphin"], 10, marks=needs_enet),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_flood(tmp_path: Path, kinds: list[str], copies: int) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    data = synthetic_match(seed=9, frames=60 * _SECONDS)
    with flooding(kinds) as ports:
        daemon = DaemonProcess(arguments=_configuration(tmp_path, ports, copies))
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
    assert [json.loads(line) for line in reader.lines] == [
        json.loads(m.json()) for m in messages(canary / "Game_1.slp")
    ]
    assert sorted(probe.busy_seconds)[int(len(probe.busy_seconds) * 0.99)] < _MAX_BUSY_SECONDS
    events = Counter(line["event"] for line in daemon.lines)
    assert len(daemon.lines) < _MAX_LINES_PER_STATION * (len(kinds) * copies + 1), events
