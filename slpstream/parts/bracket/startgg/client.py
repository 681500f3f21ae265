"""start.gg as a bracket. We don't send requests too quickly, because there is a rate limit for the token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import trio

from slpstream.model.errors import SinkError
from slpstream.parts.bracket.interface import (
    BracketKind,
    BracketSet,
    BracketStation,
    Connection,
    Outcome,
    Refused,
    Report,
)
from slpstream.parts.bracket.startgg import queries
from slpstream.parts.bracket.startgg.answers import (
    Content,
    Event,
    TooComplex,
    bracket_set_of,
    content,
    event_of,
    station_of,
)
from slpstream.parts.bracket.startgg.variables import report_variables
from slpstream.system.logs import get_logger

_DONE: Final = 3
"""State of a completed set."""
_OPEN: Final = (1, 2, 6)
_SETS_PER_PAGE: Final = 24
"""A set in doubles is about 40 objects."""
_STATIONS_PER_PAGE: Final = 100
_TOURNAMENTS: Final = 500
_MAX_PAGES: Final = 400
_MAX_LEFT_OUT: Final = 1000

Described = TypeVar("Described")


class StartggBracket:
    """The events of a tournament on start.gg."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._spacing_seconds = 60.0 / connection.requests_per_minute
        self._turn = trio.Lock()
        # The first request waits too, so that repeated restarts stay within the limit.
        self._next_at = trio.current_time() + self._spacing_seconds
        self._per_page = _SETS_PER_PAGE
        self._events: dict[str, Event] = {}
        """Each event by its slug in the configuration."""
        self._left_out: set[tuple[str, str]] = set()
        """Ids of sets and stations that were left out of lists, with the reason."""
        self._log = get_logger()

    def rendered(self, report: Report) -> Mapping[str, Any]:
        """The variables of the mutation."""
        return _variables(report)

    async def check(self) -> str:
        """Check that the token is valid, and that the tournament is run by its owner."""
        tournaments = {_tournament_of(slug, await self._event(slug)) for slug in self._connection.events}
        found = await self._ask(queries.ADMIN_OF, {"perPage": _TOURNAMENTS})
        nodes = _listed(found.data, "currentUser", "tournaments", "nodes")
        owned = {str(_member(node, "slug")) for node in nodes}
        missing = sorted(tournaments - owned)
        if missing:
            raise Refused("forbidden", f"the owner of the token does not run {', '.join(missing)}")
        return f"the token may report for {', '.join(sorted(tournaments))}"

    async def open_sets(self) -> Sequence[BracketSet]:
        """Return all sets that don't have a result yet."""
        return list({found.id: found async for found in self._sets({"state": list(_OPEN)})}.values())

    async def changed_sets(self, since: int) -> Sequence[BracketSet]:
        """Return the sets that have changed since a time, which is in Unix seconds of start.gg's clock."""
        return list({found.id: found async for found in self._sets({"updatedAfter": since})}.values())

    async def read(self, set_id: str) -> BracketSet:
        """One set, with its games."""
        found = await self._ask(queries.SET, {"setId": set_id})
        if found.data.get("set") is None:
            raise Refused("unclear", f"start.gg answers nothing about the set {set_id}", renamed=found.renamed)
        return bracket_set_of(found.data["set"])

    async def stations(self) -> Sequence[BracketStation]:
        """The stations of the tournaments."""
        slugs = {_tournament_of(slug, await self._event(slug)) for slug in self._connection.events}
        stations: list[BracketStation] = []
        for slug in sorted(slugs):
            page, pages = 1, 1
            while page <= pages:
                asked = {"slug": slug, "page": page, "perPage": _STATIONS_PER_PAGE}
                found = (await self._ask(queries.STATIONS, asked)).data
                listed = _member(found, "tournament", "stations")
                if not isinstance(listed, dict | None):
                    raise Refused("unavailable", f"start.gg answers nothing about the stations of {slug}")
                stations += self._described(listed, station_of)
                page, pages = page + 1, min(_pages(listed), _MAX_PAGES)
        return stations

    async def stream_queues(self) -> Mapping[str, Sequence[str]]:
        """Return the sets that are in the queues of the tournaments' streams."""
        events = [await self._event(slug) for slug in self._connection.events]
        tournaments = {event.tournament.id for event in events if event.tournament is not None}
        queues: dict[str, list[str]] = {}
        for tournament in sorted(str(id) for id in tournaments if id is not None):
            found = (await self._ask(queries.STREAM_QUEUE, {"tournamentId": tournament})).data
            for queue in _listed(found, "streamQueue"):
                name = _member(queue, "stream", "streamName")
                ids = [_member(each, "id") for each in _listed(queue, "sets")]
                queues.setdefault(str(name), []).extend(str(id) for id in ids if id is not None)
        return queues

    async def call(self, set_id: str) -> Outcome:
        """Call a set."""
        return await self._change(queries.CALL, {"setId": set_id}, "markSetCalled")

    async def start(self, set_id: str) -> Outcome:
        """Mark a set as being played."""
        return await self._change(queries.START, {"setId": set_id}, "markSetInProgress")

    async def assign(self, set_id: str, station_id: str) -> Outcome:
        """Assign a set to a station."""
        return await self._change(queries.ASSIGN, {"setId": set_id, "stationId": station_id}, "assignStation")

    async def report(self, report: Report) -> Outcome:
        """Report a set, or its games up to now."""
        return await self._report(queries.REPORT, "reportBracketSet", report)

    async def correct(self, report: Report, over: BracketSet | None, *, reset_dependents: bool) -> Outcome:
        """Change the games of a set that is already complete.

        If the winner is different, the set is reset and reported in a single request.
        """
        if over is not None and over.state == "done" and over.winner == report.winner:
            return await self._report(queries.UPDATE, "updateBracketSet", report)
        more = {"resetDependentSets": reset_dependents}
        return await self._report(queries.REPLACE, "reportBracketSet", report, more)

    async def _report(self, mutation: str, name: str, report: Report, more: Mapping[str, Any] | None = None) -> Outcome:
        found = await self._ask(mutation, {**_variables(report), **(more or {})})
        changed = found.data.get(name)
        sets = [each for each in (changed if isinstance(changed, list) else [changed]) if isinstance(each, dict)]
        own_id = found.renamed.get(report.set_id, report.set_id)
        own = next((each for each in sets if str(each.get("id")) in (own_id, report.set_id)), None)
        if not sets or (report.winner is not None and (own is None or own.get("state") != _DONE)):
            raise Refused("unclear", "start.gg does not say whether the set is completed", renamed=found.renamed)
        return Outcome(found.renamed)

    async def _change(self, mutation: str, asked: Mapping[str, Any], name: str) -> Outcome:
        found = await self._ask(mutation, asked)
        if found.data.get(name) is None:
            raise Refused("unclear", "start.gg answers nothing about the set", renamed=found.renamed)
        return Outcome(found.renamed)

    async def _sets(self, filters: Mapping[str, Any]) -> AsyncIterator[BracketSet]:
        for slug in self._connection.events:
            event = await self._event(slug)
            # Sets that are completed meanwhile leave the list, and the sets after them move forward. So the list is
            # read from its end, after a first request for the number of pages.
            pages = [1]
            is_counted = False
            while pages:
                asked = {"eventId": event.id, "page": pages[0], "perPage": self._per_page, "filters": filters}
                try:
                    found = (await self._ask(queries.SETS, asked)).data
                except TooComplex:
                    if self._per_page == 1:
                        raise
                    # Pages of another size have other boundaries, so the list is read from its beginning.
                    self._per_page = max(1, self._per_page // 2)
                    pages, is_counted = [1], False
                    continue
                listed = _member(found, "event", "sets")
                if not isinstance(listed, dict):
                    raise Refused("unavailable", f"start.gg answers nothing about the sets of {slug}")
                for described in self._described(listed, partial(bracket_set_of, event=event)):
                    yield described
                count = min(_pages(listed), _MAX_PAGES)
                pages = pages[1:] if is_counted or count < 2 else list(range(count, 0, -1))
                is_counted = True

    def _described(self, listed: Any, describe: Callable[[Any], Described]) -> list[Described]:
        """Return the sets or stations in a list. If one of them is malformed, it is logged and left out."""
        found: list[Described] = []
        for node in _listed(listed, "nodes"):
            if node is None:
                continue
            try:
                found.append(describe(node))
            except Refused as refusal:
                id = str(_member(node, "id"))
                if (id, refusal.what) not in self._left_out and len(self._left_out) < _MAX_LEFT_OUT:
                    self._left_out.add((id, refusal.what))
                    self._log.warning("left out of what start.gg lists", id=id, what=refusal.what)
        return found

    async def _event(self, slug: str) -> Event:
        if slug not in self._events:
            event = (await self._ask(queries.EVENT, {"slug": slug})).data.get("event")
            if not isinstance(event, dict):
                raise Refused("forbidden", f"start.gg has no event {slug}, or the token may not see it")
            self._events[slug] = event_of({"slug": slug, **event})
        return self._events[slug]

    async def _ask(self, query: str, asked: Mapping[str, Any]) -> Content:
        """Wait until it's time for the next request, and send it. Raises `Refused` if start.gg doesn't accept it."""
        try:
            token = await self._connection.secret()
        except SinkError as error:
            raise Refused("forbidden", error.what) from None
        if not (token.isascii() and token.isprintable()):
            raise Refused("forbidden", "the token in its file has characters that no token has")
        headers = [
            ("authorization", f"Bearer {token}"),
            ("content-type", "application/json"),
            ("accept", "application/json"),
        ]
        async with self._turn:
            await trio.sleep_until(self._next_at)
            self._next_at = trio.current_time() + self._spacing_seconds
        try:
            body = queries.body(query, dict(asked))
            answer = await self._connection.request("POST", self._connection.url, headers, body)
        except SinkError as error:
            raise Refused("unavailable", error.what) from None
        return content(answer)


def _member(value: Any, *names: str) -> Any:
    """Return a member of nested objects, or `None` if one of the objects is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _listed(value: Any, *names: str) -> list[Any]:
    """Return a list that is a member of nested objects.

    If one of them is missing, or it isn't a list, you get an empty one.
    """
    found = _member(value, *names)
    return found if isinstance(found, list) else []


def _tournament_of(slug: str, event: Event) -> str:
    """Return the slug of the tournament to which an event belongs."""
    known = event.tournament.slug if event.tournament is not None else None
    return known or slug.partition("/event/")[0]


def _pages(listed: Any) -> int:
    pages = _member(listed, "pageInfo", "totalPages")
    return pages if isinstance(pages, int) else 1


def _variables(report: Report) -> dict[str, Any]:
    return report_variables(report.set_id, report.entrants, report.winner, report.games)


KIND: Final = BracketKind("start.gg", StartggBracket, url="https://api.start.gg/gql/alpha")
