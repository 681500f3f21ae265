"""Services that parts offer to the core and to each other, by calling `Host.provide` and `Host.find`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
from msgspec import Meta

from slpstream.web.schemas import GameId, Moment, Schema

if TYPE_CHECKING:
    from slpstream.game.pipeline import Batch, Pipeline
    from slpstream.model.bracket_facts import ExpectedPlayer, SetContext
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
    """The moments of stations that people have marked."""

    async def marks(self, station: str) -> list[Mark] | None:
        """Return the marks of the given station, beginning with the newest.

        Returns `None` if the station doesn't keep any.
        """

    async def mark(self, station: str, wanted: NewMark) -> Mark | None:
        """Mark a moment. Returns `None` if the station doesn't keep marks.

        Raises `NoSuchMoment` if the moment doesn't exist.
        """


class Highlights(Protocol):
    """The moments of games that are worth showing again."""

    async def page(self, query: HighlightsQuery) -> HighlightPage | None:
        """A page of highlights; `None` if the game or station of the query is unknown."""


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


class DemoObjection(Protocol):
    """A part whose viewers would see a demo like any other station, so that no demo can start."""

    def reason_against_demo(self) -> str:
        """Why there can be no demo."""


class SetZips(Protocol):
    """The zips that slpstream makes of the replays of each set."""

    @property
    def folder(self) -> Path | None:
        """The folder into which zips are written, or `None` if there isn't one."""


class FinishedGameCheck(Protocol):
    """A check of finished games against the messages that were published while they were played."""

    def published(self, pipeline: Pipeline, batch: Batch) -> None:
        """Record the published messages of a game. Does not block."""

    def released(self, station: str, path: Path, pipeline: Pipeline) -> None:
        """Take the game of a file that is no longer followed. Does not block."""


class RelayedStations(Protocol):
    """The stations that are relayed as consoles."""

    def relay_clients(self, station: str) -> int | None:
        """The number of clients of a station's TCP ports; `None` if it has no such port."""

    async def call(self, station: str, name: str, source: str, target: tuple[str, int]) -> None:
        """Broadcast the call of a console for a station, as a console does without a client. Raises `OSError`.

        `source` is the address to send it from, `target` the address and port to broadcast to.
        """
