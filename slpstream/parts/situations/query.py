"""The query of `/v1/situations`, and the rows that you get as its result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

MAX_SITUATIONS = 200
_KEY = re.compile(r"[0-9]{1,18}")


class SituationKey(int):
    """A situation's place in the list."""

    @classmethod
    def parse(cls, text: str) -> SituationKey:
        """Parse a key that was converted to text with `str`. Raises `ValueError` for any other text."""
        if not _KEY.fullmatch(text):
            raise ValueError("expected `next` of the previous page")
        return cls(text)


class SituationsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Which situations to list."""

    station: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only situations of games of this station."),
    ] = UNSET
    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only situations with this name in the configuration."),
    ] = UNSET
    game: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | UnsetType, Meta(description="Only situations of this game.")
    ] = UNSET
    limit: Annotated[int, Meta(ge=1, le=MAX_SITUATIONS, description="Maximum number of situations.")] = 50
    cursor: Annotated[
        Annotated[SituationKey, Meta(extra_json_schema={"pattern": f"^{_KEY.pattern}$"})] | UnsetType,
        Meta(description="Where the page begins: `next` of the previous page."),
    ] = UNSET


class FoundSituation(NamedTuple):
    """A situation that was found in a game of a station."""

    station: str
    payload: Mapping[str, Any]
    found_at_ms: int
    score: float | None = None
    """The score as a highlight, or `None` if the situation is not a highlight."""

    @property
    def game_id(self) -> str:
        """The id of the game in which we found the situation."""
        game_id: str = self.payload["gameId"]
        return game_id

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Identifies the situation. If you find it again, it has the same key."""
        return self.game_id, self.payload["name"], self.payload["query"], self.payload["number"]


class SituationRow(NamedTuple):
    """One situation in a list."""

    id: int
    game_id: str
    station: str
    found_at_ms: int
    document: str
    """The payload, as JSON."""


class SituationPage(NamedTuple):
    """A page of situations."""

    situations: list[SituationRow]
    next: SituationKey | None
    """The `cursor` of the next page; `None` on the last one."""
