"""The browser that the tests of the pages share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium, started once for all modules of this folder. Tests open pages in contexts of their own."""
    # Not at the top: Windows' Python runs the other tests of this folder, and has no Playwright.
    from tests.web.pages import chromium

    with chromium() as browser:
        yield browser
