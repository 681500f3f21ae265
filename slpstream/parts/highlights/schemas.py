"""The JSON of `/v1/highlights`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slpstream.model.highlight import Highlight
from slpstream.web.schemas import GameId, HighlightLinks, Moment, Player, Schema


class HighlightOdds(Schema, kw_only=True):
    """The chance of the player to win the game, from 0 to 1."""

    before: Annotated[float, Meta(description="In the frame before the highlight.")]
    after: Annotated[float, Meta(description="In its last frame.")]


class HighlightItem(Schema, kw_only=True):
    """One highlight in a list."""

    game_id: GameId
    number: Annotated[
        int,
        Meta(
            description="From 0, in the order in which the highlights of the game ended; from 100000 for situations, "
            "in the order in which they were known."
        ),
    ]
    station: Annotated[str, Meta(description="The station that was asked for, or else `station` of the game.")]
    played_at: Annotated[Moment, Meta(description="When the game arrived, or else began.")]
    player: Annotated[Player, Meta(description="The player whose moment it is.")]
    opponent: Annotated[Player, Meta(description="The player who was hit or lost the stock, or the other one.")]
    highlight: Annotated[Highlight, Meta(description="As in the event. Situations are in no event.")]
    odds: Annotated[HighlightOdds | None, Meta(description="With `order=swing`, for games that have odds.")] = None
    links: HighlightLinks


class HighlightList(Schema, kw_only=True):
    """A page of highlights."""

    highlights: list[HighlightItem]
    next: Annotated[str | None, Meta(description="`cursor` of the next page; left out on the last one.")] = None
