"""A real `slpstream serve` in its own process, and a websocket client that keeps the lines it receives."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.daemons.configuration import configuration

START_SECONDS = 60  # Wine starts slowly, and a busy machine too
DEADLINE_SECONDS = 60.0
"""The deadline for every wait of a test. It is long because a busy machine does the same work, only later."""
_CLOSE_SECONDS = 0.3
"""Short, because a client that leaves early stops reading and never sees the daemon's close frame."""
STATUS_TYPES = {"hello", "snapshot", "station", "set", "situation", "lagged", "error"}


class DaemonProcess:
    """`slpstream serve FOLDER...` on a free port."""

    def __init__(
        self,
        *folders: Path,
        arguments: tuple[str, ...] = (),
        open_files: int | None = None,
        state: Path | None = None,
        around: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        subcommand: str = "serve",
        strict: bool = True,
    ) -> None:
        """Start the process and wait until it listens.

        `open_files` limits its file descriptors. `state` is its state folder, by default a temporary one. `around` is a
        command that runs the daemon, and `environment` is added to that of the test. `subcommand` is another subcommand
        that listens. With `strict`, a bug ends the process.
        """
        self._temporary = tempfile.TemporaryDirectory(prefix="slpstream-test-state-")
        environment = {**os.environ, "STATE_DIRECTORY": str(state or self._temporary.name), **(environment or {})}
        command = [
            sys.executable,
            "-m",
            "slpstream",
            subcommand,
            *map(str, folders),
            *(["--strict"] if strict else []),
            "--port",
            "0",
            "--log-format",
            "json",
        ]
        if open_files is not None:
            command = ["sh", "-c", f'ulimit -n {open_files}; exec "$0" "$@"', *command]
        self.process = subprocess.Popen([*around, *command, *arguments], stderr=subprocess.PIPE, env=environment)
        self.lines: list[dict[str, Any]] = []
        self._listening = threading.Event()
        self._drain = threading.Thread(target=self._read_log, daemon=True)
        self._drain.start()
        if not self._listening.wait(START_SECONDS):
            self.kill()
            raise AssertionError(f"the daemon does not listen: {self.lines}")
        line = next(line for line in self.lines if line.get("event") == "listening")
        self.url: str = line["url"]

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            try:
                self.lines.append(json.loads(raw))
            except json.JSONDecodeError:
                self.lines.append({"event": "not json", "text": raw.decode(errors="replace")})
            if self.lines[-1].get("event") == "listening":
                self._listening.set()

    def get(self, path: str) -> Any:
        """The JSON body of a response."""
        with urllib.request.urlopen(self.url + path, timeout=10) as response:
            return json.load(response)

    def text(self, path: str) -> str:
        """The body of a response as text."""
        with urllib.request.urlopen(self.url + path, timeout=10) as response:
            body: bytes = response.read()
            return body.decode()

    def request(self, method: str, path: str, body: Any = None, *, token: str = "") -> tuple[int, Any]:
        """The status and the JSON body of a response, including errors."""
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            response = urllib.request.urlopen(request, timeout=DEADLINE_SECONDS)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            content = response.read()
            is_json = "json" in response.headers.get("content-type", "")
            return response.status, json.loads(content) if is_json else content

    def status(self, path: str) -> int:
        """The status of a response."""
        return self.request("GET", path)[0]

    def missing(self) -> list[str]:
        """The missing conditions in `/readyz`; empty if the daemon is ready."""
        return list(self.request("GET", "/readyz")[1]["missing"])

    def until(self, condition: Callable[[], object], seconds: float = DEADLINE_SECONDS) -> None:
        """Wait until a condition is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, self.lines[-5:]
            assert self.process.poll() is None, self.lines[-20:]
            time.sleep(0.02)

    def wait_ready(self) -> None:
        """Wait until all folders have been scanned."""
        self.until(lambda: all(s["state"] != "offline" for s in self.get("/v1/stations")["stations"]))

    def terminate(self) -> int:
        """Stop the daemon with SIGTERM. Returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=15)
        self._finish()
        return code

    def kill(self) -> None:
        """Kill the daemon with SIGKILL."""
        self.process.kill()
        self.process.wait(timeout=15)
        self._finish()

    def _finish(self) -> None:
        self._drain.join(timeout=5)
        if self.process.stderr is not None:
            self.process.stderr.close()
        self._temporary.cleanup()

    def stream_url(self, **query: str) -> str:
        """The URL of the websocket."""
        return f"{self.url.replace('http', 'ws', 1)}/v1/stream?{urlencode(query)}"


@contextmanager
def running(
    *folders: Path,
    arguments: tuple[str, ...] = (),
    open_files: int | None = None,
    state: Path | None = None,
    around: tuple[str, ...] = (),
    strict: bool = True,
) -> Iterator[DaemonProcess]:
    """Run a daemon for the duration of the block."""
    daemon = DaemonProcess(
        *folders, arguments=arguments, open_files=open_files, state=state, around=around, strict=strict
    )
    try:
        yield daemon
    finally:
        if daemon.process.poll() is None:
            daemon.kill()


@contextmanager
def configured(folder: Path, text: str, *watched: Path) -> Iterator[DaemonProcess]:
    """Run a daemon with this configuration until the block ends. The block begins once all folders have been scanned.

    The configuration is written into `folder`, which also contains the state folder.
    """
    with running(*watched, arguments=configuration(folder, text), state=folder / "state") as daemon:
        daemon.wait_ready()
        yield daemon


class LogReader:
    """Keeps the log lines of one lossless subscription across connections, without the station."""

    def __init__(self, station: str, frames: str = "live") -> None:
        self.lines: list[bytes] = []
        self.cursor = "start"
        self.statuses: list[dict[str, Any]] = []
        self.ended = ""
        """The error that ended the last connection."""
        self._station = station
        self._frames = frames
        self._mark = b'"station":' + json.dumps(station).encode() + b","

    def read(
        self, daemon: DaemonProcess, until: Callable[[LogReader], bool], *, seconds: float = DEADLINE_SECONDS
    ) -> bool:
        """Connect, resume, and read until the condition is true (True) or the connection ends (False)."""
        url = daemon.stream_url(
            station=self._station,
            topics="game,frame,event,stats,diagnostic",
            frames=self._frames,
            delivery="lossless",
            cursor=self.cursor,
        )
        deadline = time.monotonic() + seconds
        try:
            with connect(url, max_size=None, open_timeout=DEADLINE_SECONDS, close_timeout=_CLOSE_SECONDS) as socket:
                while not until(self):
                    self._take(socket.recv(timeout=max(0.01, deadline - time.monotonic()), decode=False))
                return True
        except (ConnectionClosed, ConnectionError) as error:
            self.ended = str(error)
            return False

    def _take(self, line: bytes) -> None:
        head = re.match(rb'\{"type":"(\w+)"', line)
        assert head is not None, line[:100]
        if head[1].decode() in STATUS_TYPES:
            self.statuses.append(json.loads(line))
            return
        bare = line.replace(self._mark, b"", 1)
        self.lines.append(bare)
        cursor = re.search(rb'"cursor":"([^"]+)"', bare[:250])
        if cursor is not None:
            self.cursor = cursor[1].decode()
