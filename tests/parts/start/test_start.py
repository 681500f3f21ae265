"""`slpstream start`, and `slpstream` without arguments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import click
import pytest

from slpstream.cli import cli, main
from slpstream.parts.start import cli as start
from tests.cli.command_line import CONFIG, USAGE, error_line, slpstream


@contextmanager
def started(home: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run `slpstream start` as a new user, and read its first lines up to the last one."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SSH_", "DISPLAY", "WAYLAND"))}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "slpstream", "start", "--port", "0", *arguments],
        env=kept | {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(30, process.kill)
    limit.start()
    try:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        yield process, lines
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def test_opens_the_dashboard_if_there_is_a_display(tmp_path: Path) -> None:
    browser, url = tmp_path / "browser", tmp_path / "url"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" >"{url}.new"\nmv "{url}.new" "{url}"\n')
    browser.chmod(0o755)
    (tmp_path / "Slippi").mkdir()
    with started(tmp_path, BROWSER=str(browser), DISPLAY=":99") as (process, lines):
        assert lines[:2] == ["slpstream watches these folders:", f"  {tmp_path / 'Slippi'}"]
        page = lines[2].removeprefix("dashboard  ")
        assert page.startswith("http://127.0.0.1:")
        assert lines[3] == f"overlay    {page}overlay/Slippi"
        while not url.exists():
            assert process.poll() is None
            time.sleep(0.05)
        assert url.read_text() == f"{page}#first-run"


def test_second_start_names_the_running_one(tmp_path: Path) -> None:
    with started(tmp_path) as (_, lines):
        assert lines[1] == f"  {tmp_path / 'Slippi'}  (does not exist yet)"
        port = lines[2].rstrip("/").rpartition(":")[2]
        done = slpstream("start", "--port", port, "--no-browser")
        assert (done.returncode, done.stdout) == (0, f"slpstream already runs: http://127.0.0.1:{port}/\n")
        refused = slpstream("demo", "--port", port)
        assert refused.returncode == CONFIG
        assert error_line(refused)


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (ValueError, None)])
def test_interrupt_in_a_group_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int | None
) -> None:
    """A second Ctrl-C, which trio raises in an exception group."""

    def invoke(*_: object) -> None:
        raise BaseExceptionGroup("", [BaseExceptionGroup("", [error()])])

    monkeypatch.setattr(click.Group, "invoke", invoke)
    with pytest.raises(SystemExit if code else BaseExceptionGroup) as raised:
        main(["demo"])
    assert getattr(raised.value, "code", None) == code


def test_without_arguments_a_terminal_gets_start_and_a_program_gets_help(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(start.command, "callback", lambda **options: begun.append("start"))
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    with monkeypatch.context() as terminal:
        for stream in ("stdin", "stdout"):
            terminal.setattr(getattr(sys, stream), "isatty", lambda: True)
        cli.main([], standalone_mode=False)
        assert begun == ["start"]
        terminal.setenv("SSH_TTY", "/dev/pts/1")
        with pytest.raises(click.exceptions.NoArgsIsHelpError):
            cli.main([], standalone_mode=False)
    done = slpstream()
    assert done.returncode == USAGE
    assert "Usage: slpstream" in done.stderr


def test_browser_of_the_terminal_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.delenv("BROWSER", raising=False)
    for kind in (webbrowser.GenericBrowser, webbrowser.BackgroundBrowser):
        monkeypatch.setattr(kind, "open", lambda self, url: opened.append(url))
    for number, browser in enumerate((webbrowser.GenericBrowser("lynx"), webbrowser.BackgroundBrowser("firefox"))):
        monkeypatch.setattr(webbrowser, "get", lambda browser=browser: browser)
        start.open_page(f"http://127.0.0.1/{number}")
    assert opened == ["http://127.0.0.1/1"]
    monkeypatch.setattr(webbrowser, "get", Mock(side_effect=webbrowser.Error("none")))
    start.open_page("http://127.0.0.1/")


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a"}, "linux", False),
        ({}, "win32", True),
        ({}, "darwin", True),
        ({"SSH_TTY": "/dev/ttys1"}, "darwin", False),
    ],
)
def test_display(environ: dict[str, str], platform: str, expected: bool) -> None:
    assert start.has_display(environ, platform) == expected
