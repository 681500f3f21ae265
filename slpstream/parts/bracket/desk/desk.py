"""The desk of a bracket. It connects the queue, the intake of sets that are played, the reader and the reporter, and
runs them.

Whenever something in the queue changes, this is stored before it has any effect. So it doesn't matter if the daemon is
killed, no matter when.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

import trio

from slpstream.model.bracket_facts import ExpectedPlayer, SetContext
from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.changer import SetChanger
from slpstream.parts.bracket.desk.decisions import Decisions
from slpstream.parts.bracket.desk.details import Describe, Details, expected_set
from slpstream.parts.bracket.desk.entries import Entries
from slpstream.parts.bracket.desk.foreign_changes import ForeignChanges
from slpstream.parts.bracket.desk.intake import Intake, SetsSince
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.link import Link
from slpstream.parts.bracket.desk.matcher import Matcher
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.desk.reader import BracketReader
from slpstream.parts.bracket.desk.reporter import Reporter, ReportOutcome
from slpstream.parts.bracket.desk.wakeup import Wakeup
from slpstream.parts.bracket.interface import Bracket, BracketSet, Results
from slpstream.parts.bracket.queue import Entry, State
from slpstream.parts.bracket.reports import ReportStore

_ALIVE_SECONDS: Final = 30.0


class Surroundings(NamedTuple):
    """Those parts of the daemon that a desk can see."""

    stations: Callable[[], Mapping[str, str]]
    """The names of all stations by id."""
    sets_since: SetsSince
    describe: Describe | None = None
    """`None` if stations get no details from the bracket."""


class BracketDesk:
    """The desk of one bracket. You should call `run` once."""

    def __init__(
        self,
        name: str,
        results: Results,
        bracket: Bracket | None,
        store: ReportStore,
        policy: Policy,
        around: Surroundings,
        *,
        on_outcome: Callable[[ReportOutcome], None] = lambda outcome: None,
        wall_clock: Callable[[], float] = time.time,
        damaged: bool = False,
    ) -> None:
        """`name` identifies the bracket in the store. If it is possible to read the sets of the bracket, then `bracket`
        is the same object as `results`.

        Pass `damaged=True` if the store is new because the old one couldn't be read.
        """

        def now_ms() -> int:
            return int(wall_clock() * 1000)

        reads = bracket is not None
        policy = policy.effective(reads=reads)
        work = Wakeup()
        self._results = results
        self._wall_clock = wall_clock
        self._damaged = damaged
        self._queue = Entries(name, store, now_ms)
        self._known = KnownBracket(around.stations, policy.stations)
        self._changes = ForeignChanges()
        self.link = Link(name, lambda: self._queue.waiting)
        """The state of the connection."""
        matcher = Matcher(self._queue, self._known, policy, now_ms, reads=reads)
        details = Details(self._queue, self._known, around.describe)
        self.intake = Intake(self._queue, matcher, details, around.sets_since, policy.rules, now_ms, work, reads=reads)
        """Takes the sets that are played."""
        changer = self._reader = None
        if bracket is not None:
            changer = SetChanger(bracket, self._queue, self._known, policy)
            self._reader = BracketReader(
                bracket, self.link, self._queue, self._known, matcher, details, self._changes, changer, policy,
                around.stations, now_ms, work,
            )  # fmt: skip
        self._reporter = Reporter(
            results, bracket, self.link, self._queue, self._known, self._changes, policy, wall_clock, work,
            None if self._reader is None else self._reader.read_soon,
            None if self._reader is None else self._reader.find_again,
            on_outcome,
        )  # fmt: skip
        self.decisions = Decisions(bracket, changer, self._queue, self._known, policy, self._reporter.retry_now)
        """Takes the decisions of people."""

    @property
    def entries(self) -> Collection[Entry]:
        """All entries of the queue."""
        return self._queue.values()

    @property
    def sets(self) -> Collection[BracketSet]:
        """Those sets of the bracket that we have read."""
        return self._known.sets.values()

    @property
    def here(self) -> Mapping[str, str]:
        """A mapping from the bracket's ids of stations to our stations."""
        return self._known.here

    @property
    def store_trouble(self) -> str | None:
        """The reason why we can't store the queue, or `None` if we can."""
        return self._queue.trouble

    @property
    def waiting(self) -> int:
        """Number of pending entries."""
        return self._queue.waiting

    @property
    def lag_seconds(self) -> float:
        """How long the oldest report that should be sent has been waiting."""
        since = [entry.over_at_ms for entry in self.entries if entry.state == State.DUE and entry.over_at_ms]
        return max(0.0, self._wall_clock() - min(since) / 1000) if since else 0.0

    def context_of(self, station: str, played_id: str) -> SetContext | None:
        """Return the bracket's knowledge about a set that was played.

        Returns `None` if we don't know any set of the bracket that it belongs to.
        """
        entry = self._queue.get((station, played_id))
        if entry is None:
            return None
        found = self._known.sets.get(entry.set_id)
        context = entry.context if found is None else found.context
        return None if found is None and not context else SetContext(context, entry.swapped)

    def rendered(self, entry: Entry) -> Mapping[str, Any] | None:
        """Return the request for the given entry, or `None` if it doesn't have a set of the bracket."""
        return self._results.rendered(queue.report_of(entry)) if entry.set_id else None

    def expected(self, station: str) -> Sequence[ExpectedPlayer]:
        """Return the players of the given station's next set.

        If the bracket doesn't have exactly one, there are none.
        """
        found = expected_set(station, self._queue, self._known)
        return [
            ExpectedPlayer(each.name, each.prefix or None, each.pronouns or None, entrant.id)
            for entrant in (() if found is None else found.entrants)
            if entrant is not None
            for each in entrant.participants
        ]

    async def run(self) -> None:
        """Work until cancelled."""
        await self.intake.start(await self._queue.load(), damaged=self._damaged)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.intake.run)
            nursery.start_soon(self._reporter.run)
            nursery.start_soon(self._note_alive)
            if self._reader is not None:
                nursery.start_soon(self._reader.run)

    async def _note_alive(self) -> None:
        while True:
            await self._queue.note_alive()
            for key in await self._queue.forget_finished():
                self._changes.unread.discard(key)
                self._reporter.forget(key)
            await trio.sleep(_ALIVE_SECONDS)
