"""Run a real redis-server on 127.0.0.1, on a free port and in a temporary folder.

Without redis-server these tests are skipped; on CI they fail.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ports import free_port

_START_SECONDS = 15.0


class RedisProcess:
    """One server. It keeps its data and its port when it is killed and restarted."""

    def __init__(self, folder: Path, *options: str, tls: bool = False) -> None:
        """`options` are those of redis-server. With `tls`, the port accepts only TLS."""
        executable = shutil.which("redis-server")
        if executable is None:
            reason = "redis-server is missing (Debian: apt install redis-server)"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        self.port = free_port()
        ports = ["--port", "0", "--tls-port", str(self.port)] if tls else ["--port", str(self.port)]
        self._command = [executable, "--bind", "127.0.0.1", *ports, "--dir", str(folder), "--save", "", *options]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """The address, as a value of `fanout.url`."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the server, and return once it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "redis-server does not listen"
                assert self._process.poll() is None, "redis-server has ended"
                time.sleep(0.02)

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=15)
            self._process = None


@contextmanager
def redis(*options: str, tls: bool = False) -> Iterator[RedisProcess]:
    """Run a server for the duration of the block. Without options it writes nothing to the disk."""
    with tempfile.TemporaryDirectory(prefix="slpstream-redis-") as folder:
        server = RedisProcess(Path(folder), *options, tls=tls)
        try:
            yield server
        finally:
            server.kill()
