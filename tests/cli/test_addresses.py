"""The output of `serve` on a terminal: addresses to open, and missing folders."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from slpstream.cli.addresses import base_address, print_addresses


@pytest.mark.skipif(sys.platform == "win32", reason="it opens a pseudo-terminal, which only Unix has")
def test_serve_prints_addresses_before_its_log_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "setup 1").mkdir()
    ours, theirs = os.openpty()
    command = [
        sys.executable,
        "-m",
        "slpstream",
        "serve",
        str(tmp_path / "setup 1"),
        str(tmp_path / "away"),
        "--port",
        "0",
    ]
    process = subprocess.Popen(
        command, stdout=theirs, stderr=theirs, env=os.environ | {"STATE_DIRECTORY": str(tmp_path / "state")}
    )
    os.close(theirs)
    shown = b""
    missing = f"Station away waits for its folder, which does not exist yet: {tmp_path / 'away'}"
    try:
        while f"\r\n{missing}\r\n".encode() not in shown:
            shown += os.read(ours, 4096)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(30)
        os.close(ours)
    assert code == 0
    lines = shown.decode().split("\r\n")
    port = re.fullmatch(r"dashboard  http://127\.0\.0\.1:(\d+)/", lines[0])
    assert port
    base = f"http://127.0.0.1:{port[1]}"
    assert lines[1:3] == [f"overlay    {base}/overlay/away", f"overlay    {base}/overlay/setup-1"], "before the log"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:5151"),
        ("0.0.0.0", "http://127.0.0.1:5151"),
        ("::", "http://[::1]:5151"),
        ("::1", "http://[::1]:5151"),
        ("setup.local", "http://setup.local:5151"),
    ],
)
def test_base_address_can_be_opened_by_a_browser(host: str, address: str) -> None:
    assert base_address(host, 5151) == address


def test_many_stations_do_not_fill_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    print_addresses("http://127.0.0.1:5151", [f"setup-{number}" for number in range(50)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "The dashboard has the overlays of 42 more stations."
