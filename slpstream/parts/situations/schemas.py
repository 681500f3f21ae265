"""The JSON of `/v1/situations`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slpstream.model.summary import PlayerSummary
from slpstream.web.schemas import GameId, HighlightLinks, Moment, Schema


class SituationItem(Schema, kw_only=True):
    """One situation in a list. All but the links is as in the `situation` message."""

    game_id: GameId
    station: Annotated[str, Meta(description="The station that was asked for, or else the one where it was found.")]
    at: Annotated[Moment, Meta(description="When it was found.")]
    name: Annotated[str, Meta(description="Its name in the configuration.")]
    query: str
    number: Annotated[int, Meta(description="Its number among those of this name in this game, from 1.")]
    player: PlayerSummary
    opponent: PlayerSummary
    frames: Annotated[list[int], Meta(description="The frame in which each step happened.")]
    known_frame: Annotated[
        int, Meta(description="The frame in which it was known: later than the last step for kills.")
    ]
    links: HighlightLinks


class SituationList(Schema, kw_only=True):
    """A page of situations."""

    situations: list[SituationItem]
    next: Annotated[str | None, Meta(description="`cursor` of the next page; left out on the last one.")] = None
