"""The desk of a bracket: reads its sets, matches what is played on the stations, and works off the queue of reports.

Every change of the queue is stored before anything is done because of it, so the daemon can be killed at any moment.
One task sends, one request after the other.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
import trio

from slpstream.model.bracket_facts import ExpectedPlayer, SetContext
from slpstream.model.errors import ActRefused
from slpstream.store.reports import ReportStore
from slpstream.system.backoff import backoff_seconds
from slpstream.system.logs import get_logger
from slpstream.tournament.bracket import queue
from slpstream.tournament.bracket.desk.chores import Chore, Verb, chores
from slpstream.tournament.bracket.desk.entries import Entries, Key
from slpstream.tournament.bracket.desk.known_bracket import KnownBracket
from slpstream.tournament.bracket.desk.wishes import Wishes
from slpstream.tournament.bracket.interface import (
    Bracket,
    BracketSet,
    Outcome,
    Refused,
    Report,
    Results,
)
from slpstream.tournament.bracket.matching import Match, match, names_in
from slpstream.tournament.bracket.played import Played, played_set
from slpstream.tournament.bracket.queue import WAITING, Entry, State

ReportOutcome = Literal["reported", "corrected", "already_there", "conflict", "tried_again"]
StationSet = tuple[str, Mapping[str, Any]]
"""A station and the payload of one of its sets."""

EARLIER_MS: Final = 3_600_000
"""Sets whose last game began this long before the daemon stopped are taken up again."""
_DAY_MS: Final = 24 * 3_600_000
_FULL_READ_SECONDS: Final = 900.0
_OVERLAP_SECONDS: Final = 90
"""Sets that changed this long before the last known change are read again: the clocks of servers differ."""
_SLOW_DOWN_SECONDS: Final = 20.0
_FORBIDDEN_SECONDS: Final = 60.0
_PATIENT_SECONDS: Final = 30.0
_LATELY_SECONDS: Final = 48 * 3600
_ALIVE_SECONDS: Final = 30.0
_MAX_PASSED: Final = 4096


class Surroundings(NamedTuple):
    """The desk's view of the daemon."""

    stations: Callable[[], Mapping[str, str]]
    """The names of all stations by id."""
    sets_since: Callable[[str | None, int], Awaitable[Sequence[StationSet]]]
    """The sets of a station, or of all stations, whose last game is not older than a time (Unix time in milliseconds),
    oldest first."""
    describe: Callable[[str, str, BracketSet], Awaitable[None]] | None = None
    """Gives a set of a station its round, event and length. An empty id stands for the next set."""


