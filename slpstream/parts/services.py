"""Services that parts offer to the core and to each other, by calling `Host.provide` and `Host.find`."""

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
    """The moments of stations that people have marked."""

    async def marks(self, station: str) -> list[Mark] | None:
        """Return the marks of the given station, beginning with the newest.

        Returns `None` if the station doesn't keep any.
        """

    async def mark(self, station: str, wanted: NewMark) -> Mark | None:
        """Mark a moment. Returns `None` if the station doesn't keep marks.

        Raises `NoSuchMoment` if the moment doesn't exist.
        """


class ExpectedPlayers(Protocol):
    """The players that should come to the stations next, according to a bracket."""

    def expected(self, station: str) -> Sequence[ExpectedPlayer]:
        """Return the players that the bracket expects at the given station."""


class SetContexts(Protocol):
    """The bracket's knowledge about sets that were played."""

    @property
    def has_looked(self) -> bool:
        """Whether the bracket was asked for its sets at least once since the daemon started."""

    def context_of(self, station: str, set_id: str) -> SetContext | None:
        """Return the bracket's knowledge about a set that was played.

        Returns `None` if we don't know any set of the bracket that it belongs to.
        """


class SetZips(Protocol):
    """The zips that slpstream makes of the replays of each set."""

    @property
    def folder(self) -> Path | None:
        """The folder into which zips are written, or `None` if there isn't one."""


class Source(Protocol):
    """A source of games, which are recorded when they arrive."""

    async def run(self) -> None:
        """Record games until cancelled."""


class DolphinSpectators(Protocol):
    """Dolphin's spectator protocol. A provider can act as a client, and also as a server."""

    def is_available(self) -> bool:
        """Whether the library that `source` needs is installed."""

    def source(self, host: str, port: int, recorder: Recorder, observer: ConnectionObserver, turns: Turns) -> Source:
        """Create a source that records the games of the Dolphin at this address."""

    async def serve(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the `relay_enet_port` of the given station until cancelled."""
