"""A stand-in for start.gg's GraphQL interface, made from `../shared/formats/tournament.md`, section 1.

It imitates the documented behaviour: sets with states 1, 2, 3 and 6; preview ids of pools that have not been started,
which the first mutation turns into numbers, with `actionRecords` next to `data`; `gameData` that overwrites earlier
games; completed sets that cannot be reported; resets that affect later sets; errors with status 200; 80 requests a
minute; at most 1,000 objects in an answer; pages; `updatedAfter`. `trouble` injects errors, lost answers, nonsense and
repeated successes.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import trio

from slpstream.model.errors import SinkError
from slpstream.parts.bracket.interface import Connection, Headers, HttpAnswer
from tests.parts.http_server import Response, serving

TOKEN = "a-token"
EVENT = "tournament/the-big-one/event/melee-singles"
Trouble = Literal[
    "", "429", "500", "html", "half", "unknown", "null", "lost_before", "lost_after", "unreachable", "repeat"
]


@dataclass
class Player:
    """A participant."""

    name: str
    prefix: str = ""
    code: str = ""
    pronouns: str = ""


@dataclass
class Entrant:
    """An entrant of the event."""

    id: int
    players: list[Player]

    @property
    def name(self) -> str:
        return " / ".join(f"{p.prefix} | {p.name}" if p.prefix else p.name for p in self.players)


@dataclass
class DoubleSet:
    """A set. `key` identifies it for tests, independent of its id."""

    key: str
    id: int | str
    group: int
    entrants: list[Entrant | None]
    round: str = "Winners Round 1"
    round_number: int = 1
    state: int = 1
    winner: int | None = None
    games: list[dict[str, Any]] = field(default_factory=list)
    scores: list[int | None] = field(default_factory=lambda: [None, None])
    station: int | None = None
    stream: str | None = None
    updated_at: int = 0
    total_games: int | None = 3
    feeds: list[tuple[str, int]] = field(default_factory=list)
    """Keys of the sets that the winner advances to, with the slots there."""
    completions: list[tuple[int, list[dict[str, Any]]]] = field(default_factory=list)
    """Winner and games of each completion of the set."""
    resets: int = 0


class Error(Exception):
    """An error that start.gg answers with status 200."""


class StartggDouble:
    """One tournament with one event."""

    def __init__(self, clock: Callable[[], float], *, limit: int = 80) -> None:
        self._clock = clock
        self._limit = limit
        self._recent: deque[float] = deque()
        self._next_id = 90_000_000
        self.sets: dict[str, DoubleSet] = {}
        self.stations: dict[int, tuple[int, str]] = {}
        """Number and identifier, by id."""
        self.queue: dict[str, list[str]] = {}
        """The keys of the sets in the queue of each stream."""
        self.phases: list[int] | None = [1, 2]
        """The ids of the phases of the event."""
        self.trouble: Callable[[str], Trouble] = lambda operation: ""
        self.instead: Callable[[str, Mapping[str, Any]], tuple[int, bytes] | None] = lambda operation, variables: None
        """Returns the answer instead of carrying out an operation with its variables; `None` carries it out."""
        self.odd: dict[str, Mapping[str, Any]] = {}
        """Odd members of sets in answers, by the key of the set."""
        self.odd_stations: list[Any] = []
        """Further nodes in the list of stations."""
        self.admin = True
        self.requests: list[tuple[str, Mapping[str, Any]]] = []
        """Operation and variables of each request that was carried out."""
        self.throttled = 0
        self.delay_seconds = 0.05
        self._last_success: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def add(self, made: DoubleSet) -> DoubleSet:
        self.sets[made.key] = made
        made.updated_at = int(self._clock())
        return made

    def by_id(self, set_id: Any) -> DoubleSet:
        for each in self.sets.values():
            if str(each.id) == str(set_id):
                return each
        raise Error(f"Set not found for id: {set_id}")

    def complete_by_hand(self, key: str, winner: int, games: list[dict[str, Any]], scores: list[int]) -> None:
        """Another person reports a set on the site."""
        found = self.sets[key]
        found.games, found.scores = games, list(scores)
        self._complete(found, winner)

    def answer(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes] | None:
        """Status and body of the answer; `None` without an answer."""
        with self._lock:
            return self._answer(headers, body)

    def _answer(self, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes] | None:
        now = self._clock()
        request = json.loads(body)
        found = re.match(r"(query|mutation) (\w+).*?\{ (\w+)", request["query"])
        assert found is not None, request["query"]
        operation = found[2]
        trouble = self.trouble(operation)
        if trouble in ("unreachable", "lost_before"):
            return None
        while self._recent and self._recent[0] <= now - 60:
            self._recent.popleft()
        if len(self._recent) >= self._limit:
            self.throttled += 1
            return 429, b'{"success": false, "message": "Rate limit exceeded - api-token"}'
        self._recent.append(now)
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return 400, b'{"success": false, "message": "Invalid authentication token"}'
        simple: dict[Trouble, tuple[int, bytes]] = {
            "429": (429, b'{"success": false, "message": "Rate limit exceeded - api-token"}'),
            "500": (503, b"<html><body>Service Unavailable</body></html>"),
            "html": (200, b"<!DOCTYPE html><title>Just a moment...</title>"),
            "unknown": (200, b'{"errors": [{"message": "An unknown error has occurred"}]}'),
            "null": (200, json.dumps({"data": {found[3]: None}}).encode()),
        }
        if trouble in simple:
            return simple[trouble]
        if trouble == "repeat" and body in self._last_success:
            return 200, self._last_success[body]
        status, answered = self._carry_out(found[1], operation, request)
        if b'"errors"' not in answered:
            self._last_success[body] = answered
        if trouble == "lost_after":
            return None
        return status, answered[: len(answered) // 2] if trouble == "half" else answered

    def _carry_out(self, kind: str, operation: str, request: Mapping[str, Any]) -> tuple[int, bytes]:
        query, variables = request["query"], request["variables"]
        _check(query, variables)
        other = self.instead(operation, variables)
        if other is not None:
            return other
        self.requests.append((operation, variables))
        try:
            if kind == "mutation" and not self.admin:
                raise Error("You do not have permission to report sets in this tournament")
            renamed = self.start_pool(variables["setId"]) if kind == "mutation" else None
            data = getattr(self, f"_do_{operation.lower()}")(**variables)
        except Error as error:
            return 200, json.dumps({"errors": [{"message": str(error)}], "data": None}).encode()
        count = _objects(data)
        if count > 1000:
            message = (
                "Your query complexity is too high. A maximum of 1000 objects may be returned by each request. "
                f"(actual: {count})"
            )
            return 200, json.dumps({"success": False, "message": message}).encode()
        answer = {"data": data}
        if renamed:
            answer["actionRecords"] = {"delete": {"sets": list(renamed)}, "update": {"sets": list(renamed.values())}}
        return 200, json.dumps(answer).encode()

    def start_pool(self, set_id: Any) -> dict[str, int]:
        """The first mutation of a pool gives its sets other ids."""
        found = self.by_id(set_id)
        renamed: dict[str, int] = {}
        if isinstance(found.id, str):
            for each in self.sets.values():
                if each.group == found.group and isinstance(each.id, str):
                    self._next_id += 1
                    renamed[each.id] = self._next_id
                    each.id = self._next_id
                    each.updated_at = int(self._clock())
        self._renamed = renamed
        return renamed

    def _found(self, set_id: Any) -> DoubleSet:
        return self.by_id(self._renamed.get(str(set_id), set_id))

    def _do_event(self, slug: str) -> Any:
        if slug != EVENT:
            return {"event": None}
        return {"event": self._event_node()}

    def _do_adminof(self, perPage: int) -> Any:
        slugs = [EVENT.partition("/event/")[0]] if self.admin else []
        return {"currentUser": {"tournaments": {"nodes": [{"slug": slug} for slug in slugs]}}}

    def _do_stations(self, slug: str, page: int, perPage: int) -> Any:
        listed = [{"id": id, "identifier": name, "number": number} for id, (number, name) in self.stations.items()]
        listed += self.odd_stations
        return {"tournament": {"stations": _paged(listed, page, perPage)}}

    def _do_streamqueue(self, tournamentId: Any) -> Any:
        if str(tournamentId) != "7":
            raise Error("Tournament not found")
        return {
            "streamQueue": [
                {"stream": {"streamName": name}, "sets": [{"id": self.sets[key].id} for key in keys]}
                for name, keys in self.queue.items()
            ]
            or None
        }

    def _do_sets(self, eventId: Any, page: int, perPage: int, filters: Mapping[str, Any]) -> Any:
        chosen = [
            each
            for each in self.sets.values()
            if ("state" not in filters or each.state in filters["state"])
            and ("updatedAfter" not in filters or each.updated_at >= filters["updatedAfter"])
        ]
        return {"event": {"sets": _paged([self._node(each) for each in chosen], page, perPage)}}

    def _do_set(self, setId: Any) -> Any:
        found = self.by_id(setId)
        games = [{"orderNum": game["gameNum"], "winnerId": game.get("winnerId")} for game in found.games]
        return {"set": {**self._node(found), "event": self._event_node(), "games": games or None}}

    def _do_call(self, setId: Any) -> Any:
        found = self._found(setId)
        if found.state == 3:
            raise Error("Cannot mark set called that is already completed.")
        if found.state == 6:
            raise Error("Set is already called")
        self._touch(found, 6)
        return {"markSetCalled": {"id": found.id, "state": found.state}}

    def _do_start(self, setId: Any) -> Any:
        found = self._found(setId)
        if found.state == 2:
            raise Error("Set is already started")
        self._touch(found, 2)
        return {"markSetInProgress": {"id": found.id, "state": found.state}}

    def _do_assign(self, setId: Any, stationId: Any) -> Any:
        found = self._found(setId)
        found.station = int(stationId)
        self._touch(found, found.state)
        return {"assignStation": {"id": found.id, "state": found.state}}

    def _do_report(self, setId: Any, winnerId: Any = None, gameData: Any = None, **other: Any) -> Any:
        found = self._found(setId)
        if found.state == 3:
            raise Error("Cannot report completed set via API.")
        self._record(found, winnerId, gameData)
        return {"reportBracketSet": [{"id": found.id, "state": found.state, "winnerId": _winner_id(found)}]}

    def _do_update(self, setId: Any, winnerId: Any = None, gameData: Any = None, **other: Any) -> Any:
        found = self._found(setId)
        if winnerId is not None and str(winnerId) != str(_winner_id(found)):
            raise Error(
                "Set winner cannot be changed with this function. Use resetSet/reportBracketSet mutations instead."
            )
        found.games = gameData or []
        self._touch(found, 3)
        return {"updateBracketSet": {"id": found.id, "state": found.state, "winnerId": _winner_id(found)}}

    def _do_replace(self, resetDependentSets: bool = False, **report: Any) -> Any:
        found = self._found(report["setId"])
        dependents = [self.sets[key] for key, _ in found.feeds if self.sets[key].state == 3]
        if dependents and not resetDependentSets:
            raise Error(
                f"Resetting this set will also reset {len(dependents)} dependent sets. Please pass the argument "
                "resetDependentSets: true if you would like to do this."
            )
        for each in [found, *dependents]:
            each.state, each.winner, each.games, each.scores = 1, None, [], [None, None]
            each.resets += 1
            each.updated_at = int(self._clock())
        reset = {"resetSet": {"id": found.id, "state": found.state}}
        return {**reset, **self._do_report(**report)}

    def _record(self, found: DoubleSet, winner_id: Any, games: Any) -> None:
        if None in found.entrants:
            raise Error("This set can't be reported until all entrants are filled")
        ids = [str(entrant.id) for entrant in found.entrants if entrant is not None]
        for game in games or []:
            assert game.keys() <= {"gameNum", "winnerId", "entrant1Score", "entrant2Score", "stageId", "selections"}
            assert {str(pick["entrantId"]) for pick in game["selections"]} <= set(ids)
            assert str(game["winnerId"]) in ids
        if games is not None:
            found.games = games
            found.scores = [sum(str(game["winnerId"]) == id for game in games) for id in ids]
        if winner_id is None:
            self._touch(found, 2)
        else:
            self._complete(found, ids.index(str(winner_id)))

    def _complete(self, found: DoubleSet, winner: int) -> None:
        found.winner = winner
        found.completions.append((winner, found.games))
        self._touch(found, 3)
        for key, slot in found.feeds:
            self.sets[key].entrants[slot] = found.entrants[winner]
            self.sets[key].updated_at = int(self._clock())

    def _touch(self, found: DoubleSet, state: int) -> None:
        found.state = state
        found.updated_at = int(self._clock())

    def _event_node(self) -> dict[str, Any]:
        melee, ultimate = {"id": 1}, {"id": 1386}
        events = [{"id": 70, "videogame": melee}, {"id": 71, "videogame": melee}, {"id": 72, "videogame": ultimate}]
        tournament = {"id": 7, "name": "The Big One", "slug": EVENT.partition("/event/")[0], "events": events}
        return {
            "id": 70,
            "name": "Melee Singles",
            "slug": EVENT,
            "videogame": melee,
            "phases": None if self.phases is None else [{"id": id} for id in self.phases],
            "tournament": tournament,
        }

    def _node(self, found: DoubleSet) -> dict[str, Any]:
        station = None
        if found.station is not None:
            station = {"id": found.station, "number": self.stations[found.station][0]}
        return {
            "id": found.id,
            "state": found.state,
            "round": found.round_number,
            "fullRoundText": found.round,
            "winnerId": _winner_id(found),
            "totalGames": found.total_games,
            "updatedAt": found.updated_at,
            "slots": [
                {"entrant": _entrant(entrant), "standing": None if score is None else _standing(score)}
                for entrant, score in zip(found.entrants, found.scores, strict=True)
            ],
            "station": station,
            "stream": None if found.stream is None else {"id": 9, "streamName": found.stream, "streamSource": "TWITCH"},
            "phaseGroup": {
                "id": found.group,
                "displayIdentifier": "A",
                "bracketType": "DOUBLE_ELIMINATION",
                "phase": {"id": 1, "name": "Pools", "groupCount": len({each.group for each in self.sets.values()})},
            },
            **self.odd.get(found.key, {}),
        }

    # Instead of a network.

    def connection(self, events: tuple[str, ...] = (EVENT,), token: str = TOKEN, per_minute: int = 60) -> Connection:
        async def request(method: str, url: str, headers: Headers, body: bytes) -> HttpAnswer:
            await trio.sleep(self.delay_seconds / 2)
            answered = self.answer(dict(headers), body)
            await trio.sleep(self.delay_seconds / 2)
            if answered is None:
                await trio.sleep(10)
                raise SinkError("no answer within 10 s")
            return HttpAnswer(*answered)

        async def secret() -> str:
            return token

        return Connection("http://127.0.0.1/gql/alpha", events, request, secret, lambda *_: "", per_minute)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve it over HTTP on 127.0.0.1. Returns the URL."""

        def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response | None:
            assert (method, path) == ("POST", "/gql/alpha")
            assert headers["content-type"] == "application/json"
            answered = self.answer(headers, body)
            return None if answered is None else Response(*answered)

        with serving(respond) as address:
            yield f"{address}/gql/alpha"


