"""Browsers for the tests of pages: Debian's Chromium, driven by Playwright, and what checks a page in it."""
