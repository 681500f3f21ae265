"""Highlights are the moments of a game that are worth showing again. They have the same form for every format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared

KIND = "highlight"
"""The `kind` of the events that announce highlights."""

Reason = Literal["kill", "zero-to-death", "damage", "length", "comeback", "last-stock"]


@prepared
class Highlight(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A moment worth showing again. A higher `score` is better; `docs/reference/stats.md` has the formula."""

    of: Annotated[
        Literal["conversion", "stock", "situation"],
        Meta(
            description="A conversion, the loss of a stock, or one of the configured situations, which occur in lists "
            "but not in events."
        ),
    ]
    player_index: Annotated[int, Meta(description="Index of the player who achieved it.")]
    opponent_index: Annotated[int, Meta(description="Index of the player who was hit or lost the stock.")]
    start_frame: int
    end_frame: int
    score: Annotated[float, Meta(description="Higher is better.")]
    reasons: Annotated[tuple[Reason, ...], Meta(description="The reasons for the highlight; empty for a situation.")]
    start_percent: Annotated[float, Meta(description="Percent of the opponent before it.")] = 0
    damage: Annotated[float, Meta(description="Damage of all its moves, in percent.")] = 0
    moves: Annotated[int, Meta(description="Number of moves that hit.")] = 0
    situation: Annotated[str, Meta(description="The name of the situation.")] = ""


def of_event(values: Mapping[str, Any]) -> Highlight:
    """Convert the payload of an event to the highlight that it announces.

    Raises `msgspec.ValidationError` if the payload doesn't contain one.
    """
    return msgspec.convert(values, Highlight)
