"""Declares the limits of the index of games."""

from __future__ import annotations

from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row

PART = Part(
    name="expiry",
    start="slpstream.parts.expiry.expiry:Expiry",
    alias="retention",
    metrics=[
        Row("slpstream_expired_games_total", "counter", "Games removed from the index by its age and size limits."),
    ],
)
