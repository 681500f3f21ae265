"""Declares the page `/docs`, and the description of the API that it shows."""

from __future__ import annotations

from slpstream.parts.interface import Page, Part

PART = Part(
    name="api_docs",
    pages=[Page("/docs", "docs.html")],
    functions={"describe_api": "slpstream.parts.api_docs.openapi:document"},
)
