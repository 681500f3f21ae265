"""The JSON of `/v1/trends`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from slpstream.parts.trends.rows import TrendRow
from slpstream.web.schemas import Moment, Schema


class LeftOut(Schema, kw_only=True):
    """How many games of the player do not count."""

    not_two_players: Annotated[int, Meta(description="With teams, or other than two players.")] = 0
    computer: Annotated[int, Meta(description="Against the computer.")] = 0
    undecided: Annotated[int, Meta(description="Without a winner.")] = 0
    same_name: Annotated[int, Meta(description="Both players have such a name.")] = 0


class Trends(Schema, kw_only=True):
    """The games of one player that one of two people has won, in groups."""

    me: Annotated[list[str], Meta(description="The names or connect codes of the player.")]
    all: Annotated[TrendRow, Meta(description="All games together.")]
    left_out: LeftOut
    limited_to: Annotated[
        Moment | None, Meta(description="There are more games: only those from then on are counted. Else left out.")
    ] = None
    week: Annotated[list[TrendRow] | None, Meta(description="Weeks in their order.")] = None
    opponent: Annotated[list[TrendRow] | None, Meta(description="Opponents, most games first.")] = None
    character: Annotated[list[TrendRow] | None, Meta(description="The player's own characters.")] = None
    against: Annotated[list[TrendRow] | None, Meta(description="The opponents' characters.")] = None
    stage: list[TrendRow] | None = None
    more: Annotated[
        dict[str, int], Meta(description="How many rows of each kind are left out because there are too many.")
    ] = field(default_factory=dict)