class BracketDesk:
    """The desk of one bracket. `run` it once."""

    def __init__(
        self,
        name: str,
        results: Results,
        bracket: Bracket | None,
        store: ReportStore,
        wishes: Wishes,
        around: Surroundings,
        *,
        on_outcome: Callable[[ReportOutcome], None] = lambda outcome: None,
        wall_clock: Callable[[], float] = time.time,
        damaged: bool = False,
    ) -> None:
        """`name` identifies the bracket in the store. `bracket` is `results` again if its sets can be read.

        `damaged` means that the store is a new one, in place of one that could not be read.
        """
        self.name = name
        self._results = results
        self._bracket = bracket
        self._wishes = wishes
        # A result from a rehearsal is reported only after a person has confirmed it.
        self._rules = wishes.rules._replace(confirm=True) if wishes.dry_run else wishes.rules
        if bracket is None:  # a receiver of results gets whole sets
            self._rules = self._rules._replace(games=False)
        self._around = around
        self._on_outcome = on_outcome
        self._wall_clock = wall_clock
        self._damaged = damaged
        self._since_ms = 0
        """Sets whose last game is older were over before slpstream could see them for this bracket."""
        self._entries = Entries(name, store, self._now_ms)
        self._known = KnownBracket(around.stations, wishes.stations)
        self._queues_refused = ""
        """Why they could not be read; empty if they could."""
        self._passed: dict[Key, Mapping[str, Any]] = {}
        """Payloads of sets that have not been taken up yet."""
        self._taken_up: set[Key] = set()
        """The keys of sets that were played while no daemon ran."""
        self._upcoming: dict[str, str] = {}
        """The sets of the bracket that were described to stations before their first game."""
        self._work = trio.Event()
        self._taking = trio.Event()
        self._polling = trio.Event()
        self._full_read_due = float("-inf")
        self._newest_change = 0
        self._look: set[Key] = set()
        """Entries whose set was changed in the bracket by others."""
        self._looked: dict[str, int] = {}
        """The time of the last change of those sets that were looked at."""
        self._missing: set[str] = set()
        """Ids of sets that are not in the bracket any more."""
        self._retry_at: dict[Key, float] = {}
        self._attempts: dict[Key, int] = {}
        self._chores_failed: set[tuple[str, str]] = set()
        self._failures = 0
        self._paused_until = float("-inf")
        self._log = get_logger()
        self.trouble: str | None = None
        """Why the bracket cannot be reached or used; `None` while it can."""
        self.connected = False
        """Whether the last request was answered."""
        self.checked = ""
        """The outcome of the check of the token."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing is changed in the bracket."""
        return self._wishes.dry_run

    @property
    def entries(self) -> Collection[Entry]:
        """All entries of the queue."""
        return self._entries.values()

    @property
    def sets(self) -> Collection[BracketSet]:
        """The sets of the bracket, as far as they were read."""
        return self._known.sets.values()

    def context_of(self, station: str, played_id: str) -> SetContext | None:
        """The facts about a played set; `None` if it is no set of the bracket, as far as is known."""
        entry = self._entries.get((station, played_id))
        if entry is None:
            return None
        found = self._known.sets.get(entry.set_id)
        context = entry.context if found is None else found.context
        return None if found is None and not context else SetContext(context, entry.swapped)

    @property
    def here(self) -> Mapping[str, str]:
        """Our stations by the ids of the bracket's."""
        return self._known.here

    @property
    def store_trouble(self) -> str | None:
        """Why the queue cannot be stored; `None` while it can."""
        return self._entries.trouble

    @property
    def waiting(self) -> int:
        """Number of entries with which something has still to happen."""
        return self._entries.waiting

    @property
    def lag_seconds(self) -> float:
        """How long the oldest report that may be sent has been waiting."""
        since = [entry.over_at_ms for entry in self._entries.values() if entry.state == "due" and entry.over_at_ms]
        return max(0.0, self._wall_clock() - min(since) / 1000) if since else 0.0

    def rendered(self, entry: Entry) -> Mapping[str, Any] | None:
        """The request for an entry; `None` without a set of the bracket."""
        return self._results.rendered(queue.report_of(entry)) if entry.set_id else None

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station. Returns at once."""
        key = _key_of(station, payload)
        self._passed.pop(key, None)
        self._passed[key] = payload
        while len(self._passed) > _MAX_PASSED:
            del self._passed[next(iter(self._passed))]
        self._taking.set()

    def expected(self, station: str) -> Sequence[ExpectedPlayer]:
        """The players whom the bracket expects at a station; empty if it expects none, or those of several sets."""
        found = self.expected_set(station)
        return [
            ExpectedPlayer(each.name, each.prefix or None, each.pronouns or None, entrant.id)
            for entrant in (() if found is None else found.entrants)
            if entrant is not None
            for each in entrant.participants
        ]

    def expected_set(self, station: str) -> BracketSet | None:
        """The set that was called to a station or is being played there.

        Otherwise the next one in the queue of the station's stream, or else the only one assigned to the station.
        """
        here = self.here
        finished = {entry.set_id for entry in self._entries.values() if entry.state == "done"}
        coming = {
            id: each
            for id, each in self._known.sets.items()
            if each.state != "done" and each.is_filled and each.id not in finished
        }
        at_station = [e for e in coming.values() if e.station is not None and here.get(e.station.id) == station]
        begun = [each for each in at_station if each.state != "open"]
        queued = [coming[id] for id in self._known.queues.get(station, ()) if id in coming]
        return next((sets[0] for sets in (begun, queued[:1], at_station) if len(sets) == 1), None)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._load()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._take_for_ever)
            nursery.start_soon(self._send_for_ever)
            nursery.start_soon(self._note_alive)
            if self._bracket is not None:
                nursery.start_soon(self._poll_for_ever, self._bracket)

    # Decisions by people.

    async def assign_entry(self, key: Key, set_id: str, *, swapped: bool) -> Entry:
        """Say which set of the bracket an entry is. Raises `ActRefused`."""
        found = self._known.sets.get(set_id)
        if found is None:
            raise ActRefused(f"the bracket has no set {set_id}")
        if not found.is_filled:
            raise ActRefused("the set of the bracket does not have both entrants yet")
        async with self._entries.changing:
            entry = self._entry(key)
            if entry.state in ("due", "done"):
                raise ActRefused("it was reported already" if entry.state == "done" else "its report is being sent")
            others = [each for each in self._entries.held.get(set_id, ()) if each.key != key]
            for other in others:
                is_reported = other.state in ("due", "done") and queue.report_of(other).winner is not None
                if other.played.over or is_reported:
                    raise ActRefused(f"that set was played on {other.station}")
            changed = queue.assigned(entry, found, self._rules, swapped=swapped, by_person=True)
            for other in others:  # it was moved to this station
                changed = queue.taken_over(changed, other, self._rules)
            await self._entries.keep([changed, *(queue.dropped(other) for other in others)])
        self._decided(key)
        return changed

    async def confirm(self, key: Key) -> Entry:
        """Confirm the report of an entry as it is now. Raises `ActRefused`."""

        def confirm(entry: Entry) -> Entry:
            if entry.state != "confirm":
                raise ActRefused("there is nothing to confirm")
            return queue.confirmed(entry, self._rules)

        return await self._changed_by_person(key, confirm)

    async def drop(self, key: Key) -> Entry:
        """Decide that an entry is not reported. Raises `ActRefused`."""

        def drop(entry: Entry) -> Entry:
            if entry.state == "done":
                raise ActRefused("it was reported already")
            return queue.dropped(entry)

        return await self._changed_by_person(key, drop)

    async def correct(self, key: Key, *, reset_dependents: bool) -> Entry:
        """Replace the result that the bracket has by what was played. Raises `ActRefused` and `Refused`."""
        entry = self._entry(key)
        if entry.state not in ("conflict", "done") or not entry.set_id:
            raise ActRefused("there is no result in the bracket that could be replaced")
        if queue.report_of(entry).winner is None:
            raise ActRefused("the set here has no winner")
        found = None if self._bracket is None else await self._bracket.read(entry.set_id)
        report = queue.report_of(entry)
        if found is not None and found.state == "done" and found.winner == report.winner and report.games is None:
            raise ActRefused("the bracket has this winner already, and which games were won is not known")
        return await self._changed_by_person(
            key, lambda entry: queue.to_correct(entry, found, self._rules, reset_dependents=reset_dependents)
        )

    async def act(self, verb: Verb, set_id: str, station: str = "") -> None:
        """Call a set, mark it as being played, or assign it to our station. Raises `ActRefused` and `Refused`."""
        if self._wishes.dry_run:
            raise ActRefused("this is a dry run: nothing is changed in the bracket")
        if self._bracket is None or set_id not in self._known.sets:
            raise ActRefused(f"the bracket has no set {set_id}")
        theirs = next((id for id, ours in self.here.items() if ours == station), None)
        if verb == "assign" and theirs is None:
            raise ActRefused(f"the bracket has no station for {station}")
        await self._act(self._bracket, Chore(verb, set_id, theirs or ""))

    # The queue.

    def _entry(self, key: Key) -> Entry:
        if key not in self._entries:
            raise ActRefused("there is no such set")
        return self._entries[key]

    async def _changed_by_person(self, key: Key, change: Callable[[Entry], Entry]) -> Entry:
        async with self._entries.changing:
            changed = change(self._entry(key))
            await self._entries.keep([changed])
        self._decided(key)
        return changed

    def _decided(self, key: Key) -> None:
        self._retry_at.pop(key, None)
        self._work.set()

    async def _load(self) -> None:
        """Load the queue, and take up the sets that were played while no daemon ran."""
        at_work = await self._entries.load()
        now_ms = self._since_ms = self._now_ms()
        if at_work is not None:  # the clock may have been set back
            self._since_ms = max(min(at_work.until_ms, now_ms) - EARLIER_MS, at_work.since_ms)
        elif self._damaged:
            for station, payload in await self._around.sets_since(None, now_ms - _DAY_MS):
                self.set_changed(station, payload)
        await self.take_up()

    async def take_up(self) -> None:
        """Take up the sets that were played while no daemon ran, once their games are known."""
        for station, payload in await self._around.sets_since(None, self._since_ms):
            key = _key_of(station, payload)
            self._taken_up.add(key)
            self.set_changed(station, self._passed.get(key, payload))  # what was passed is newer

    async def _note_alive(self) -> None:
        while True:
            await self._entries.note_alive()
            for key in await self._entries.forget_finished():
                self._look.discard(key)
                self._attempts.pop(key, None)
                self._retry_at.pop(key, None)
            await trio.sleep(_ALIVE_SECONDS)

    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)

    # Played sets.

    async def _take_for_ever(self) -> None:
        while True:
            await self._taking.wait()
            self._taking = trio.Event()
            while self._passed:
                station, played_id = key = next(iter(self._passed))
                payload = self._passed.pop(key)
                if played_id:
                    await self._take(key, payload)
                elif self._bracket is not None:
                    await self._describe_upcoming(station)
            self._work.set()

    async def _take(self, key: Key, payload: Mapping[str, Any]) -> None:
        played = played_set(payload)
        was_taken_up = key in self._taken_up
        self._taken_up.discard(key)
        if played is None:
            return
        order: list[Key] = []
        is_late = False
        if key not in self._entries:
            since_ms = min(self._since_ms, self._now_ms() - _DAY_MS)
            order = [_key_of(*each) for each in await self._around.sets_since(key[0], since_ms)]
            is_late = not was_taken_up and not await self._is_known(key) and played.over
        later = set(order[order.index(key) + 1 :]) if key in order else set()
        async with self._entries.changing:
            before = self._entries.get(key)
            entry = before or Entry(
                station=key[0],
                played_id=key[1],
                played=played,
                doubt="it was over before slpstream saw it" if is_late else "",
            )
            entry = self._with_played(entry, played)
            others = [
                each for each in self._entries.values()
                if each.station == key[0] and each.key != key and each.key not in later and each.state in _OPEN
            ]  # fmt: skip
            changed = [entry]
            if before is None:
                changed = [queue.left_behind(entry, self._rules) if later else entry]
                changed += [queue.left_behind(each, self._rules) for each in others]
            await self._entries.keep(changed)
        if before is None and others:
            # Games may have gone from those sets to this one.
            for station, older in await self._around.sets_since(key[0], self._now_ms() - _DAY_MS):
                if any(each.key == _key_of(station, older) for each in others):
                    self.set_changed(station, older)
        await self._describe(key)

    async def _is_known(self, key: Key) -> bool:
        """Whether a set that is new here was played since the bracket is at work. Those before it are taken up."""
        known = False
        for station, payload in await self._around.sets_since(key[0], self._since_ms):
            other = _key_of(station, payload)
            if other == key:
                known = True
            elif not known and other not in self._entries:
                self._taken_up.add(other)
                await self._take(other, self._passed.pop(other, payload))
        return known

    def _with_played(self, entry: Entry, played: Played) -> Entry:
        if self._wishes.dry_run and played.over and not entry.doubt:
            entry = msgspec.structs.replace(entry, doubt="it was played in a dry run")
        if played.who != entry.played.who:
            entry = self._with_names(msgspec.structs.replace(entry, settled=False), played)
        entry = queue.with_played(entry, played, self._rules, self._now_ms())
        return entry if entry.set_id else self._matched(entry)

    def _with_names(self, entry: Entry, played: Played) -> Entry:
        """The entry after its players have got other names."""
        if not entry.set_id or entry.state == "dropped":
            return entry
        if self._bracket is None:
            return queue.with_names_of_result(entry, played.names, self._rules)
        if not (entry.sent or entry.by_person or entry.state == "done"):
            return queue.unassigned(entry)
        return queue.with_names(entry, played, self._rules)

    def _matched(self, entry: Entry) -> Entry:
        """The entry after a set of the bracket was looked for."""
        if self._bracket is None:
            return queue.taken_as_result(entry, self._rules)
        if entry.state == "dropped" or entry.settled:
            return entry
        return queue.with_match(entry, self._match_of(entry), self._rules)

    def _match_of(self, entry: Entry) -> Match:
        held, elsewhere = self._entries.held, self._entries.in_progress_elsewhere(entry.station)
        rule = self._wishes.match
        return match(entry.played, self._known.open_sets, entry.station, held, rule, elsewhere=elsewhere)

    async def _describe(self, key: Key) -> None:
        entry = self._entries.get(key)
        found = None if entry is None else self._known.sets.get(entry.set_id)
        if self._around.describe is None or entry is None or found is None:
            return
        if entry.detailed or entry.state in ("done", "dropped"):
            return
        await self._around.describe(entry.station, entry.played_id, found)
        async with self._entries.changing:
            await self._entries.keep([msgspec.structs.replace(self._entries.get(key, entry), detailed=True)])

    async def _describe_upcoming(self, station: str) -> None:
        found = self.expected_set(station)
        if self._around.describe is not None and found is not None and self._upcoming.get(station) != found.id:
            self._upcoming[station] = found.id
            await self._around.describe(station, "", found)

    # Reading the bracket.

    async def _poll_for_ever(self, bracket: Bracket) -> None:
        while True:
            await trio.sleep_until(self._paused_until)
            self._polling = trio.Event()
            try:
                await self._refresh(bracket)
                await self._do_chores(bracket)
            except Refused as refusal:
                await self._failed(refusal)
            else:
                self._worked()
            self._work.set()
            with trio.move_on_after(self._wishes.poll_seconds):
                await self._polling.wait()

    async def _refresh(self, bracket: Bracket) -> None:
        """Read what has changed, or everything from time to time."""
        began_ms, began = self._now_ms(), trio.current_time()
        unreported = {entry.key for entry in self._entries.values() if entry.state in WAITING}
        if began >= self._full_read_due:
            if not self.checked:
                self.checked = await bracket.check()
                self._log.info("bracket connected", bracket=self.name, what=self.checked, dry_run=self._wishes.dry_run)
            stations = await bracket.stations()
            read = {each.id: each for each in await bracket.open_sets()}
            self._known.stations = stations
            self._missing -= read.keys()
            self._look |= {e.key for e in self._entries.values() if e.set_id not in read and self._may_be_done(e)}
            self._known.replace_open(read.values())
            self._chores_failed.clear()
            self._full_read_due = began + _FULL_READ_SECONDS
        else:
            since = max(0, self._newest_change - _OVERLAP_SECONDS)
            read = {each.id: each for each in await bracket.changed_sets(since)}
            self._known.update(read.values())
        if self._wishes.streams:
            await self._read_queues(bracket)
        self._newest_change = max([self._newest_change, *(each.updated_at for each in read.values())])
        await self._after_reading(began_ms, unreported)

    def _may_be_done(self, entry: Entry) -> bool:
        """Whether the set of an entry has to be looked at if it is not among the open ones."""
        if not entry.set_id or entry.state not in _LOOKED_AT or entry.set_id in self._missing:
            return False
        found = self._known.sets.get(entry.set_id)
        return found is None or found.state != "done" or self._looked.get(found.id) != found.updated_at

    async def _read_queues(self, bracket: Bracket) -> None:
        """Read which sets come next on the streams that our stations are shown on."""
        try:
            queues = await bracket.stream_queues()
        except Refused as refusal:
            if refusal.kind in _GLOBAL:
                raise
            if refusal.what != self._queues_refused:
                self._log.warning("the queues of streams cannot be read", what=refusal.what)
            self._queues_refused = refusal.what
            return
        self._queues_refused = ""
        ours = {stream.casefold(): station for stream, station in self._wishes.streams.items()}
        self._known.queues = {ours[name.casefold()]: ids for name, ids in queues.items() if name.casefold() in ours}

    async def _after_reading(self, began_ms: int, unreported: Collection[Key] = ()) -> None:
        """Match what could not be matched before, and look at sets that others have completed.

        `unreported` has the keys of the entries that were waiting when the reading began.
        """
        async with self._entries.changing:
            for entry in list(self._entries.values()):
                if not entry.set_id and not entry.settled and entry.state in ("aside", "ask"):
                    await trio.lowlevel.checkpoint()
                    await self._entries.keep([self._matched(entry)])
                found = self._known.sets.get(entry.set_id)
                if found is None or found.state != "done" or entry.state not in _LOOKED_AT:
                    continue
                if self._looked.get(found.id) != found.updated_at:
                    self._looked[found.id] = found.updated_at
                    self._look.add(entry.key)
            # After all have been matched, because a set waits for those that its players come from.
            settled = [self._settled(entry, began_ms, unreported) for entry in self._entries.values()]
            await self._entries.keep(settled)
        for key, entry in list(self._entries.items()):
            if entry.set_id and not entry.detailed and entry.state not in ("done", "dropped"):
                await self._describe(key)
        for station in self._around.stations():
            if station in self._upcoming:
                await self._describe_upcoming(station)

    def _settled(self, entry: Entry, began_ms: int, unreported: Collection[Key]) -> Entry:
        """No set is looked for any more when the bracket was read after the end, with all earlier results in it.

        Otherwise a friendly would be taken for the next set of the same players.
        """
        ended = entry.left_behind or (entry.played.over and entry.over_at_ms < began_ms)
        if entry.state != "aside" or entry.set_id or entry.settled or not ended:
            return entry
        names = names_in(entry.played)
        for other in self._entries.values():
            waits = other.key != entry.key and (other.state in WAITING or other.key in unreported)
            if waits and (other.station == entry.station or not names.isdisjoint(names_in(other.played))):
                return entry
        return msgspec.structs.replace(entry, settled=True)

    async def _do_chores(self, bracket: Bracket) -> None:
        """Assign, start and call sets as configured."""
        for chore in chores(self._entries.values(), self._known, self._wishes):
            if chore[:2] in self._chores_failed:
                continue
            try:
                await self._act(bracket, chore)
            except Refused as refusal:
                if refusal.kind in _GLOBAL:
                    raise
                self._chores_failed.add(chore[:2])
                change = {"change": chore.verb, "set": chore.set_id}
                self._log.warning("the bracket refuses a change", what=refusal.what, **change)

    async def _act(self, bracket: Bracket, chore: Chore) -> None:
        """Change a set in the bracket. Raises `Refused`."""
        verb, set_id, station_id = chore
        try:
            if verb == "assign":
                outcome = await bracket.assign(set_id, station_id)
            else:
                outcome = await (bracket.call(set_id) if verb == "call" else bracket.start(set_id))
        except Refused as refusal:
            await self._rename(refusal.renamed)
            if refusal.kind != "already":
                raise
            outcome = Outcome()
        await self._rename(outcome.renamed)
        set_id = outcome.renamed.get(set_id, set_id)
        found = self._known.sets.get(set_id)
        if found is not None and verb == "assign":
            self._known.put(msgspec.structs.replace(found, station=self._known.stations.get(station_id)))
        elif found is not None:
            self._known.put(msgspec.structs.replace(found, state="called" if verb == "call" else "running"))
        self._log.info("set changed in the bracket", change=verb, set=set_id)

    async def _rename(self, ids: Mapping[str, str]) -> None:
        """Take over new ids of sets."""
        if ids:
            await self._entries.rename(ids)
            self._known.rename(ids)

    # Sending.

    async def _send_for_ever(self) -> None:
        while True:
            await trio.sleep_until(self._paused_until)
            self._work = trio.Event()
            key = self._next()
            if key is not None:
                await self._work_on(key)
                continue
            with trio.move_on_at(min(self._due_at(), default=float("inf"))):
                await self._work.wait()

    def _next(self) -> Key | None:
        """The entry to work on now: ends of sets before games, and otherwise the one that has waited longest."""
        now = trio.current_time()
        due = [entry for entry in self._wanted() if self._entry_due_at(entry) <= now]
        # Those that were never refused come first, so that one report alone does not hold up all others.
        tried = self._retry_at
        best = min(
            due,
            key=lambda e: (e.key in tried, not e.played.over, tried.get(e.key, 0.0), e.over_at_ms),
            default=None,
        )
        return None if best is None else best.key

    def _wanted(self) -> list[Entry]:
        looked_at = [self._entries[key] for key in self._look if key in self._entries]
        looked_at = [entry for entry in looked_at if entry.set_id and entry.state in _LOOKED_AT]
        if self._wishes.dry_run:
            return looked_at
        return [*looked_at, *(entry for entry in self._entries.values() if entry.state == "due")]

    def _due_at(self) -> list[float]:
        return [self._entry_due_at(entry) for entry in self._wanted()]

    def _entry_due_at(self, entry: Entry) -> float:
        """When to work on an entry, on trio's clock."""
        at = self._retry_at.get(entry.key, 0.0)
        if entry.played.over and not entry.confirmed and entry.state == "due":
            left_seconds = self._wishes.hold_seconds - (self._wall_clock() - entry.over_at_ms / 1000)
            if 0 < left_seconds <= self._wishes.hold_seconds:  # the clock may have been set back
                at = max(at, trio.current_time() + left_seconds)
        return at

    async def _work_on(self, key: Key) -> None:
        self._retry_at.pop(key, None)
        try:
            await self._report(key)
        except Refused as refusal:
            await self._report_failed(key, refusal)
        else:
            self._worked()
            self._attempts.pop(key, None)

    async def _report(self, key: Key) -> None:
        """Read the set of an entry, and report it if it has to be. Raises `Refused`."""
        looks = key in self._look
        entry = self._entries[key]
        set_id = entry.set_id
        found = None if self._bracket is None else await self._bracket.read(entry.set_id)
        async with self._entries.changing:
            entry = self._entries[key]
            if entry.state == "dropped" or entry.set_id != set_id:  # a person has decided meanwhile
                self._look.discard(key)
                return
            if found is None:
                step = queue.Step("correct" if entry.overrules else "report", entry)
            elif found.id == entry.set_id:
                self._known.put(found)
                if found.state == "done":
                    self._looked[found.id] = found.updated_at
                step = queue.next_step(entry, found)
            else:  # it has another id by now
                await self._entries.keep([queue.renamed(entry, {entry.set_id: found.id})])
                return
            sends = step.do != "nothing" and entry.state == "due" and not self._wishes.dry_run
            if step.do == "nothing" or sends:
                await self._entries.keep([step.entry])
            self._look.discard(key)
            entry = self._entries[key]
        if sends:
            await self._send(entry, step.do == "correct", found)
        elif entry.state == "done":
            self._note("already_there", entry)
        elif entry.state == "conflict":
            self._note("conflict", entry)
        elif not looks:
            self._retry_at[key] = trio.current_time() + _PATIENT_SECONDS

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
            if changed.state == "dropped":
                changed = queue.refused(changed, "its report was sent before")
            elif same:
                if self._bracket is None and changed.names != report.names:
                    changed = msgspec.structs.replace(changed, naming="unclear")
                changed = queue.planned(queue.accepted(changed, report, report.winner), self._rules)
            await self._entries.keep([changed, *others])
        await self._rename(ids)
        self._note("corrected" if corrects else "reported", changed, report)
        if report.winner is not None:
            self._polling.set()  # the next sets of these players have entrants now

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

    async def _report_failed(self, key: Key, refusal: Refused) -> None:
        self._on_outcome("tried_again")
        if refusal.kind in _GLOBAL:
            await self._failed(refusal)
            self._retry_at[key] = self._paused_until  # others come first, in case it is this report alone
            return
        self._worked()
        await self._rename(refusal.renamed)
        attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
        first_seconds = _PATIENT_SECONDS if refusal.kind in ("entrants", "unknown") and attempts > 1 else 1.0
        self._retry_at[key] = trio.current_time() + backoff_seconds(attempts, first_seconds)
        async with self._entries.changing:
            entry = self._entries[key]
            if entry.state == "dropped":
                changed = entry
            elif refusal.kind == "dependents":
                changed = msgspec.structs.replace(entry, state="conflict", why=refusal.what, overrules="", confirmed="")
            elif refusal.kind in ("completed", "unclear"):
                changed = entry  # the set is read again, and compared
            else:
                changed = queue.refused(entry, refusal.what)
            await self._entries.keep([changed])
        if refusal.kind == "missing":
            self._look.discard(key)
            await self._find_again(key)
        self._log.warning("the bracket refuses a report", kind=refusal.kind, what=refusal.what, station=key[0])

    async def _find_again(self, key: Key) -> None:
        """Read all sets again, also completed ones, because the ids of a pool have changed."""
        if self._bracket is None:
            return
        self._full_read_due = float("-inf")
        self._missing.add(self._entries[key].set_id)
        try:
            await self._refresh(self._bracket)
            lately = await self._bracket.changed_sets(int(self._wall_clock()) - _LATELY_SECONDS)
        except Refused as refusal:
            await self._failed(refusal)
            return
        self._known.update(lately)
        async with self._entries.changing:
            changed: list[Entry] = []
            places: dict[str, list[BracketSet]] = {}
            for each in self._known.sets.values():
                places.setdefault(each.place, []).append(each)
            for entry in self._entries.values():
                if not entry.set_id or entry.set_id in self._known.sets or entry.state in ("done", "dropped"):
                    continue
                others = {each.set_id for each in changed}
                held = self._entries.held
                free = [e for e in places.get(entry.place, ()) if e.id not in held and e.id not in others]
                found = queue.found_again(entry, free)
                if found is not None:
                    changed.append(found)
                elif entry.key == key:
                    changed.append(queue.lost(entry))
            await self._entries.keep(changed)

    async def _failed(self, refusal: Refused) -> None:
        """Pause everything: the bracket does not answer, or refuses everything."""
        await self._rename(refusal.renamed)
        self._failures += 1
        first_seconds = {"slow_down": _SLOW_DOWN_SECONDS, "forbidden": _FORBIDDEN_SECONDS}.get(refusal.kind, 1.0)
        pause_seconds = max(backoff_seconds(self._failures, first_seconds), refusal.retry_after_seconds)
        self._paused_until = trio.current_time() + pause_seconds
        trouble = f"{_WORDS.get(refusal.kind, 'does not answer as expected')}: {refusal.what}"
        if trouble != self.trouble:
            self._log.warning("bracket: reports wait", bracket=self.name, what=trouble, waiting=self.waiting)
        self.trouble, self.connected = trouble, False

    def _worked(self) -> None:
        if self.trouble is not None:
            self._log.info("bracket answers again", bracket=self.name, waiting=self.waiting)
        self._failures, self.trouble, self.connected = 0, None, True


_OPEN: Final[frozenset[State]] = frozenset({"aside", "ask", "following", "confirm"})
_LOOKED_AT: Final[frozenset[State]] = frozenset({"following", "confirm", "conflict", "ask"})
"""States of entries whose set is read when others have changed it."""
_GLOBAL: Final = frozenset({"unavailable", "slow_down", "forbidden"})
_WORDS: Final[Mapping[str, str]] = {
    "unavailable": "does not answer",
    "slow_down": "asks for fewer requests",
    "forbidden": "refuses the token",
}


def _key_of(station: str, payload: Mapping[str, Any]) -> Key:
    return station, str(payload.get("setId") or "")
