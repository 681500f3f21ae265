"""Debian's Chromium, driven by Playwright, for the tests of the pages.

Determinism: daemons are separate processes on free ports of 127.0.0.1 and are always stopped. A test waits for what the
page shows, with a deadline, and compares by frame number, so speed does not matter.

Pages must not write to the console, and must not send requests to other servers than the daemon.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, expect, sync_playwright

from tests.project import IN_CI, ROOT

CHROMIUM = Path("/usr/bin/chromium")
HEADLESS_SHELL = Path("/usr/bin/chromium-headless-shell")
"""The same browser without windows. It opens a page with half as much work, but rounds the widths of letters."""
ARTIFACTS = ROOT / "tests" / "artifacts"
TIMEOUT_MS = 20_000
STOP_SECONDS = 10.0
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)

LIKE_A_VIDEO = """document.documentElement.style.background =
    "linear-gradient(115deg, #f4f7ff 18%, #7fb2e5 18% 40%, #2c5f2e 40% 55%, #e9c46a 55% 70%, #8a1c3b 70% 85%, #fff 85%)"
"""
"""A background with everything that makes text hard to read: white, light, dark and colourful parts."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for the duration of the block. Without Chromium the tests are skipped, and fail in CI."""
    with playwright_with_chromium() as playwright, launched(playwright, CHROMIUM) as browser:
        yield browser


@contextmanager
def playwright_with_chromium() -> Iterator[Playwright]:
    """Playwright, of which a process can have only one at a time. Skips or fails like `chromium`."""
    if not CHROMIUM.exists():
        if IN_CI:
            pytest.fail(f"there is no {CHROMIUM}, and CI needs it")
        pytest.skip(f"there is no {CHROMIUM} (Debian: apt install chromium); only CI insists on it")
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def launched(playwright: Playwright, program: Path) -> Iterator[Browser]:
    """Chromium or its headless shell."""
    browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS, timeout=60_000)
    try:
        yield browser
    finally:
        browser.close()


class WatchedPage:
    """A page with a record of its console messages and requests."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requested: list[str] = []
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._request)
        page.on("websocket", lambda socket: self.requested.append(socket.url.replace("ws", "http", 1)))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Request) -> None:
        if not request.url.startswith("data:"):
            self.requested.append(request.url)

    def check(self, base: str, *, interrupted: bool = False) -> None:
        """Checks that nothing was written to the console or requested from elsewhere. `interrupted` allows connection
        errors, and a daemon that is starting."""
        own = re.compile(r"WebSocket connection to .* failed|Failed to load resource: (net::ERR_|.* status of 503)")
        complaints = [text for text in self.complaints if not (interrupted and own.search(text))]
        assert not complaints, complaints
        assert [url for url in self.requested if not url.startswith(base + "/")] == []


@contextmanager
def open_page(browser: Browser, **options: Any) -> Iterator[WatchedPage]:
    """Opens a page of 1920x1080 pixels in a fresh browser context."""
    context = browser.new_context(**({"viewport": {"width": 1920, "height": 1080}} | options))
    try:
        yield WatchedPage(context.new_page())
    finally:
        context.close()


def screenshot(page: Page, name: str) -> None:
    """Saves a picture for people to look at in `tests/artifacts/`. Nobody looks into the checkout of CI."""
    if IN_CI:
        return
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    page.screenshot(path=path, omit_background=True)
    print(f"screenshot: {path}")


class Demo:
    """`slpstream demo` as a separate process, on a free port."""

    def __init__(self, *arguments: str, log: Path) -> None:
        command = [sys.executable, "-m", "slpstream", "demo", "--strict", "--port", "0", *arguments]
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self._log = log
        self._output: list[str] = []
        self._listening = threading.Event()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        if not self._listening.wait(STOP_SECONDS):
            self.stop()
            raise AssertionError(f"the demo does not print its URL: {self._output}, {log.read_text()}")
        found = re.search(r"http://127\.0\.0\.1:\d+(?=/overlay/demo)", "".join(self._output))
        assert found is not None
        self.url = found[0]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            if "/overlay/demo" in line:
                self._listening.set()

    def stop(self) -> int:
        """Stops the demo with SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_SECONDS)
        self._reading.join(STOP_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.returncode


@contextmanager
def demo(*arguments: str, log: Path) -> Iterator[Demo]:
    """Runs a demo for the duration of the block."""
    running = Demo(*arguments, log=log)
    try:
        yield running
    finally:
        running.stop()
