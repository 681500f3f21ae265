"""Declares the endpoints below `/v1/chapters`."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="chapters",
    docs="production/index.md",
    start="slpstream.parts.chapters.station_clips:StationClips",
    alias="request",  # it runs only while it answers requests
    endpoints="slpstream.parts.chapters.endpoints:endpoints",
)
