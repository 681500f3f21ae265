"""`slpstream start`, and `slpstream` without arguments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from slpstream.cli import cli, main, start


class Terminal:
    """A stand-in for a stream that belongs to a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def started(home: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """`slpstream start` as a new user, with its first lines up to the last one."""
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


def test_says_what_it_watches_and_where(tmp_path: Path) -> None:
    (tmp_path / "Slippi").mkdir()
    with started(tmp_path) as (_, lines):
        assert lines[0] == "slpstream watches these folders:"
        assert lines[1] == f"  {tmp_path / 'Slippi'}"
        assert lines[2].startswith("dashboard  http://127.0.0.1:")
        assert lines[3] == lines[2].replace("dashboard", "overlay  ") + "overlay/Slippi"


def test_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with started(tmp_path, "--no-browser") as (_, lines):
        assert lines[1] == f"  {tmp_path / 'Slippi'}  (does not exist yet)"


@pytest.mark.parametrize(("remote", "opened"), [({}, True), ({"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, False)])
def test_opens_the_dashboard_where_a_display_is(tmp_path: Path, remote: dict[str, str], opened: bool) -> None:
    browser, url = tmp_path / "browser", tmp_path / "url"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" >"{url}.new"\nmv "{url}.new" "{url}"\n')
    browser.chmod(0o755)
    waited = threading.Event()
    with started(tmp_path, BROWSER=str(browser), DISPLAY=":99", **remote) as (process, lines):
        page = lines[2].split()[1]
        for _ in range(200 if opened else 10):
            if url.exists():
                break
            waited.wait(0.05)
        assert process.poll() is None
        assert url.exists() == opened
        if opened:
            assert url.read_text() == f"{page}#first-run"


def test_second_start_names_the_one_that_runs(tmp_path: Path) -> None:
    with started(tmp_path) as (_, lines):
        port = lines[2].rstrip("/").rpartition(":")[2]
        command = [sys.executable, "-m", "slpstream", "start", "--port", port, "--no-browser"]
        done = subprocess.run(
            command, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=30, check=False
        )
        assert (done.returncode, done.stdout) == (0, f"slpstream already runs: http://127.0.0.1:{port}/\n")
        demo = [sys.executable, "-m", "slpstream", "demo", "--port", port]
        refused = subprocess.run(demo, capture_output=True, text=True, timeout=30, check=False)
        assert refused.returncode == 78
        assert len(refused.stderr.splitlines()) == 1


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (ValueError, None)])
def test_interrupt_in_a_group_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int | None
) -> None:
    """A second Ctrl-C, which comes out of trio in a group."""

    def invoke(*_: object) -> None:
        raise BaseExceptionGroup("", [BaseExceptionGroup("", [error()])])

    monkeypatch.setattr(click.Group, "invoke", invoke)
    with pytest.raises(SystemExit if code else BaseExceptionGroup) as raised:
        main(["demo"])
    assert getattr(raised.value, "code", None) == code


def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str] | None:
    """The arguments that the command line goes on with when there are none; `None` for the help."""
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    context = click.Context(cli)
    try:
        cli.parse_args(context, [])
    except click.exceptions.NoArgsIsHelpError:
        return None
    return [*context._protected_args, *context.args]


def test_without_arguments_people_get_start_and_programs_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    assert chosen(monkeypatch) == ["start"]
    monkeypatch.setenv("SSH_TTY", "/dev/pts/1")
    assert chosen(monkeypatch) is None
    done = subprocess.run([sys.executable, "-m", "slpstream"], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "Usage: slpstream" in done.stderr


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


def test_browser_of_the_terminal_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setattr(webbrowser.GenericBrowser, "open", lambda self, url: opened.append(url))
    monkeypatch.setattr(webbrowser.BackgroundBrowser, "open", lambda self, url: opened.append(url))
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("lynx"))
    start.open_page("http://127.0.0.1/1")
    assert opened == []
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.BackgroundBrowser("firefox"))
    start.open_page("http://127.0.0.1/2")
    assert opened == ["http://127.0.0.1/2"]

    def no_browser() -> webbrowser.BaseBrowser:
        raise webbrowser.Error("none")

    monkeypatch.setattr(webbrowser, "get", no_browser)
    start.open_page("http://127.0.0.1/")
