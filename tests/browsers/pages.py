"""Pages in fresh contexts of a browser, which must not write to the console or contact servers other than the daemon.

Determinism: a test waits for the page's contents, with a deadline, and compares by frame number, whatever the speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize

from tests.browsers.chromium import TIMEOUT_MS
from tests.project import IN_CI, ROOT

WIDE = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)
FULL_HD = ViewportSize(width=1920, height=1080)
LONG_MS = 60_000
"""The deadline for slow work of the daemon or a game."""
ARTIFACTS = ROOT / "tests" / "artifacts"


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
        """Check that nothing was written to the console or requested from other servers.

        `interrupted` allows connection errors, and a daemon that is starting."""
        own = re.compile(r"WebSocket connection to .* failed|Failed to load resource: (net::ERR_|.* status of 503)")
        complaints = [text for text in self.complaints if not (interrupted and own.search(text))]
        assert not complaints, complaints
        assert [url for url in self.requested if not url.startswith(base + "/")] == []


@contextmanager
def open_page(browser: Browser, **options: Any) -> Iterator[WatchedPage]:
    """Open a page of 1920x1080 pixels in a fresh browser context."""
    context = browser.new_context(**({"viewport": FULL_HD} | options))
    try:
        yield WatchedPage(context.new_page())
    finally:
        context.close()


def screenshot(page: Page, name: str) -> None:
    """Save a picture in `tests/artifacts/` for people to look at, except in CI."""
    if IN_CI:
        return
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    page.screenshot(path=path, omit_background=True)
    print(f"screenshot: {path}")
