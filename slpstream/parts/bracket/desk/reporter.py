"""Send the reports of a queue to a bracket, one request after the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec
import trio

from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.entries import Entries, Key, rename_sets
from slpstream.parts.bracket.desk.foreign_changes import REREAD, ForeignChanges
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.link import PAUSING, Link
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.desk.wakeup import Wakeup
from slpstream.parts.bracket.interface import Bracket, BracketSet, Refused, Report, Results
from slpstream.parts.bracket.queue import Entry, State
from slpstream.system.backoff import backoff_seconds
from slpstream.system.logs import get_logger

ReportOutcome = Literal["reported", "corrected", "already_there", "conflict", "tried_again"]

_PATIENT_SECONDS: Final = 30.0


class Reporter:
    """Works on entries that should be reported, and on those whose set was changed by someone else.

    You should call `run` once.
    """

    def __init__(
        self,
        results: Results,
        bracket: Bracket | None,
        link: Link,
        entries: Entries,
        known: KnownBracket,
        changes: ForeignChanges,
        policy: Policy,
        wall_clock: Callable[[], float],
        work: Wakeup,
        read_soon: Callable[[], None] | None,
        find_again: Callable[[Key], Awaitable[None]] | None,
        on_outcome: Callable[[ReportOutcome], None],
    ) -> None:
        """`work` wakes the reporter. `read_soon` makes the reader read the bracket before its next poll.

        `find_again` searches for the new id of a set that is missing. If it isn't possible to read the sets of the
        bracket, `bracket`, `read_soon` and `find_again` are `None`.
        """
        self._results = results
        self._bracket = bracket
        self._link = link
        self._entries = entries
        self._known = known
        self._changes = changes
        self._policy = policy
        self._wall_clock = wall_clock
        self._work = work
        self._read_soon = read_soon
        self._find_again = find_again
        self._on_outcome = on_outcome
        self._retries = _Retries()
        self._log = get_logger()

    async def run(self) -> None:
        """Send reports until cancelled."""
        while True:
            await trio.sleep_until(self._link.paused_until)
            self._work.clear()
            key = self._next()
            if key is not None:
                await self._work_on(key)
                continue
            with trio.move_on_at(min(map(self._due_at, self._wanted()), default=float("inf"))):
                await self._work.wait()

    def retry_now(self, key: Key) -> None:
        """Work on an entry now, even if it isn't time for its next attempt yet."""
        self._retries.at.pop(key, None)
        self._work.set()

    def forget(self, key: Key) -> None:
        """Forget an entry, because it was removed from the queue."""
        self._retries.attempts.pop(key, None)
        self._retries.at.pop(key, None)

    def _next(self) -> Key | None:
        """Return the entry that we should work on now.

        If a set has ended, this is more important than its games. Otherwise, we take the entry that has waited longest.
        """
        now = trio.current_time()
        due = [entry for entry in self._wanted() if self._due_at(entry) <= now]
        # Those that were never refused come first, so that one report alone does not hold up all others.
        tried = self._retries.at
        best = min(
            due,
            key=lambda e: (e.key in tried, not e.played.over, tried.get(e.key, 0.0), e.over_at_ms),
            default=None,
        )
        return None if best is None else best.key

    def _wanted(self) -> list[Entry]:
        unread = [self._entries[key] for key in self._changes.unread if key in self._entries]
        unread = [entry for entry in unread if entry.set_id and entry.state in REREAD]
        if self._policy.dry_run:
            return unread
        return [*unread, *(entry for entry in self._entries.values() if entry.state == State.DUE)]

    def _due_at(self, entry: Entry) -> float:
        """Return when we should work on an entry, on trio's clock."""
        at = self._retries.at.get(entry.key, 0.0)
        if entry.played.over and not entry.confirmed and entry.state == State.DUE:
            left_seconds = self._policy.hold_seconds - (self._wall_clock() - entry.over_at_ms / 1000)
            if 0 < left_seconds <= self._policy.hold_seconds:  # the clock may have been set back
                at = max(at, trio.current_time() + left_seconds)
        return at

    async def _work_on(self, key: Key) -> None:
        self._retries.at.pop(key, None)
        try:
            await self._report(key)
        except Refused as refusal:
            await self._failed(key, refusal)
        else:
            self._link.worked()
            self._retries.attempts.pop(key, None)

    async def _report(self, key: Key) -> None:
        """Read the set of an entry.

        If the bracket doesn't have its result yet, report it. Raises `Refused` if it doesn't accept this.
        """
        was_changed = key in self._changes.unread
        set_id = self._entries[key].set_id
        found = None if self._bracket is None else await self._bracket.read(set_id)
        async with self._entries.changing:
            entry = self._entries[key]
            if entry.state == State.DROPPED or entry.set_id != set_id:  # a person has decided meanwhile
                self._changes.unread.discard(key)
                return
            if found is None:
                step = queue.Step("correct" if entry.overrules else "report", entry)
            elif found.id == entry.set_id:
                self._known.put(found)
                if found.state == "done":
                    self._changes.note(found)
                step = queue.next_step(entry, found)
            else:  # its id has changed
                await self._entries.keep([queue.renamed(entry, {entry.set_id: found.id})])
                return
            sends = step.do != "nothing" and entry.state == State.DUE and not self._policy.dry_run
            if step.do == "nothing" or sends:
                await self._entries.keep([step.entry])
            self._changes.unread.discard(key)
            entry = self._entries[key]
        if sends:
            await self._send(entry, step.do == "correct", found)
        elif entry.state == State.DONE:
            self._note("already_there", entry)
        elif entry.state == State.CONFLICT:
            self._note("conflict", entry)
        elif not was_changed:
            self._retries.at[key] = trio.current_time() + _PATIENT_SECONDS

    async def _send(self, entry: Entry, corrects: bool, found: BracketSet | None) -> None:
        report = queue.report_of(entry)
        if corrects:
            outcome = await self._results.correct(report, found, reset_dependents=entry.reset_dependents)
        else:
            outcome = await self._results.report(report)
        async with self._entries.changing:
            ids = outcome.renamed
            others = [queue.renamed(each, ids) for each in self._entries.values() if ids and each.key != entry.key]
            changed = queue.renamed(self._entries[entry.key], ids)
            same = changed.set_id == ids.get(report.set_id, report.set_id) and changed.entrants == report.entrants
            if changed.state == State.DROPPED:
                changed = queue.refused(changed, "its report was sent before")
            elif same:
                if self._bracket is None and changed.names != report.names:
                    changed = msgspec.structs.replace(changed, naming="unclear")
                changed = queue.planned(queue.accepted(changed, report, report.winner), self._policy.rules)
            await self._entries.keep([changed, *others])
        await rename_sets(ids, self._entries, self._known)
        self._note("corrected" if corrects else "reported", changed, report)
        if report.winner is not None and self._read_soon is not None:
            self._read_soon()  # the next sets of these players have entrants now

    def _note(self, outcome: ReportOutcome, entry: Entry, report: Report | None = None) -> None:
        self._on_outcome(outcome)
        complete = report is None or report.winner is not None
        self._log.info(
            "set of the bracket",
            outcome=outcome,
            station=entry.station,
            set=entry.set_id,
            complete=complete,
            why=entry.why,
        )

    async def _failed(self, key: Key, refusal: Refused) -> None:
        self._on_outcome("tried_again")
        await rename_sets(refusal.renamed, self._entries, self._known)
        if refusal.kind in PAUSING:
            self._link.failed(refusal)
            self._retries.at[key] = self._link.paused_until  # others come first, in case it is this report alone
            return
        self._link.worked()
        attempts = self._retries.attempts[key] = self._retries.attempts.get(key, 0) + 1
        first_seconds = _PATIENT_SECONDS if refusal.kind in ("entrants", "unknown") and attempts > 1 else 1.0
        self._retries.at[key] = trio.current_time() + backoff_seconds(attempts, first_seconds)
        async with self._entries.changing:
            await self._entries.keep([_after_refusal(self._entries[key], refusal)])
        if refusal.kind == "missing":
            self._changes.unread.discard(key)
            if self._find_again is not None:
                await self._find_again(key)
        self._log.warning("the bracket refuses a report", kind=refusal.kind, what=refusal.what, station=key[0])


class _Retries(msgspec.Struct):
    """Remembers how often, and when, we have tried to report entries that were refused."""

    at: dict[Key, float] = {}
    """When an entry is tried again, on trio's clock."""
    attempts: dict[Key, int] = {}
    """The number of refused attempts."""


def _after_refusal(entry: Entry, refusal: Refused) -> Entry:
    """Return the entry after the bracket has refused its report."""
    if entry.state == State.DROPPED:
        return entry
    if refusal.kind == "dependents":
        return msgspec.structs.replace(entry, state=State.CONFLICT, why=refusal.what, overrules="", confirmed="")
    if refusal.kind in ("completed", "unclear"):  # the set is read again, and compared
        return entry
    return queue.refused(entry, refusal.what)
