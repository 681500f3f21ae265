"""The bracket that was configured for a daemon.

This opens its queue, connects to it, and gives its desk access to the stations.
"""

from __future__ import annotations

import sqlite3
import ssl
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import trio

from slpstream.config import read_secret
from slpstream.model.bracket_facts import ExpectedPlayer, SetContext
from slpstream.model.errors import ActRefused, ConfigError, SinkError, StoreError
from slpstream.parts.bracket.checks import event_slug
from slpstream.parts.bracket.desk.desk import BracketDesk, Surroundings
from slpstream.parts.bracket.desk.entries import StationSet
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.endpoints import BracketEntrant, BracketState, Decision, ListedSet, QueuedSet, SetChange
from slpstream.parts.bracket.interface import (
    BracketKind,
    BracketSet,
    Connection,
    Headers,
    HttpAnswer,
    Refused,
)
from slpstream.parts.bracket.kinds import kind_called
from slpstream.parts.bracket.part import Bracket
from slpstream.parts.bracket.played import Played
from slpstream.parts.bracket.queue import WAITING, Entry, Rules, State
from slpstream.parts.bracket.reports import FILE_NAME, ReportStore
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import ExpectedPlayers, SetContexts
from slpstream.sets import ImpossibleCorrection, SetPatch
from slpstream.sets.patches import MAX_NAME
from slpstream.system.http_client import request, signature, target_of
from slpstream.system.logs import get_logger

_MAX_ANSWER_BYTES = 8 << 20
_LENGTHS = range(1, 100)
_MAX_OTHERS = 50
_PATIENT_SECONDS = 60.0
"""The longest wait for old files before the desk starts. The newest files are read first."""
_POLL_SECONDS = 0.2


