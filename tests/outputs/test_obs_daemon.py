"""A daemon whose OBS is away reports it, and serves its stations as ever."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.daemons.process import DaemonProcess, running

pytestmark = pytest.mark.process


def readiness(daemon: DaemonProcess) -> list[str]:
    """The parts of the daemon that do not work."""
    try:
        with urllib.request.urlopen(f"{daemon.url}/readyz", timeout=10) as response:
            found = json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            found = json.load(error)
    missing: list[str] = found["missing"]
    return missing


def test_daemon_without_its_obs(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nothing listens there
        port = taken.getsockname()[1]
        config = tmp_path / "slpstream.toml"
        config.write_text(
            f"[obs]\nurl = 'ws://127.0.0.1:{port}'\n[[obs_rules]]\non = 'game_start'\nscene = 'Game'\n"
            f"[[stations]]\nid = 'main'\nfolder = '{tmp_path / 'main'}'\n"
        )
        with running(arguments=("--config", str(config))) as daemon:
            daemon.wait_ready()
            daemon.until(lambda: "OBS: Connection refused" in readiness(daemon))
            assert "slpstream_obs_connected 0.0" in daemon.text("/metrics")
            assert [station["id"] for station in daemon.get("/v1/stations")["stations"]] == ["main"]
            lines = [line for line in daemon.lines if line.get("event") == "OBS cannot be used; trying again"]
            assert len(lines) == 1, "each reason is logged once"
