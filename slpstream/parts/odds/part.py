"""Declares `[odds]`, the endpoint of a game's odds, and the command `odds`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Part


class Odds(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[odds]`: how likely each of two players is to win."""

    model: Annotated[
        str, Meta(description="File with the model, as `slpstream odds fit` writes it. Empty: the one in the package.")
    ] = ""


PART = Part(
    name="odds",
    docs="data/odds.md",
    sections=[Section("odds", Odds)],
    start="slpstream.parts.odds.asked_odds:AskedOdds",
    endpoints="slpstream.parts.odds.endpoints:endpoints",
    commands=[
        Command("odds", "Show who was likely to win, and score or fit the model.", "slpstream.parts.odds.cli:command")
    ],
)
