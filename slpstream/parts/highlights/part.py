"""Declares the endpoints below `/v1/highlights`, and the service `Highlights`."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="highlights",
    start="slpstream.parts.highlights.game_highlights:GameHighlights",
    alias="request",  # it runs only while it answers requests
    endpoints="slpstream.parts.highlights.endpoints:endpoints",
)
