"""Declares the endpoints of marks, and the service `Marks`."""

from __future__ import annotations

from slpstream.parts.interface import Part

PART = Part(
    name="marks",
    start="slpstream.parts.marks.station_marks:StationMarks",
    alias="request",  # it runs only while it answers requests
    endpoints="slpstream.parts.marks.endpoints:endpoints",
)