class ConfiguredBracket(RunningPart):
    """The bracket of a daemon."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if the bracket can't work with this configuration."""
        self._host = host
        self._config = config = host.config.section(Bracket)
        self._damaged = False
        self._kind: BracketKind = kind_called(config.kind)
        if not (config.url or self._kind.url):
            raise ConfigError("configuration", "bracket.url", f"must be given for {config.kind}")
        self._store: ReportStore | None = None
        self._log = get_logger()
        self.desk: BracketDesk | None = None
        """The desk while it runs."""
        self._newest: dict[str, Mapping[str, Any]] = {}
        """The payloads of the newest sets by station, for the start of the desk."""
        host.provide(ExpectedPlayers, self)
        host.provide(SetContexts, self)

    @property
    def dry_run(self) -> bool:
        """Whether we don't change anything in the bracket."""
        return not self._config.report

    def open(self) -> None:
        """Open the queue. This blocks, and raises `ConfigError` if it isn't possible."""
        state_folder, metrics = self._host.state_folder, self._host.metrics

        def warn(damaged: Path, what: str) -> None:
            self._damaged = True
            self._log.error(
                "the queue of the bracket is damaged; the sets of the last day are taken up again",
                file=str(state_folder / FILE_NAME), damaged=str(damaged), what=what,
            )  # fmt: skip

        try:
            self._store = ReportStore(state_folder / FILE_NAME, on_damage=warn)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError("configuration", "store.folder", "cannot be used for reports", found=error) from error
        metrics.bind("slpstream_bracket_connected", lambda: float(self.is_connected))
        metrics.bind_each("slpstream_bracket_waiting_sets", self.waiting)
        metrics.bind("slpstream_bracket_lag_seconds", lambda: self.lag_seconds)

    def close(self) -> None:
        """Close the queue. This blocks. Before you call it, `run` must have ended."""
        if self._store is not None:
            self._store.close()

    async def run(self) -> None:
        """Do the work until cancelled.

        If a bug has ended this, you can call it again, because the queue is read from disk.
        """
        if self._store is None:
            return
        connection = await connection_of(self._config, self._kind)
        made = self._kind.make(connection)
        with trio.move_on_after(_PATIENT_SECONDS):  # a set looks like another one until all of its games are known
            await self._until_old_files_are_read()
        await self._refresh_newest()
        self.desk = desk = BracketDesk(
            self._config.kind,
            made,
            made if self._kind.reads else None,
            self._store,
            self._policy(),
            Surroundings(self._stations, self._sets_since, self._describe if self._config.details else None),
            on_outcome=lambda outcome: self._host.metrics.counter("slpstream_bracket_reports_total", outcome).inc(),
            damaged=self._damaged,
        )
        for station, payload in self._newest.items():
            desk.intake.set_changed(station, payload)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.run)
            if not self._host.has_read_old_files():
                await self._until_old_files_are_read()
                await desk.intake.catch_up()

    async def _refresh_newest(self) -> None:
        """Compute the newest sets again.

        We do this because they are only published a moment after their games were read.
        """
        for station in list(self._newest):
            try:
                score = await self._host.sets.score(station)
            except StoreError as error:
                self._log.warning("the newest set cannot be read", station=station, what=str(error))
            else:
                self._newest[station] = msgspec.to_builtins(score)

    async def _until_old_files_are_read(self) -> None:
        while not self._host.has_read_old_files():  # noqa: ASYNC110 -- stations and the index have no common event
            await trio.sleep(_POLL_SECONDS)

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note the payload of a `set` message of the given station."""
        self._newest[station] = payload
        if self.desk is not None:
            self.desk.intake.set_changed(station, payload)

    def state(self) -> BracketState:
        """Return the state of the connection, and the entries of the queue with the reasons why they are waiting."""
        desk = self.desk
        entries = [] if desk is None else list(desk.entries)[::-1]
        known = set() if desk is None else set(desk.here.values())
        return BracketState(
            configured=True,
            kind=self._config.kind,
            connected=desk is not None and desk.link.connected,
            checked="" if desk is None else desk.link.checked,
            trouble=None if desk is None else desk.link.trouble,
            dry_run=self.dry_run,
            confirm=self._config.confirm,
            reads=self._kind.reads,
            stations=[station for station in self._stations() if station in known],
            waiting=0 if desk is None else desk.waiting,
            queue=[_queued(entry, desk) for entry in _listed(entries) if desk is not None],
        )

    def listed_sets(self) -> Sequence[ListedSet]:
        """Return those sets of the bracket that we have read."""
        desk = self.desk
        here = {} if desk is None else desk.here
        return [_listed_set(each, here) for each in ([] if desk is None else desk.sets)]

    async def decide(self, decision: Decision) -> None:
        """Do what a person has decided. Raises `ActRefused` if that isn't possible."""
        desk, key = self._running(), (decision.station, decision.set_id)
        with _refusals():
            if decision.do == "confirm":
                await desk.decisions.confirm(key)
            elif decision.do == "drop":
                await desk.decisions.drop(key)
            elif decision.do == "assign":
                await desk.decisions.assign(key, decision.bracket_set or "", swapped=decision.swapped)
            else:
                await desk.decisions.correct(key, reset_dependents=decision.reset_dependents)
        self._log.info("decision about a result", do=decision.do, station=decision.station, set_id=decision.set_id)

    async def change_set(self, change: SetChange) -> None:
        """Change a set in the bracket. Raises `ActRefused` if that isn't possible."""
        with _refusals():
            await self._running().decisions.change_set(change.do, change.set, change.station)

    def _running(self) -> BracketDesk:
        if self.desk is None:
            raise ActRefused("the bracket is being started")
        return self.desk

    def context_of(self, station: str, set_id: str) -> SetContext | None:
        """Return the bracket's knowledge about a set that was played.

        Returns `None` if we don't know any set of the bracket that it belongs to.
        """
        return None if self.desk is None else self.desk.context_of(station, set_id)

    def expected(self, station: str) -> Sequence[ExpectedPlayer]:
        """Return the players that the bracket expects at the given station."""
        return () if self.desk is None else self.desk.expected(station)

    @property
    def has_looked(self) -> bool:
        """Whether we have loaded the queue and, if the bracket can be read, know the outcome of the first request."""
        desk = self.desk
        return desk is not None and (not self._kind.reads or desk.link.connected or desk.link.trouble is not None)

    def not_ready(self) -> list[str]:
        """Return the reasons why results don't get to the bracket.

        If a decision is waiting for a person, there's nothing wrong.
        """
        desk = self.desk
        if desk is None:
            return []
        reasons = []
        if desk.store_trouble is not None:
            reasons.append(f"bracket: the queue cannot be stored: {desk.store_trouble}")
        if desk.link.trouble is not None:
            waiting = f"; {desk.waiting} sets wait" if desk.waiting else ""
            reasons.append(f"bracket {self._config.kind} {desk.link.trouble}{waiting}")
        return reasons

    @property
    def is_connected(self) -> bool:
        """Whether the last request was answered."""
        return self.desk is not None and self.desk.link.connected

    @property
    def lag_seconds(self) -> float:
        """How long the oldest result that should be reported has been waiting."""
        return 0.0 if self.desk is None else self.desk.lag_seconds

    def waiting(self) -> Mapping[str, float]:
        """Return how many sets are pending, by state."""
        counted = Counter(entry.state for entry in ([] if self.desk is None else list(self.desk.entries)))
        return {state: float(counted[state]) for state in sorted(WAITING)}

    def _stations(self) -> dict[str, str]:
        """The names of the stations by id."""
        return {station.id: station.name for station in self._host.stations.lasting_stations}

    def _policy(self) -> Policy:
        config = self._config
        return Policy(
            dry_run=self.dry_run,
            rules=Rules(confirm=config.confirm, games=config.games),
            match=config.match,
            hold_seconds=config.hold_seconds,
            poll_seconds=config.poll_seconds,
            call=config.call_sets,
            start=config.start_sets,
            assign=config.assign_stations,
            stations=config.stations,
            streams=config.streams,
        )

    async def _sets_since(self, station: str | None, since_ms: int) -> Sequence[StationSet]:
        found: list[StationSet] = []
        for each in [station] if station is not None else list(self._stations()):
            try:
                scores = await self._host.sets.scores_since(each, since_ms)
            except StoreError as error:
                self._log.warning("earlier sets cannot be read", station=each, what=str(error))
            else:
                found += [(each, msgspec.to_builtins(score)) for score in scores]
        return found

    async def _describe(self, station: str, played_id: str, found: BracketSet) -> None:
        """Correct the current set of a station with details from the bracket.

        If an operator has already given one of these, it stays.
        """
        try:
            score = await self._host.sets.score(station)
            if (score.set_id or "") != played_id:
                return
            is_usual = score.best_of == self._host.config.sets.best_of != found.best_of
            patch = SetPatch(
                round=found.round[:MAX_NAME] if found.round and score.round is None else msgspec.UNSET,
                event=found.event[:MAX_NAME] if found.event and score.event is None else msgspec.UNSET,
                best_of=found.best_of if found.best_of in _LENGTHS and is_usual else msgspec.UNSET,
            )
            if patch != SetPatch():
                await self._host.sets.correct(
                    station, patch, lambda now: now.set_id == score.set_id, by=self._config.kind
                )
        except (StoreError, ImpossibleCorrection) as error:
            self._log.warning("details of a set cannot be given", station=station, what=str(error))


