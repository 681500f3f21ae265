"""The interface that all brackets have: you can read the sets of an event, and report results.

For each kind of bracket, there is a `BracketKind`. `kinds` finds those that are built in, and those of packages that
you have installed. All values in this module are neutral, which means that characters and stages have the same ids as
in the game, and a side is a place (0 or 1) in the order in which the bracket lists its entrants.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from slpstream.model.errors import SinkError
from slpstream.parts.bracket.reported_games import ReportedGame

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
    """Raised if a bracket has refused a request, or if we don't know whether the request had any effect."""

    def __init__(
        self, kind: Refusal, what: str, *, retry_after_seconds: float = 0.0, renamed: Mapping[str, str] | None = None
    ) -> None:
        """`what` is a text for people. `renamed` maps the old ids of sets to their new ones."""
        super().__init__(what)
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds
        self.renamed = renamed or {}


class Participant(msgspec.Struct, frozen=True):
    """A player who belongs to an entrant. If we don't know a value, it is empty."""

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
    """A station of the bracket. `id` is the one that the bracket uses, and `number` is the one on the table."""

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
        """The ids of both entrants. If we don't know one of the entrants yet, its id is empty."""
        first, second = ("" if entrant is None else entrant.id for entrant in self.entrants)
        return first, second

    @property
    def is_filled(self) -> bool:
        """Whether we know both entrants."""
        return None not in self.entrants


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a set or, if it isn't over, its games up to now."""

    set_id: str
    entrants: tuple[str, str]
    """The bracket's ids of the entrants, in the bracket's order."""
    names: tuple[str, str]
    winner: int | None = None
    """The place of the winner, or `None` while the set is being played."""
    score: tuple[int, int]
    games: tuple[ReportedGame, ...] | None = None
    """`None` if the known games do not add up to the score."""
    station: str = ""
    played_id: str = ""
    """The id of the set in slpstream."""


class Outcome(NamedTuple):
    """What came out of a change. It maps the old ids of sets to their new ones."""

    renamed: Mapping[str, str] = {}


class Results(Protocol):
    """Something that results can be sent to. All of its methods can raise `Refused`."""

    def rendered(self, report: Report) -> Mapping[str, Any]:
        """Return the body that the request for the given report would have."""

    async def report(self, report: Report) -> Outcome:
        """Report a set, or its games up to now. These replace the games that were reported before."""

    async def correct(self, report: Report, over: BracketSet | None, *, reset_dependents: bool) -> Outcome:
        """Replace the result of a set, because a person has decided so.

        `over` is the set in its current state. If you pass `reset_dependents=True`, later sets might lose their
        results.
        """


class Bracket(Results, Protocol):
    """A bracket whose sets we can read. All of its methods can raise `Refused`."""

    async def check(self) -> str:
        """Check the token and its rights. Returns a line that you can show to people."""

    async def open_sets(self) -> Sequence[BracketSet]:
        """Return all sets of the event that don't have a result yet. Their games might be missing."""

    async def changed_sets(self, since: int) -> Sequence[BracketSet]:
        """Return the sets that have changed since a time (see `BracketSet.updated_at`).

        Their games might be missing.
        """

    async def read(self, set_id: str) -> BracketSet:
        """One set, with its games."""

    async def stations(self) -> Sequence[BracketStation]:
        """The stations of the tournament."""

    async def stream_queues(self) -> Mapping[str, Sequence[str]]:
        """Return the ids of the next sets on each stream, in order. The keys are the names of the streams."""

    async def call(self, set_id: str) -> Outcome:
        """Call the players of a set to its station."""

    async def start(self, set_id: str) -> Outcome:
        """Mark a set as being played."""

    async def assign(self, set_id: str, station_id: str) -> Outcome:
        """Assign a set to a station. You have to use the id that the bracket has for the station."""


class HttpAnswer(NamedTuple):
    """An answer that came over HTTP. It can have any status."""

    status: int
    body: bytes
    retry_after: str = ""


class Connection(NamedTuple):
    """The address, events and secret of a bracket, and functions that you can use to reach it."""

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
    """A kind of bracket. You choose it with the setting `bracket.kind`."""

    name: str
    make: Callable[[Connection], Any]
    """Makes a `Bracket`, or only a `Results` if `reads` is false."""
    reads: bool = True
    """Whether its sets can be read and matched with the played ones. Otherwise each played set is a result."""
    url: str = ""
    """The default address, or empty without one."""
