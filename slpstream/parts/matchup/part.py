"""Declares the matchup: its endpoint and its message."""

from __future__ import annotations

from slpstream.parts.interface import Message, Part

PART = Part(
    name="matchup",
    docs="production/index.md",
    start="slpstream.parts.matchup.matchups:Matchups",
    alias="request",  # it runs only while it answers requests
    endpoints="slpstream.parts.matchup.endpoints:endpoints",
    messages=[
        Message(
            "matchup",
            "the matchup of the set, as `/v1/stations/{station}/matchup` returns it: at the beginning of the "
            "subscription, and whenever it changes; see `slpstream/parts/matchup/docs.md`",
            "slpstream.parts.matchup.schemas:Matchup",
        )
    ],
)
