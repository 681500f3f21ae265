"""Decode the answers and errors of start.gg. This module doesn't do any I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

from slpstream.model.foreign_data import converted, json_or_none, whole_number
from slpstream.model.prepared import prepared
from slpstream.parts.bracket.interface import (
    BracketSet,
    BracketStation,
    Entrant,
    HttpAnswer,
    Participant,
    Refusal,
    Refused,
    SetState,
)

PREVIEW: Final = "preview_"
"""Ids of sets whose pool has not been started. The first change gives all sets of the pool other ids."""

_MESSAGES: Final[Sequence[tuple[str, Refusal]]] = (
    ("Cannot report completed set via API", "completed"),
    ("Set winner cannot be changed with this function", "completed"),
    ("Resetting this set will also reset ", "dependents"),
    ("This set can't be reported until all entrants are filled", "entrants"),
    ("Set not found for id: ", "missing"),
    ("Set is already called", "already"),
    ("Set is already started", "already"),
    ("Cannot mark set called that is already completed", "already"),
    ("Rate limit exceeded", "slow_down"),
    ("An unknown error has occurred", "unknown"),
)
"""Beginnings of messages and their meanings."""
_FORBIDDEN: Final = re.compile(
    r"permission|not authori[sz]ed|unauthori[sz]ed|forbidden|invalid.*token|token.*expired", re.I
)
_COMPLEXITY: Final = re.compile(r"query complexity is too high")
_TOKEN: Final = re.compile(r"\btoken\b", re.I)
_STATUSES: Final[Mapping[int, Refusal]] = {401: "forbidden", 403: "forbidden", 429: "slow_down"}
_STATES: Final[Mapping[int, SetState]] = {1: "open", 2: "running", 3: "done", 6: "called"}
_MAX_WHAT: Final = 200
_MAX_RETRY_AFTER_SECONDS: Final = 3600.0


class TooComplex(Refused):
    """Raised if there would be too many objects in the answer."""

    def __init__(self, what: str) -> None:
        super().__init__("unknown", what)


class Content(msgspec.Struct, frozen=True):
    """The content of an answer that doesn't have any errors."""

    data: Mapping[str, Any]
    renamed: Mapping[str, str] = {}


def content(answer: HttpAnswer) -> Content:
    """Return the content of the given answer. If there are errors, this raises `Refused`.

    Be aware that errors usually come with status 200. There can be `data` too, but it might be null, or some of its
    members might be missing.
    """
    document = _document(answer.body)
    renamed = {} if document is None else _renamed(document)
    message = None if document is None else _message(document)
    if message is not None:
        raise _refused(message, answer, renamed)
    if not 200 <= answer.status < 300:
        kind = _kind_of_status(answer.status, answer.body[:_MAX_WHAT].decode(errors="replace")) or "unavailable"
        raise Refused(kind, f"status {answer.status}", retry_after_seconds=_seconds(answer.retry_after))
    if document is None or not isinstance(document.get("data"), dict):
        raise Refused("unavailable", "the answer is not what start.gg sends", renamed=renamed)
    return Content(document["data"], renamed)


def _document(body: bytes) -> Mapping[str, Any] | None:
    return json_or_none(body, dict[str, Any])


def _message(document: Mapping[str, Any]) -> str | None:
    """Return the message of the first error, or `None` if there are no errors."""
    errors = document.get("errors")
    if isinstance(errors, list) and errors:
        first = errors[0]
        return str(first.get("message") or "an error without a message") if isinstance(first, dict) else str(first)
    if document.get("success") is False:
        return str(document.get("message") or "an error without a message")
    return None


def _refused(message: str, answer: HttpAnswer, renamed: Mapping[str, str]) -> Refused:
    what = message if len(message) <= _MAX_WHAT else f"{message[:_MAX_WHAT]}…"
    if _COMPLEXITY.search(message):
        return TooComplex(what)
    kind = next((kind for begin, kind in _MESSAGES if message.startswith(begin)), None)
    if kind is None:
        kind = _kind_of_status(answer.status, message) or ("forbidden" if _FORBIDDEN.search(message) else "unknown")
    return Refused(kind, what, retry_after_seconds=_seconds(answer.retry_after), renamed=renamed)


def _kind_of_status(status: int, text: str) -> Refusal | None:
    """Return the meaning of the given status, or `None` if it doesn't have one for us.

    A 400 is about either the token or the request.
    """
    if status == 400:
        return "forbidden" if _TOKEN.search(text) else "unknown"
    return "unavailable" if status >= 500 else _STATUSES.get(status)


