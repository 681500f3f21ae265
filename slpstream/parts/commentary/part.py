"""Declares the commentary: its endpoint and its page."""

from __future__ import annotations

from slpstream.parts.interface import Page, Part

PART = Part(
    name="commentary",
    docs="production/remote_controls.md",
    start="slpstream.parts.commentary.commentary:Commentary",
    alias="request",  # it runs only while it answers requests
    endpoints="slpstream.parts.commentary.endpoints:endpoints",
    pages=[Page("/commentary/{station}", "commentary.html")],
)
