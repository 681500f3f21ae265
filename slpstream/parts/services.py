"""Services that parts offer to the core and to each other, by calling `Host.provide` and `Host.find`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Meta

from slpstream.web.schemas import GameId, Moment, Schema

if TYPE_CHECKING:
    import trio

    from slpstream.game.log_writer import Batch
    from slpstream.game.pipeline import Pipeline
    from slpstream.model.bracket_facts import ExpectedPlayer, SetContext
    from slpstream.model.game_facts import GameFacts
    from slpstream.model.query_problem import QueryProblem
    from slpstream.store import Filter, HighlightPage, HighlightsQuery, KnownFacts
    from slpstream.system.http_client import Post

MAX_WORDS = 200
_Result = TypeVar("_Result")
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
        """Return a page of highlights, or `None` if the game or station of the query is unknown."""


class Span(NamedTuple):
    """A part of a game, and the player who gains by it."""

    player_index: int
    start_frame: int
    end_frame: int
    dying: Collection[int] = ()
    """Players who are dying at its end. The stock that the game will take from them counts as lost."""


class Swing(NamedTuple):
    """The chance of a player to win, from 0 to 1."""

    before: float
    """In the frame before the part of the game."""
    after: float
    """In its last frame."""

    @property
    def gained(self) -> float:
        """How much likelier the player has become to win, from -1 to 1."""
        return round(self.after - self.before, 4)


class OddsOfGame(Protocol):
    """The odds of one game, as the functions `begin_odds(settings)` and `column_odds(settings, frames)` return them."""

    def take(self, number: int, posts: Mapping[int, Any]) -> object:
        """Add a final frame with the Post-Frame Updates of its players, each number once and in order."""

    def swing(self, span: Span) -> Swing | None:
        """Return how much the odds have changed in a part of the game, or `None` without odds."""


class Odds(Protocol):
    """The odds of the daemon's games."""

    async def swings(self, game_id: str, spans: Sequence[Span]) -> list[Swing | None]:
        """Return how much the odds have changed in each part of a game. It is `None` for those without odds."""


class ParsedQuery(Protocol):
    """A query for games, as the function `parse_game_query(text, me)` of a part returns it."""

    problems: Sequence[QueryProblem]
    """The mistakes in it. Filters with mistakes are left out."""

    def matches(self, game: GameFacts) -> bool:
        """Whether a game matches the query."""

    def filter(self, known: KnownFacts) -> Filter:
        """Return the query as a condition for the games of an index."""


class OnAirChoice(Protocol):
    """The choice of the station on air."""

    @property
    def has_rule(self) -> bool:
        """Whether a rule chooses the station while the operator has chosen none."""

    async def choose_station(self, station: str | None) -> bool:
        """Put a station on air for the operator, or withdraw this choice with `None`.

        Returns whether there is such a station.
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


class LastMeeting(NamedTuple):
    """The last set of two players against each other."""

    at: str
    """When its first game began, as in `Moment`."""
    score: Sequence[int]


class Meetings(NamedTuple):
    """The earlier games of the two players of a set against each other. Pairs are in the order of `names`."""

    set_id: str | None
    """The set that they play now, or `None` before its first game."""
    names: Sequence[str]
    sets: Sequence[int]
    """The sets that each of them has won."""
    games: Sequence[int]
    """The games that each of them has won."""
    last: LastMeeting | None


class EarlierMeetings(Protocol):
    """The earlier games of the players of a set."""

    async def meetings(self, station: str) -> Meetings | None:
        """Return the earlier games of the two players of a station's set.

        Returns `None` if there are none, or if the players aren't known.
        """


class DemoObjection(Protocol):
    """A part whose viewers would see a demo like any other station, so that no demo can start."""

    def reason_against_demo(self) -> str:
        """Return the reason why a demo can't start."""


class SetZips(Protocol):
    """The zips that slpstream makes of the replays of each set."""

    @property
    def folder(self) -> Path | None:
        """The folder into which zips are written, or `None` if there isn't one."""


class FinishedGameCheck(Protocol):
    """A check of finished games against the messages that were published while they were played."""

    def published(self, pipeline: Pipeline, batch: Batch) -> None:
        """Record the published messages of a game. This must not block."""

    def released(self, station: str, path: Path, pipeline: Pipeline) -> None:
        """Check the game of a file that is no longer followed. This must not block."""


class RelayedStations(Protocol):
    """The stations that are relayed as consoles."""

    def relay_clients(self, station: str) -> int | None:
        """Return the number of clients of a station's TCP ports, or `None` if it doesn't have such a port."""

    async def call(self, station: str, name: str, source: str, target: tuple[str, int]) -> None:
        """Broadcast the call of a console for a station, like a console that is waiting for a client.

        `source` is the address to send it from, and `target` is the address and port to broadcast to. Raises `OSError`
        if this fails.
        """


class Receiver(NamedTuple):
    """A web server that deliveries are posted to."""

    id: str
    """Identifies the receiver in the store, also after a restart."""
    name: str
    """For logs and metrics."""
    url: str
    secret: bytes
    timeout_seconds: float
    keep_seconds: float
    user_agent: str


class Delivery(NamedTuple):
    """A delivery to store. Its `key` must be unique for each receiver and station, and its `body` is JSON."""

    key: str
    event: str
    body: bytes


class DeliveryStore(Protocol):
    """The stored deliveries of all receivers. You name a receiver by its id.

    You can call its methods from any thread, but they all block and can raise `SinkError`.
    """

    def progress(self, webhook: str, station: str) -> tuple[str, str] | None:
        """Return the `offsets` and `running_games` that were stored last, or `None` if nothing was stored yet."""

    def store(
        self,
        webhook: str,
        station: str,
        deliveries: Sequence[Delivery],
        now_ms: int,
        *,
        offsets: str,
        running_games: str,
    ) -> None:
        """Store deliveries, together with how far the receiver has got in the log after them."""

    def last_of_set(self, webhook: str, station: str, set_id: str) -> tuple[str, str] | None:
        """Return the digest and key of the last delivery about a set, or `None` if there wasn't one yet."""

    def store_set(
        self, webhook: str, station: str, delivery: Delivery | None, now_ms: int, *, set_id: str, digest: str
    ) -> None:
        """Store a delivery about a set, and the digest of the set's state."""


class Deliverer(Protocol):
    """Posts the stored deliveries of one receiver."""

    gone: trio.Event
    """Set once the receiver has answered 410."""

    def wake(self) -> None:
        """Look for new deliveries in the store."""

    async def call_store(self, operation: Callable[[], _Result]) -> _Result:
        """Run a store operation in a worker thread, and retry it while the store fails (a full disk)."""

    async def run(self) -> None:
        """Post deliveries until cancelled, or until the receiver is gone."""


class Deliveries(Protocol):
    """Deliveries to web servers, which are stored until they are accepted."""

    @property
    def store(self) -> DeliveryStore:
        """The store of deliveries. You can't use it before you have asked for a deliverer."""

    def deliverer(self, receiver: Receiver, *, post: Post = ...) -> Deliverer:
        """Return the deliverer of a receiver, which you have to run.

        Ask for it in `RunningPart.open`, because stored deliveries for receivers that no part has named by then are
        deleted. Raises `ConfigError` if the store can't be opened.
        """
