"""Fixtures for the tests of the pages, and the web server in the event loop of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from trio.testing import MockClock

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
from tests.web.served import Served, served

__all__ = ["browser", "drawing_browser", "empty_daemon", "folder", "headless_browser", "page", "playwright", "watched"]


@pytest.fixture
def patient_clock() -> MockClock:
    """A clock that jumps when all tasks wait, after a threshold because loopback bytes need a moment of real time."""
    return MockClock(autojump_threshold=0.05)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """The web server with the station `main`, in the test's event loop."""
    async with served() as server:
        yield server
