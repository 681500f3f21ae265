"""The interface of brackets: reading the sets of an event, and reporting results.

Each kind of bracket is a `BracketKind`. `kinds` finds the built-in ones and those of installed packages. All values
here are neutral: characters and stages have the ids of the game, and sides are places (0 and 1) in the bracket's order
of entrants.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from slpstream.model.errors import SinkError
from slpstream.sets.reported_games import ReportedGame

SetState = Literal["open", "called", "running", "done"]

Refusal = Literal[
    "unavailable", "slow_down", "forbidden", "completed", "dependents", "entrants", "missing", "already", "unclear",
    "unknown",
]  # fmt: skip
"""Why a bracket has refused a request:

- `unavailable`: it does not answer, or the answer is malformed. All requests wait.
- `slow_down`: too many requests. All requests wait.
- `forbidden`: the token is wrong, or lacks a right. All requests wait until a person has acted.
- `completed`: the set has a result already.
- `dependents`: later sets would lose their results.
- `entrants`: the set does not have both entrants yet.
- `missing`: the set no longer exists.
- `already`: the set is in the wanted state.
- `unclear`: neither an error nor a result. The request may have had its effect.
- `unknown`: another error. The request may have had its effect.
"""

Headers = Sequence[tuple[str, str]]


class Refused(SinkError):
    """A bracket has refused a request, or it is unknown whether the request had its effect."""

    def __init__(
        self, kind: Refusal, what: str, *, retry_after_seconds: float = 0.0, renamed: Mapping[str, str] | None = None
    ) -> None:
        """`what` is a text for people. `renamed` has the new ids of sets by the old ones."""
        super().__init__(what)
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds
        self.renamed = renamed or {}


class Participant(msgspec.Struct, frozen=True):
    """A player of an entrant. Unknown values are empty."""

    name: str
    prefix: str = ""
    pronouns: str = ""
    connect_code: str = ""


class Entrant(msgspec.Struct, frozen=True):
    """A player or team of an event."""

    id: str
    name: str
    participants: tuple[Participant, ...] = ()


class BracketStation(msgspec.Struct, frozen=True):
    """A station of the bracket. `id` is the bracket's id, `number` the number on the table."""

    id: str
    number: int | None = None
    name: str = ""


class BracketSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set of a bracket."""

    id: str
    state: SetState
    entrants: tuple[Entrant | None, Entrant | None] = (None, None)
    """`None` for an entrant that is not known yet."""
    round: str = ""
    """The name of the round, such as `Winners Semi-Final`."""
    place: str = ""
    """Identifies the set within its event together with its entrants, independent of its id."""
    pool: str = ""
    event: str = ""
    best_of: int | None = None
    station: BracketStation | None = None
    stream: str = ""
    winner: int | None = None
    """The place of the winner in `entrants`."""
    scores: tuple[int | None, int | None] = (None, None)
    games: tuple[int | None, ...] = ()
    """The winner of each game, in order. Empty if the bracket has no games, or the games were not read."""
    provisional: bool = False
    """The id will change."""
    updated_at: int = 0
    """The time of the last change, by the bracket's clock."""
    context: Mapping[str, Mapping[str, Any]] = {}
    """The members about the set in the `context.json` of its replays, such as `startgg`; empty if a fact is unknown
    that its readers need."""

    @property
    def entrant_ids(self) -> tuple[str, str]:
        """The ids of both entrants; empty for an entrant that is not known yet."""
        first, second = ("" if entrant is None else entrant.id for entrant in self.entrants)
        return first, second

    @property
    def is_filled(self) -> bool:
        """Whether both entrants are known."""
        return None not in self.entrants


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a set, or its games so far."""

    set_id: str
    entrants: tuple[str, str]
    """The bracket's ids of the entrants, in the bracket's order."""
    names: tuple[str, str]
    winner: int | None = None
    """The place of the winner; `None` while the set is being played."""
    score: tuple[int, int]
    games: tuple[ReportedGame, ...] | None = None
    """`None` if the known games do not add up to the score."""
    station: str = ""
    played_id: str = ""
    """The id of the set in slpstream."""


class Outcome(NamedTuple):
    """The outcome of a change: the new ids of sets by the old ones."""

    renamed: Mapping[str, str] = {}


class Results(Protocol):
    """A receiver of results. All methods raise `Refused`."""

    def rendered(self, report: Report) -> Mapping[str, Any]:
        """The body of the request for a report."""

    async def report(self, report: Report) -> Outcome:
        """Report a set, or its games so far. Replaces the games that were reported before."""

    async def correct(self, report: Report, over: BracketSet | None, *, reset_dependents: bool) -> Outcome:
        """Replace the result of a set, as a person has decided.

        `over` is the current set. With `reset_dependents`, later sets may lose their results.
        """


class Bracket(Results, Protocol):
    """A bracket whose sets can be read. All methods raise `Refused`."""

    async def check(self) -> str:
        """Check the token and its rights. Returns a line for people."""

    async def open_sets(self) -> Sequence[BracketSet]:
        """All sets of the event without a result. They may lack their games."""

    async def changed_sets(self, since: int) -> Sequence[BracketSet]:
        """The sets that have changed since a time, as in `BracketSet.updated_at`. They may lack their games."""

    async def read(self, set_id: str) -> BracketSet:
        """One set, with its games."""

    async def stations(self) -> Sequence[BracketStation]:
        """The stations of the tournament."""

    async def stream_queues(self) -> Mapping[str, Sequence[str]]:
        """The ids of the next sets on each stream, in their order, by the name of the stream."""

    async def call(self, set_id: str) -> Outcome:
        """Call the players of a set to its station."""

    async def start(self, set_id: str) -> Outcome:
        """Mark a set as being played."""

    async def assign(self, set_id: str, station_id: str) -> Outcome:
        """Assign a set to a station, by the bracket's id of the station."""


class HttpAnswer(NamedTuple):
    """An answer over HTTP, whatever its status."""

    status: int
    body: bytes
    retry_after: str = ""


class Connection(NamedTuple):
    """Address, events and secret of a bracket, and functions to reach it."""

    url: str
    events: Sequence[str]
    """The events as the configuration names them."""
    request: Callable[[str, str, Headers, bytes], Awaitable[HttpAnswer]]
    """Sends method, URL, headers and body. Raises `SinkError` without an answer."""
    secret: Callable[[], Awaitable[str]]
    """Reads the token from its file. Raises `SinkError`."""
    sign: Callable[[bytes, int, bytes], str]
    """The signature of (secret, Unix time, body) that webhooks carry."""
    requests_per_minute: int = 60


class BracketKind(NamedTuple):
    """A kind of bracket, for the setting `bracket.kind`."""

    name: str
    make: Callable[[Connection], Any]
    """Makes a `Bracket`, or only a `Results` if `reads` is false."""
    reads: bool = True
    """Whether its sets can be read and matched with the played ones. Otherwise each played set is a result."""
    url: str = ""
    """The default address; empty without one."""
