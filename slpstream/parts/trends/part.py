"""Declares the trends: the command `trends`, `/v1/trends`, and the page `/trends`."""

from __future__ import annotations

from slpstream.parts.interface import Command, Page, Part

PART = Part(
    name="trends",
    docs="data/index.md",
    start="slpstream.parts.trends.player_trends:PlayerTrends",
    alias="request",  # it runs only while it answers requests
    endpoints="slpstream.parts.trends.endpoints:endpoints",
    pages=[Page("/trends", "trends.html")],
    commands=[
        Command("trends", "Show how a player's games change.", "slpstream.parts.trends.cli:command"),
    ],
)
