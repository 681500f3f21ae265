"""The browsers that the tests of the pages share. Tests open pages in contexts of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

# Imports are not at the top: Windows' Python runs the other tests of this folder, and has no Playwright.


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Playwright, started once for all modules of this folder."""
    from tests.web.pages import playwright_with_chromium

    with playwright_with_chromium() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium's headless shell, if it is installed, and otherwise Chromium."""
    from tests.web.pages import CHROMIUM, HEADLESS_SHELL, launched

    with launched(playwright, HEADLESS_SHELL if HEADLESS_SHELL.exists() else CHROMIUM) as browser:
        yield browser


@pytest.fixture(scope="package")
def drawing_browser(playwright: Playwright) -> Iterator[Browser]:
    """Chromium, for modules that measure what is drawn."""
    from tests.web.pages import CHROMIUM, launched

    with launched(playwright, CHROMIUM) as browser:
        yield browser
