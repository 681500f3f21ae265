"""The interface of brackets: reading the sets of an event, and reporting results.

Each kind of bracket is a `BracketKind`. The built-in ones and those of installed packages are found by `kinds`. All
values here are neutral: characters and stages have the game's own ids, and sides are places (0 and 1) in the bracket's
order of entrants.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from slpstream.model.errors import SinkError

SetState = Literal["open", "called", "running", "done"]

Refusal = Literal[
    "unavailable", "slow_down", "forbidden", "completed", "dependents", "entrants", "missing", "already", "unclear",
    "unknown",
]  # fmt: skip
"""Why a bracket did not do what it was asked for:

- `unavailable`: it does not answer, or answers with nonsense. Everything waits.
- `slow_down`: too many requests. Everything waits.
- `forbidden`: the token is wrong, or lacks a right. Everything waits until a person has acted.
- `completed`: the set has a result already.
- `dependents`: later sets would lose their results.
- `entrants`: the set does not have both entrants yet.
- `missing`: there is no such set any more.
- `already`: the set is in the wanted state.
- `unclear`: neither an error nor a result. It may have been done.
- `unknown`: another error. It may have been done.
"""

Headers = Sequence[tuple[str, str]]


class Refused(SinkError):
    """A bracket did not do what it was asked for, or it is not known whether it did."""

    def __init__(
        self, kind: Refusal, what: str, *, retry_after_seconds: float = 0.0, renamed: Mapping[str, str] | None = None
    ) -> None:
        """`what` is for people. `renamed` has new ids of sets, by the old ones."""
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
    """A station as the bracket has it. `id` is the bracket's own, `number` that on the table."""

    id: str
    number: int | None = None
    name: str = ""


class BracketSet(msgspec.Struct, frozen=True, kw_only=True):
    """A set of a bracket."""

    id: str
    state: SetState
    entrants: tuple[Entrant | None, Entrant | None] = (None, None)
    """`None` while the entrant is not known yet."""
    round: str = ""
    """The round as people call it, such as `Winners Semi-Final`."""
    place: str = ""
    """Identifies the set within its event together with its entrants, whatever its id."""
    pool: str = ""
    event: str = ""
    best_of: int | None = None
    station: BracketStation | None = None
    stream: str = ""
    winner: int | None = None
    """The place of the winner in `entrants`."""
    scores: tuple[int | None, int | None] = (None, None)
    games: tuple[int | None, ...] = ()
    """The winner of each game, in order. Empty when the bracket has no games, or has not been asked for them."""
    provisional: bool = False
    """The id will change."""
    updated_at: int = 0
    """The bracket's own time of the last change, to ask for later changes."""
    context: Mapping[str, Mapping[str, Any]] = {}
    """The members about the set in the `context.json` of its replays, such as `startgg`; empty if one is not known that
    its readers need."""

    @property
    def entrant_ids(self) -> tuple[str, str]:
        """The ids of both entrants; empty for one that is not known yet."""
        first, second = ("" if entrant is None else entrant.id for entrant in self.entrants)
        return first, second

    @property
    def is_filled(self) -> bool:
        """Whether both entrants are known."""
        return None not in self.entrants


class ReportedGame(msgspec.Struct, frozen=True):
    """A game of a report. Sides are places in the bracket's order."""

    winner: int
    stocks: tuple[int | None, int | None] = (None, None)
    """Stocks left, by side."""
    stage_id: int | None = None
    characters: tuple[tuple[int, int], ...] = ()
    """Side and external character id of each player."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a set, or its games so far."""

    set_id: str
    entrants: tuple[str, str]
    """The bracket's ids of the entrants, in its order."""
    names: tuple[str, str]
    winner: int | None = None
    """`None` while the set goes on."""
    score: tuple[int, int]
    games: tuple[ReportedGame, ...] | None = None
    """`None` when the known games do not add up to the score."""
    station: str = ""
    played_id: str = ""
    """The id of the set in slpstream."""


class Outcome(NamedTuple):
    """The outcome of a change: new ids of sets, by the old ones."""

    renamed: Mapping[str, str] = {}


class Results(Protocol):
    """Where results are reported. All methods raise `Refused`."""

    def rendered(self, report: Report) -> Mapping[str, Any]:
        """The body that a report would be sent with."""

    async def report(self, report: Report) -> Outcome:
        """Report a set, or its games so far, in place of the games that were reported before."""

    async def correct(self, report: Report, over: BracketSet | None, *, reset_dependents: bool) -> Outcome:
        """Report a set that has another result already. A person has asked for it.

        `over` is the set as it is. With `reset_dependents`, later sets may lose their results.
        """


class Bracket(Results, Protocol):
    """A bracket whose sets can be read. All methods raise `Refused`."""

    async def check(self) -> str:
        """Check the token and its rights. Returns a line for people."""

    async def open_sets(self) -> Sequence[BracketSet]:
        """All sets of the event without a result. Their games may be left out."""

    async def changed_sets(self, since: int) -> Sequence[BracketSet]:
        """The sets that have changed since a time, see `BracketSet.updated_at`. Their games may be left out."""

    async def read(self, set_id: str) -> BracketSet:
        """One set, with its games."""

    async def stations(self) -> Sequence[BracketStation]:
        """The stations of the tournament."""

    async def stream_queues(self) -> Mapping[str, Sequence[str]]:
        """The ids of the sets that are to be played on each stream, in their order, by the name of the stream."""

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
    """Sends method, URL, headers and body. Raises `SinkError` when there is no answer."""
    secret: Callable[[], Awaitable[str]]
    """The token as it is in its file now. Raises `SinkError`."""
    sign: Callable[[bytes, int, bytes], str]
    """The signature of (secret, Unix time, body) that webhooks carry."""
    requests_per_minute: int = 60


class BracketKind(NamedTuple):
    """A kind of bracket, as `bracket.kind` names it."""

    name: str
    make: Callable[[Connection], Any]
    """Makes a `Bracket`, or only a `Results` if `reads` is false."""
    reads: bool = True
    """Its sets can be read, so that stations are matched with them. Otherwise each played set is a result."""
    url: str = ""
    """The usual address; empty when there is none."""
