"""Browsers for the tests of pages: Debian's Chromium, driven by Playwright, and checks of pages."""
