"""Declares `[odds]`, the endpoint of a game's odds, and the command `odds`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Message, Part


class Odds(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[odds]`: how likely each of two players is to win."""

    model: Annotated[
        str, Meta(description="File with the model, as `slpstream odds fit` writes it. Empty: the one in the package.")
    ] = ""


PART = Part(
    name="odds",
    docs="data/index.md",
    sections=[Section("odds", Odds)],
    start="slpstream.parts.odds.asked_odds:AskedOdds",
    endpoints="slpstream.parts.odds.endpoints:endpoints",
    messages=[
        Message(
            "odds",
            "`gameId`, `frame`, `frameCursor` (of this frame in the `finalized` log), `players`, `odds` (the chance of "
            "the first of them to win, from 0 to 1), `stocks`: twice a second of game time, and when a stock is lost; "
            "see `slpstream/parts/odds/docs.md`",
            "slpstream.parts.odds.schemas:SentOdds",
        )
    ],
    functions={
        "begin_odds": "slpstream.parts.odds.game_odds:begin_odds",
        "column_odds": "slpstream.parts.odds.column_odds:column_odds",
        "odds_in_rows": "slpstream.parts.odds.column_odds:odds_in_rows",
    },
    commands=[
        Command("odds", "Show who was likely to win, and score or fit the model.", "slpstream.parts.odds.cli:command")
    ],
)
