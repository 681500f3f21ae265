"""Declares the dashboard. Its files are in `static`."""

from __future__ import annotations

from slpstream.parts.interface import Page, Part

PART = Part(name="dashboard", docs="howto/dashboard.md", pages=[Page("/", "index.html", frames=True)])