async def connection_of(config: Bracket, kind: BracketKind) -> Connection:
    """Return the address, secret and transport of the bracket that was configured."""
    url = config.url or kind.url
    context = await trio.to_thread.run_sync(ssl.create_default_context) if target_of(url).secure else None

    async def send(method: str, url: str, headers: Headers, body: bytes) -> HttpAnswer:
        target = target_of(url)
        tls = context if target.secure else None
        answer = await request(
            method, target, headers, body, tls, config.timeout_seconds, max_body_bytes=_MAX_ANSWER_BYTES
        )
        return HttpAnswer(answer.status, answer.body, answer.retry_after)

    async def secret() -> str:
        """Read the token again, because if the bracket has refused it, someone might have corrected the file.

        Raises `SinkError` if there is no token.
        """
        if not config.token_file:
            raise SinkError("there is no token: `bracket.token_file` is empty")
        try:
            return await trio.to_thread.run_sync(read_secret, Path(config.token_file), "bracket.token_file")
        except ConfigError as error:
            raise SinkError(error.for_clients) from None

    events = [event_slug(event) for event in config.events] if config.kind == "start.gg" else config.events
    return Connection(url, events, send, secret, signature, config.requests_per_minute)


@contextmanager
def _refusals() -> Iterator[None]:
    """A context manager that turns it into `ActRefused` if the bracket refuses something."""
    try:
        yield
    except Refused as refusal:
        raise ActRefused(f"the bracket refuses: {refusal.what}") from None


def _listed(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that are pending, those that are being played, and the newest of all others."""
    first = [entry for entry in entries if entry.state in WAITING]
    second = [entry for entry in entries if entry.state == State.FOLLOWING]
    others = [entry for entry in entries if entry.state not in WAITING and entry.state != State.FOLLOWING]
    return [*first, *second, *others[:_MAX_OTHERS]]


def games_left_out(played: Played) -> Literal["score", "length", "crew"] | None:
    """Return the reason why a set is reported without games (see `QueuedSet.games_left_out`), or `None` if it has
    games.
    """
    if played.games is not None:
        return None
    if played.is_crew:
        return "crew"
    return "length" if played.older_games else "score"


def _queued(entry: Entry, desk: BracketDesk) -> QueuedSet:
    rendered = desk.rendered(entry)
    return QueuedSet(
        station=entry.station,
        set_id=entry.played_id,
        state=entry.state.value,
        why=entry.why,
        names=list(entry.played.names),
        score=list(entry.played.score),
        over=entry.played.over,
        winner=entry.played.winner,
        bracket_set=entry.set_id or None,
        entrants=list(entry.names[::-1] if entry.swapped else entry.names) if entry.set_id else [],
        round=entry.round,
        event=entry.event,
        candidates=list(entry.candidates),
        changed=entry.changed,
        games_left_out=games_left_out(entry.played) if entry.set_id else None,
        request=None if rendered is None else dict(rendered),
    )


def _listed_set(found: BracketSet, here: Mapping[str, str]) -> ListedSet:
    station = found.station
    return ListedSet(
        id=found.id,
        state=found.state,
        round=found.round,
        event=found.event,
        best_of=found.best_of,
        entrants=[None if each is None else BracketEntrant(id=each.id, name=each.name) for each in found.entrants],
        scores=list(found.scores),
        winner=found.winner,
        station=None if station is None else here.get(station.id),
        bracket_station=None if station is None else station.name or str(station.number or ""),
        stream=found.stream,
    )
