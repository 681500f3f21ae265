"""Fixtures for tests of pages: browsers and a daemon that the modules of a folder share, and a page for each test.

A `conftest.py` imports those that its folder needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.daemons.process import DaemonProcess, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Playwright

    from tests.browsers.pages import WatchedPage

# Imported late: Windows' Python also runs tests of these folders, and has no Playwright.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a station `main`."""
    folder = tmp_path / "main"
    folder.mkdir()
    return folder


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Playwright, started once for all modules of a folder."""
    from tests.browsers.chromium import playwright_with_chromium

    with playwright_with_chromium() as playwright:
        yield playwright


DRAWING = ("test_drawing", "test_fonts", "test_icons", "test_scenes", "test_scenes_boards")
"""The modules that measure drawn pixels."""


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    """Chromium for modules that measure drawn pixels, `headless_browser` for the others."""
    is_drawing = request.path.stem in DRAWING
    browser: Browser = request.getfixturevalue("drawing_browser" if is_drawing else "headless_browser")
    return browser


@pytest.fixture(scope="package")
def headless_browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium's headless shell, if it is installed, and otherwise Chromium."""
    from tests.browsers.chromium import CHROMIUM, HEADLESS_SHELL, launched

    with launched(playwright, HEADLESS_SHELL if HEADLESS_SHELL.exists() else CHROMIUM) as browser:
        yield browser


@pytest.fixture(scope="package")
def drawing_browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium itself."""
    from tests.browsers.chromium import CHROMIUM, launched

    with launched(playwright, CHROMIUM) as browser:
        yield browser


@pytest.fixture
def watched(browser: Browser) -> Iterator[WatchedPage]:
    """A page of 1920x1080 pixels in a separate context, with a record of its console messages and requests."""
    from tests.browsers.pages import open_page

    with open_page(browser) as watched:
        yield watched


@pytest.fixture
def page(watched: WatchedPage) -> Page:
    """The page of `watched`."""
    return watched.page


@pytest.fixture(scope="package")
def empty_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A daemon whose stations `station` and `side` have no games, for tests that only read its pages."""
    base = tmp_path_factory.mktemp("empty")
    folders = [base / name for name in ("station", "side")]
    for folder in folders:
        folder.mkdir()
    with running(*folders) as daemon:
        daemon.wait_ready()
        yield daemon
