"""Browsers and a daemon shared by the tests of the pages, and a page for each test."""

from __future__ import annotations

from tests.browsers.fixtures import (
    browser,
    drawing_browser,
    empty_daemon,
    folder,
    headless_browser,
    page,
    playwright,
    watched,
)

__all__ = ["browser", "drawing_browser", "empty_daemon", "folder", "headless_browser", "page", "playwright", "watched"]
