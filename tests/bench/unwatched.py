"""A page of Chromium that is measured without Playwright.

Playwright receives every websocket message and request of a page, through two more processes. With a thousand messages
a second, this costs a third of a core and delays the page. Here Chromium is queried only for the reported figures.
"""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from websockets.sync.client import ClientConnection, connect

from tests.browsers.chromium import CHROMIUM
from tests.browsers.pages import ARTIFACTS

_SECONDS = 30.0
_ARGUMENTS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--disable-quic",
    "--window-size=1920,1080",
    "about:blank",
)


class UnwatchedPage:
    """The only page of a browser, controlled by the DevTools protocol."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.send("Performance.enable")

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result. Raises `RuntimeError` if refused, `TimeoutError` without an answer."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._connection.recv(timeout=_SECONDS))
            if answer.get("id") == number:
                break
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def goto(self, url: str) -> None:
        """Start loading a page."""
        self.send("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """Evaluate an expression and return its JSON value. Raises `RuntimeError` with the exception that it threw."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "no description"))
        return result["result"].get("value")

    def wait_until(self, expression: str) -> None:
        """Wait until an expression is true. Raises `TimeoutError`."""
        deadline = time.monotonic() + _SECONDS
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(expression)
            time.sleep(0.1)

    def figures(self) -> dict[str, float]:
        """Chromium's performance metrics of the page, in seconds and bytes."""
        return {metric["name"]: metric["value"] for metric in self.send("Performance.getMetrics")["metrics"]}

    def screenshot(self, name: str) -> None:
        """Save a picture in `tests/artifacts/` for people to look at."""
        ARTIFACTS.mkdir(exist_ok=True)
        path = ARTIFACTS / f"{name}.png"
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))
        print(f"screenshot: {path}")


@contextmanager
def unwatched_page() -> Iterator[UnwatchedPage]:
    """A separate browser with one page, 1920 by 1080 pixels."""
    with tempfile.TemporaryDirectory(prefix="slpstream-chromium-", ignore_cleanup_errors=True) as name:
        profile = Path(name)
        with subprocess.Popen(
            [CHROMIUM, f"--user-data-dir={profile}", *_ARGUMENTS], stderr=subprocess.DEVNULL
        ) as browser:
            try:
                with connect(_address(profile), max_size=None) as connection:
                    page = UnwatchedPage(connection)
                    page.send(
                        "Emulation.setDeviceMetricsOverride", width=1920, height=1080, deviceScaleFactor=1, mobile=False
                    )
                    dark = {"name": "prefers-color-scheme", "value": "dark"}
                    page.send("Emulation.setEmulatedMedia", features=[dark])
                    yield page
            finally:
                browser.terminate()


def _address(profile: Path) -> str:
    """Wait for the first page and return its address. Raises `TimeoutError`."""
    port_file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if port_file.exists() and (lines := port_file.read_text(encoding="ascii").split()):
            with urlopen(Request(f"http://127.0.0.1:{lines[0]}/json/list"), timeout=_SECONDS) as answer:
                pages = [each for each in json.load(answer) if each["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError("Chromium has no page")
