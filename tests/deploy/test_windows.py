"""The one-file program for Windows, under Wine, in a Windows that has no Python.

Wine's programs listen on the addresses of this machine, so that Chromium on Linux sees what the program serves.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.deploy import artefacts
from tests.deploy.played_demo import demo
from tests.deploy.tools import needs
from tests.web.pages import chromium, open_page

pytestmark = needs("wine", "x86_64-w64-mingw32-gcc", "osslsigncode", "unzip", "python3.11")

FRAME_MS = 120_000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artefacts.windows_program(tmp_path_factory)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


class Wine:
    """A Windows of its own, in which nothing is installed."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "prefix"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SSH_"))},
            "WINEPREFIX": str(self.prefix),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree=d;mshtml=d",
        }

    def stop(self) -> None:
        """End all programs of this Windows."""
        subprocess.run(["wineserver", "--kill"], env=self.environment, check=False)


@pytest.fixture
def wine(tmp_path: Path) -> Iterator[Wine]:
    wine = Wine(tmp_path)
    yield wine
    wine.stop()


def test_program_plays_the_demo_to_its_end(program: Path, wine: Wine) -> None:
    with demo(["wine", program], "--once", "--speed", "30", environment=wine.environment, stop=wine.stop) as running:
        running.play_to_the_end()
    assert not [path for path in wine.prefix.rglob("python*") if path.is_file()]


def test_overlay_of_the_program_is_seen_by_a_browser(program: Path, wine: Wine, browser: Browser) -> None:
    with (
        demo(["wine", program], environment=wine.environment, stop=wine.stop) as running,
        open_page(browser) as watched,
    ):
        watched.page.goto(f"{running.url}/overlay/demo")
        expect(watched.page.locator(".players .name")).to_have_count(2)
        expect(watched.page.locator(".players .percent").first).to_have_text(re.compile(r"\d+%"))
        shown = "() => Number(document.querySelector('.players').dataset.frame) > 0"
        watched.page.wait_for_function(shown, timeout=FRAME_MS)
        watched.check(running.url)
