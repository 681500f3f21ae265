"""The services that parts offer to the core and to each other, through `Host.provide` and `Host.find`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
from msgspec import Meta

from slpstream.web.schemas import GameId, Moment, Schema

if TYPE_CHECKING:
    from slpstream.config import StationConfig
    from slpstream.daemon.station.station import Station
    from slpstream.model.bracket_facts import ExpectedPlayer, SetContext
    from slpstream.sources.console.feed import RelayFeed
    from slpstream.sources.console.reconnect import ConnectionObserver
    from slpstream.sources.console.recorder import Recorder
    from slpstream.sources.console.turns import Turns
    from slpstream.store import HighlightPage, HighlightsQuery

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


class Highlights(Protocol):
    """The moments of games that are worth showing again."""

    async def page(self, query: HighlightsQuery) -> HighlightPage | None:
        """A page of highlights; `None` if the game or station of the query is unknown."""


class ExpectedPlayers(Protocol):
    """The players whom a bracket expects at the stations."""

    def expected(self, station: str) -> Sequence[ExpectedPlayer]:
        """The players whom the bracket expects at a station."""


class SetContexts(Protocol):
    """The facts that a bracket knows about played sets."""

    @property
    def has_looked(self) -> bool:
        """Whether the bracket was asked for its sets since the daemon started."""

    def context_of(self, station: str, set_id: str) -> SetContext | None:
        """The bracket's facts about a played set; `None` if it has no known set of the bracket."""


class SetZips(Protocol):
    """The zips that slpstream writes of the replays of sets."""

    @property
    def folder(self) -> Path | None:
        """The folder that zips are written into; `None` if there is none."""


class Source(Protocol):
    """A source whose games are recorded."""

    async def run(self) -> None:
        """Record until cancelled."""


class DolphinSpectators(Protocol):
    """The protocol of Dolphin's spectator server, in both directions."""

    def is_available(self) -> bool:
        """Whether the library that `source` needs is installed."""

    def source(self, host: str, port: int, recorder: Recorder, observer: ConnectionObserver, turns: Turns) -> Source:
        """Return a source that records the Dolphin at an address."""

    async def serve(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the `relay_enet_port` of a station until cancelled."""
