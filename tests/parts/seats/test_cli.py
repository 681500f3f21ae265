"""`slpstream seats`: codes of a running daemon on a terminal, in a page and as pictures."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slpstream.cli import cli
from tests.daemons.process import DaemonProcess, configured, running

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    root = tmp_path_factory.mktemp("seats")
    folders = [root / name for name in ("main", "side")]
    for folder in folders:
        folder.mkdir()
    with configured(root, "[seats]\non = true\naddress = 'http://192.168.1.20:5151/'\n", *folders) as daemon:
        yield daemon


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["seats", *arguments])


def test_codes_on_a_terminal(daemon: DaemonProcess) -> None:
    result = run(daemon.url)
    assert result.exit_code == 0, result.output
    urls = re.findall(r"^http://192\.168\.1\.20:5151/seats/(\w+)#[\w-]{24}$", result.stdout, re.MULTILINE)
    assert urls == ["main", "side"]
    assert "█" in result.stdout
    assert "The codes lead to http://192.168.1.20:5151 (from seats.address)." in result.stderr
    before = run(daemon.url, "--station", "side").stdout
    assert before in result.stdout + "\n"
    assert run(daemon.url, "--station", "side", "--renew").stdout != before
    assert run(daemon.url).stdout.startswith(result.stdout.partition("side\n")[0]), "other stations keep their codes"


def test_page_and_pictures(daemon: DaemonProcess, tmp_path: Path) -> None:
    sheet, folder = tmp_path / "codes.html", tmp_path / "codes"
    result = run(daemon.url, "--html", str(sheet), "--svg", str(folder))
    assert result.exit_code == 0, result.output
    page = sheet.read_text(encoding="utf-8")
    assert (page.count("<svg"), re.findall(r"<h2>(\w+)</h2>", page)) == (2, ["main", "side"])
    assert sorted(path.name for path in folder.iterdir()) == ["main.svg", "side.svg"]
    if sys.platform != "win32":
        assert [path.stat().st_mode & 0o077 for path in (sheet, *folder.iterdir())] == [0, 0, 0]
    assert daemon.text("/v1/seat-codes/main").encode() == (folder / "main.svg").read_bytes()


def test_failures(daemon: DaemonProcess, tmp_path: Path) -> None:
    result = run(daemon.url, "--station", "nowhere")
    assert (result.exit_code, result.stderr) == (74, "slpstream: no such station: nowhere\n")
    assert run("ftp://localhost").exit_code == 2
    result = run("http://127.0.0.1:9")
    assert result.exit_code == 74
    assert "127.0.0.1:9" in result.stderr
    result = run(daemon.url, "--html", str(tmp_path / "no/folder.html"))
    assert result.exit_code == 74


def test_seats_are_off(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        result = run(daemon.url)
        assert result.exit_code == 78
        assert "seats are off" in result.stderr


def test_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run()
    assert (result.exit_code, result.stderr) == (2, "slpstream: seats needs segno: pip install 'slpstream[seats]'\n")
