"""The one-file program for Windows, under Wine, on a Windows without Python.

Programs under Wine listen on the addresses of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy import artefacts
from tests.deploy.played_demo import play_demo
from tests.deploy.tools import needs

MINGW = "x86_64-w64-mingw32-gcc"
pytestmark = needs("wine", MINGW, "osslsigncode", "python3.11", "bwrap")

CLICK_SECONDS = 120.0
# A network in which the default port is free.
ALONE = ("bwrap", "--dev-bind", "/", "/", "--proc", "/proc", "--unshare-net", "--unshare-pid", "--die-with-parent")
# Wine opens web pages with this Linux program. Here it records the pages that a browser would get.
XDG_OPEN = f"""\
#!{sys.executable}
import json, pathlib, sys, urllib.request
def get(path):
    return urllib.request.urlopen(sys.argv[1].partition("#")[0] + path, timeout=60).read().decode()
found = pathlib.Path(__file__).with_name("found")
found.write_text(json.dumps([sys.argv[1], get(""), get("v1/setup")]))
found.rename(found.with_name("opened"))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artefacts.windows_program(tmp_path_factory)


class Wine:
    """A separate Windows without installed programs."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "prefix"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SSH_"))},
            "WINEPREFIX": str(self.prefix),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree=d;mshtml=d",
        }

    def set_up(self) -> None:
        """Create the folders of this Windows, on an invisible display, and wait until it has stopped."""
        no_screen = ["wine", "reg", "add", r"HKCU\Software\Wine\Drivers", "/v", "Graphics", "/d", "null"]
        for command in (no_screen, ["wineserver", "--wait"]):
            subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def stop(self) -> None:
        """End all programs of this Windows."""
        subprocess.run(["wineserver", "--kill"], env=self.environment, check=False)


@pytest.fixture(scope="module")
def clean_windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of an unused Windows. Each test gets a copy."""
    return artefacts.made_once(tmp_path_factory, "clean-windows", lambda folder: Wine(folder).set_up())


@pytest.fixture
def wine(clean_windows: Path, tmp_path: Path) -> Iterator[Wine]:
    wine = Wine(tmp_path)
    subprocess.run(["cp", "--archive", "--reflink=auto", clean_windows / "prefix", wine.prefix], check=True)
    yield wine
    wine.stop()


def test_program_plays_the_demo_to_its_end(program: Path, wine: Wine) -> None:
    play_demo(["wine", program], environment=wine.environment, stop=wine.stop)
    assert not [path for path in wine.prefix.rglob("python*") if path.is_file()]


def test_double_click_opens_the_dashboard_of_the_launchers_folder(program: Path, wine: Wine, tmp_path: Path) -> None:
    """Its window shows the address and how to stop the program, and Ctrl-C stops it."""
    double_click, xdg_open, opened = tmp_path / "double_click.exe", tmp_path / "xdg-open", tmp_path / "opened"
    subprocess.run([MINGW, "-municode", "-o", double_click, Path(__file__).with_name("double_click.c")], check=True)
    xdg_open.write_text(XDG_OPEN)
    xdg_open.chmod(0o755)
    [settings] = wine.prefix.glob("drive_c/users/*/AppData/Roaming")
    (settings / "Slippi Launcher").mkdir()
    (settings / "Slippi Launcher/Settings").write_text(json.dumps({"settings": {"rootSlpPath": "C:\\Replays"}}))
    (wine.prefix / "drive_c/Replays").mkdir()

    with subprocess.Popen(
        [*ALONE, "wine", double_click, program],
        env=wine.environment | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + CLICK_SECONDS
            while not opened.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.1)
            shown, _ = process.communicate("\n", timeout=CLICK_SECONDS)
        finally:
            process.kill()
    assert opened.exists(), shown
    assert process.returncode == 0, shown
    assert "dashboard  http://127.0.0.1:5151/ " in shown
    assert "Ctrl-C stops slpstream." in shown
    url, page, setup = json.loads(opened.read_text())
    assert url == "http://127.0.0.1:5151/#first-run"
    assert "<title>slpstream" in page
    assert [folder["folder"] for folder in json.loads(setup)["folders"]] == ["C:\\Replays"]