def section(url: str, folder: Path) -> str:
    """The section of a configuration for a served double. Writes the token into the folder."""
    (folder / "startgg").write_text(f"{TOKEN}\n")
    return (
        f"[bracket]\nkind = 'start.gg'\nevents = ['https://www.start.gg/{EVENT}/overview']\nurl = '{url}'\n"
        f"token_file = '{folder / 'startgg'}'\nrequests_per_minute = 80\npoll_seconds = 5.0\nreport = true\n"
    )


def _winner_id(found: DoubleSet) -> int | None:
    entrant = None if found.winner is None else found.entrants[found.winner]
    return None if entrant is None else entrant.id


def _entrant(entrant: Entrant | None) -> dict[str, Any] | None:
    if entrant is None:
        return None
    participants = [
        {
            "id": 10 * entrant.id + number,
            "gamerTag": player.name,
            "prefix": player.prefix or None,
            "connectedAccounts": {"slippi": {"value": player.code}} if player.code else None,
            "player": {"user": {"genderPronoun": player.pronouns or None}},
        }
        for number, player in enumerate(entrant.players)
    ]
    return {"id": entrant.id, "name": entrant.name, "participants": participants}


def _standing(score: int) -> dict[str, Any]:
    return {"stats": {"score": {"value": score}}}


def _paged(nodes: list[Any], page: int, per_page: int) -> dict[str, Any]:
    pages = max(1, -(-len(nodes) // per_page))
    return {"pageInfo": {"totalPages": pages}, "nodes": nodes[(page - 1) * per_page : page * per_page]}


def _objects(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_objects, value.values()))
    return sum(map(_objects, value)) if isinstance(value, list) else 0


def _check(query: str, variables: Mapping[str, Any]) -> None:
    """Check the syntax like a GraphQL server: brackets, and that variables are declared and used."""
    for opening, closing in ("{}", "()"):
        assert query.count(opening) == query.count(closing), query
    declared = set(re.findall(r"\$(\w+)\s*:", query))
    used = set(re.findall(r"\$(\w+)(?!\w*\s*:)", query))
    assert used == declared, (used, declared)
    assert variables.keys() <= declared, variables
    required = set(re.findall(r"\$(\w+)\s*:\s*\[?\w+\]?!", query))
    assert required <= variables.keys(), variables
