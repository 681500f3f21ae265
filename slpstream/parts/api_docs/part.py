"""Declares the page `/docs`."""

from __future__ import annotations

from slpstream.parts.interface import Page, Part

PART = Part(name="api_docs", pages=[Page("/docs", "docs.html")])