def _renamed(document: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the new ids of sets by the old ones.

    They come from `actionRecords`, where both lists have the same order.
    """
    try:
        records = document["actionRecords"]
        old, new = records["delete"]["sets"], records["update"]["sets"]
        return {_id(before): _id(after) for before, after in zip(old, new, strict=True)}
    except (KeyError, TypeError, ValueError):
        return {}


def _id(value: Any) -> str:
    """Return an id. If the value is an object, this is its id."""
    return str(value["id"] if isinstance(value, dict) else value)


def _seconds(retry_after: str) -> float:
    return min(float(retry_after), _MAX_RETRY_AFTER_SECONDS) if re.fullmatch(r"\d{1,9}", retry_after) else 0.0


class _Kept(msgspec.Struct, rename="camel"):
    """Base class. All members are optional, because if start.gg doesn't know a value, it sends null."""


Described = TypeVar("Described", bound=_Kept)


class _User(_Kept):
    gender_pronoun: str | None = None


class _Player(_Kept):
    user: _User | None = None


class _Participant(_Kept):
    gamer_tag: str | None = None
    prefix: str | None = None
    connected_accounts: Any = None
    player: _Player | None = None


class _Entrant(_Kept):
    id: int | str
    name: str | None = None
    participants: list[_Participant | None] | None = None


class _Score(_Kept):
    value: Annotated[float, msgspec.Meta(ge=-1000, le=1000)] | None = None


class _Stats(_Kept):
    score: _Score | None = None


class _Standing(_Kept):
    stats: _Stats | None = None


class _Slot(_Kept):
    entrant: _Entrant | None = None
    standing: _Standing | None = None


@prepared
class _Station(_Kept):
    id: int | str
    number: int | None = None
    identifier: str | int | None = None


class _Stream(_Kept):
    id: int | str | None = None
    stream_name: str | None = None
    stream_source: str | None = None


class _Phase(_Kept):
    id: int | str | None = None
    name: str | None = None
    group_count: int | None = None


class _PhaseGroup(_Kept):
    id: int | str | None = None
    display_identifier: str | None = None
    bracket_type: int | str | None = None
    phase: _Phase | None = None


class _Game(_Kept):
    order_num: int | None = None
    winner_id: int | str | None = None


class _Videogame(_Kept):
    id: int | str | None = None


class _OtherEvent(_Kept):
    id: int | str | None = None
    videogame: _Videogame | None = None


class _Tournament(_Kept):
    id: int | str | None = None
    name: str | None = None
    slug: str | None = None
    events: list[_OtherEvent | None] | None = None


@prepared
class Event(_Kept):
    """The event of a set."""

    id: int | str | None = None
    name: str | None = None
    slug: str | None = None
    videogame: _Videogame | None = None
    phases: list[_Phase | None] | None = None
    tournament: _Tournament | None = None


@prepared
class _Set(_Kept):
    id: int | str
    state: int | str | None = None
    round: int | None = None
    full_round_text: str | None = None
    winner_id: int | str | None = None
    total_games: int | None = None
    updated_at: int | None = None
    slots: list[_Slot | None] | None = None
    station: _Station | None = None
    stream: _Stream | None = None
    phase_group: _PhaseGroup | None = None
    games: list[_Game | None] | None = None
    event: Event | None = None


def _described_by(node: Any, described: type[Described], kind: Refusal, what: str) -> Described:
    """Convert a node to a value. Numbers can also be strings.

    Raises `Refused` with this kind if that isn't possible. `what` is how people call the value.
    """

    def refused(reason: str) -> Refused:
        return Refused(kind, f"start.gg describes {what} in an unknown way: {reason}")

    try:
        return converted(node, described, refused)
    except Refused:
        return converted(node, described, refused, strict=False)  # this would read a name "null" as missing


def _text(id: int | str | None) -> str:
    return "" if id is None else str(id)


def event_of(node: Any) -> Event:
    """Return the event in the given node. Raises `Refused` if it is malformed."""
    return _described_by(node, Event, "unavailable", "an event")


def bracket_set_of(node: Any, event: Event | None = None) -> BracketSet:
    """Return the set in the given node.

    If the node doesn't have an event, you have to pass it. Raises `Refused` if it is malformed.
    """
    found = _described_by(node, _Set, "unknown", "a set")
    slots = [slot or _Slot() for slot in found.slots or ()][:2]
    slots += [_Slot()] * (2 - len(slots))
    first, second = (_entrant(slot.entrant) for slot in slots)
    ids = ["" if entrant is None else entrant.id for entrant in (first, second)]
    first_score, second_score = (_score(slot) for slot in slots)
    group = found.phase_group or _PhaseGroup()
    games = sorted((game for game in found.games or () if game is not None), key=lambda game: game.order_num or 0)
    event = found.event or event or Event()
    return BracketSet(
        id=str(found.id),
        state=_STATES.get(found.state if isinstance(found.state, int) else 0, "open"),
        entrants=(first, second),
        round=found.full_round_text or "",
        place=f"{_text(group.id)}/{found.round}/{found.full_round_text}",
        pool=_text(group.id),
        event=event.name or "",
        best_of=found.total_games,
        station=None if found.station is None else _station(found.station),
        stream=(found.stream.stream_name or "") if found.stream is not None else "",
        winner=_place(found.winner_id, ids),
        scores=(first_score, second_score),
        games=tuple(_place(game.winner_id, ids) for game in games),
        provisional=str(found.id).startswith(PREVIEW),
        updated_at=found.updated_at or 0,
        context=_context(found, event),
    )


def _context(found: _Set, event: Event) -> dict[str, dict[str, Any]]:
    """Return the member `startgg` of `context.json`, in the same form as in replay-manager-for-slippi.

    Programs that read it need all of these facts.
    """
    group = found.phase_group or _PhaseGroup()
    phase, tournament = group.phase or _Phase(), event.tournament or _Tournament()
    kind = group.bracket_type
    kind = _BRACKET_TYPES.get(kind) if isinstance(kind, str) else kind
    needed = (
        tournament.name, event.name, event.slug, phase.id, phase.name, group.id, group.display_identifier, kind,
        found.full_round_text, found.round,
    )  # fmt: skip
    if any(value is None or value == "" for value in needed):
        return {}
    set_id = None if str(found.id).startswith(PREVIEW) else _number(found.id)
    about_set = {"id": set_id, "fullRoundText": found.full_round_text, "ordinal": None, "round": found.round}
    return {
        "startgg": {
            "tournament": {"name": tournament.name, "slug": tournament.slug or "", "location": ""},
            "event": {
                "id": _number(event.id), "name": event.name, "slug": event.slug, **_siblings(_events_of_game(event)),
            },
            "phase": {
                "id": _number(phase.id), "name": phase.name,
                **_siblings(None if event.phases is None else len(event.phases)),
            },
            "phaseGroup": {
                "id": _number(group.id), "name": group.display_identifier, "bracketType": kind,
                **_siblings(phase.group_count),
            },
            "set": {**about_set, "stream": _channel(found.stream)},
        }
    }  # fmt: skip


def _channel(stream: _Stream | None) -> dict[str, Any] | None:
    """Return the channel that shows a set, or `None` if there is none.

    A program for a channel leaves out sets of other channels.
    """
    if stream is None or not (stream.id and stream.stream_name and stream.stream_source):
        return None
    return {"id": _number(stream.id), "domain": stream.stream_source.lower(), "path": stream.stream_name}


def _siblings(count: int | None) -> dict[str, bool]:
    """Return whether there are several of a kind.

    If we don't know it, this is left out, and programs assume that there are.
    """
    return {} if count is None else {"hasSiblings": count > 1}


def _events_of_game(event: Event) -> int | None:
    """Return how many events the tournament has for the same game, or `None` if we don't know."""
    events = None if event.tournament is None else event.tournament.events
    return None if events is None else sum(each is not None and each.videogame == event.videogame for each in events)


_BRACKET_TYPES = {
    "SINGLE_ELIMINATION": 1,
    "DOUBLE_ELIMINATION": 2,
    "ROUND_ROBIN": 3,
    "SWISS": 4,
    "CUSTOM_SCHEDULE": 6,
    "MATCHMAKING": 7,
}
"""The numbers in `context.json` by the names in start.gg's schema."""


def _number(id: int | str | None) -> int | str | None:
    number = whole_number(id) if isinstance(id, str) else None
    return id if number is None else number


def station_of(node: Any) -> BracketStation:
    """Return the station in the given node. Raises `Refused` if it is malformed."""
    return _station(_described_by(node, _Station, "unknown", "a station"))


def _station(found: _Station) -> BracketStation:
    return BracketStation(str(found.id), found.number, "" if found.identifier is None else str(found.identifier))


def _place(winner: int | str | None, ids: Sequence[str]) -> int | None:
    return ids.index(str(winner)) if winner is not None and str(winner) in ids else None


def _score(slot: _Slot) -> int | None:
    """Return how many games were won. If an entrant was disqualified, this is -1."""
    if slot.standing is None or slot.standing.stats is None or slot.standing.stats.score is None:
        return None
    value = slot.standing.stats.score.value
    return None if value is None else int(value)


def _entrant(found: _Entrant | None) -> Entrant | None:
    if found is None:
        return None
    participants = tuple(_participant(each) for each in found.participants or () if each is not None)
    return Entrant(str(found.id), found.name or "", participants)


def _participant(found: _Participant) -> Participant:
    user = None if found.player is None else found.player.user
    return Participant(
        found.gamer_tag or "",
        found.prefix or "",
        (user.gender_pronoun or "") if user is not None else "",
        _connect_code(found.connected_accounts),
    )


def _connect_code(accounts: Any) -> str:
    try:
        value = accounts["slippi"]["value"]
    except (KeyError, TypeError, IndexError):
        return ""
    return value if isinstance(value, str) else ""
