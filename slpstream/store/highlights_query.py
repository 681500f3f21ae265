"""The query of `/v1/highlights`, and the rows that you get as its result."""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from slpstream.model.highlight import Highlight

MAX_HIGHLIGHTS = 200
SITUATIONS = 100_000
"""The number of the first situation among the highlights of a game. Logged highlights have smaller numbers."""
_KEY = re.compile(r"-?[0-9]{1,15}\.[0-9a-f]{32}\.[0-9]{1,6}")


class HighlightKey(tuple[int, str, int]):
    """The place of a highlight in the list.

    It consists of the score, swing or time of its game, followed by the game id, and the number within the game.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> HighlightKey:
        """Parse a key that was converted to text with `str`. Raises `ValueError` for any other text."""
        if not _KEY.fullmatch(text):
            raise ValueError("expected `next` of the previous page")
        first, game_id, number = text.split(".")
        return cls((int(first), game_id, int(number)))

    def __str__(self) -> str:
        return ".".join(map(str, self))


class HighlightsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Which highlights to list."""

    game: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | UnsetType, Meta(description="Only highlights of this game.")
    ] = UNSET
    station: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only highlights of games of this station."),
    ] = UNSET
    set: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only highlights of the newest set of this station."),
    ] = UNSET
    order: Annotated[
        Literal["newest", "best", "swing"],
        Meta(
            description="`newest`: the newest game first, and in it the last situation, then the last of the others. "
            "`best`: by score. `swing`: by how much the odds changed, then by score; it needs `game` or `set`."
        ),
    ] = "newest"
    limit: Annotated[int, Meta(ge=1, le=MAX_HIGHLIGHTS, description="Maximum number of highlights.")] = 50
    cursor: Annotated[
        Annotated[HighlightKey, Meta(extra_json_schema={"pattern": f"^{_KEY.pattern}$"})] | UnsetType,
        Meta(description="Where the page begins: `next` of the previous page, which had the same `order`."),
    ] = UNSET


class HighlightRow(NamedTuple):
    """One highlight in a list."""

    game_id: str
    number: int
    """From 0, in the order in which the highlights of the game ended; situations have numbers from `SITUATIONS`."""
    listed_at_ms: int
    """The place of the game in lists."""
    highlight: Highlight


class HighlightPage(NamedTuple):
    """A page of highlights."""

    highlights: list[HighlightRow]
    next: HighlightKey | None
    """The `cursor` of the next page; `None` on the last one."""


def tenths(score: float) -> int:
    """Convert a score to a whole number, because this is how the index sorts them."""
    return round(10 * score)
