"""Debian's Chromium, driven by Playwright. Without it, the tests that need it are skipped, and fail in CI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from tests.project import IN_CI

CHROMIUM = Path("/usr/bin/chromium")
HEADLESS_SHELL = Path("/usr/bin/chromium-headless-shell")
"""The same browser without windows. It opens a page with half as much work, but rounds the widths of letters."""
TIMEOUT_MS = 60_000
"""The deadline for the expected contents of a page."""
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for the duration of the block. Without Chromium the tests are skipped, and fail in CI."""
    with playwright_with_chromium() as playwright, launched(playwright, CHROMIUM) as browser:
        yield browser


@contextmanager
def playwright_with_chromium() -> Iterator[Playwright]:
    """Playwright. A process can run only one instance at a time. Skips or fails like `chromium`."""
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
