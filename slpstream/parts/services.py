"""The services that parts offer each other and the core, one class for each."""

from __future__ import annotations

from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from slpstream.web.schemas import GameId, Moment, Schema

MAX_WORDS = 200
_Frame = Annotated[int, Meta(ge=-123, le=10_000_000)]


class NewMark(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="camel"):
    """A moment to mark: now, or a frame."""

    frame: Annotated[_Frame | None, Meta(description="Frame number; left out for the newest frame.")] = None
    game_id: Annotated[GameId | None, Meta(description="The game of `frame`; left out for the station's game.")] = None
    words: Annotated[str, Meta(max_length=MAX_WORDS, description="What it was, for people.")] = ""


class Mark(Schema, kw_only=True):
    """A marked moment."""

    id: Annotated[int, Meta(description="From 1; a later mark has a greater id.")]
    game_id: GameId
    frame: int
    at: Annotated[Moment, Meta(description="When it was marked.")]
    words: Annotated[str, Meta(description="What it was, for people; left out if nothing was said.")] = ""


class Marks(Protocol):
    """The marked moments of stations."""

    async def marks(self, station: str) -> list[Mark] | None:
        """The marks of a station, newest first; `None` if the station keeps none."""

    async def mark(self, station: str, wanted: NewMark) -> Mark | None:
        """Mark a moment; `None` if the station keeps none. Raises `NoSuchMoment`."""
