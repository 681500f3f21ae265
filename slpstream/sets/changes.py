"""A list of the changes that an operator has made, so that they can be undone.

For each change, we store the values in `Corrections` that it has replaced, together with their paths, and a description
for people. To undo a change, we restore the old values. Since this is a change too, it can also be undone. If one of
the values was changed again later, you have to undo the later change first.

The list is stored in the same document as the corrections. In old documents, there is no list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from slpstream.model.errors import StoreError
from slpstream.model.foreign_data import read_json
from slpstream.model.prepared import prepared
from slpstream.sets.corrections import NOTHING, Corrections
from slpstream.sets.crews import CrewBattle
from slpstream.sets.grouping import Member, Set
from slpstream.sets.patches import ImpossibleCorrection, SetPatch, corrected_set, regrouped

MAX_CHANGES = 200
"""Maximum number of changes per station. The oldest are dropped first."""

MAX_SEAT_CHANGES = 50
"""Maximum number of changes that concern only seats, so that people with phones cannot push out an operator's
changes."""

MAX_OPERATOR = 40
"""Maximum length of an operator's name, in characters."""

Path = tuple[str, ...]
"""The path of keys to a value in the JSON of `Corrections`."""

Value = str | int | bool | list[str | int] | None
"""A value as the list shows it to people. `None` stands for no value."""

ChangedField = Literal[
    "name",
    "sponsor",
    "pronouns",
    "seed",
    "score",
    "bestOf",
    "crewBattle",
    "round",
    "event",
    "casters",
    "swapped",
    "newSet",
    "counts",
    "winner",
    "beginsSet",
    "sides",
    "stocks",
]

_AFTER = "after"
_SEATS = {"seats", "seatsBetween"}
_BEGINS = ""
"""Last key of the path of the decision that a set begins after a game."""


class Replaced(msgspec.Struct, frozen=True, array_like=True):
    """A value in the corrections before and after a change. If there was no value, this is `None`."""

    path: Path
    before: Any
    after: Any


class ChangedValue(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One of the values that were changed."""

    field: ChangedField
    before: Annotated[Value, Meta(description="The value before; left out if there was none.")] = msgspec.field(
        default=None, name="from"
    )
    after: Annotated[Value, Meta(description="The value after; left out if there is none.")] = msgspec.field(
        default=None, name="to"
    )
    player: Annotated[str | None, Meta(description="Name of the player at that time.")] = None
    port: Annotated[int | None, Meta(description="Port of the player at that time, from 1.")] = None
    game_id: str | None = None
    game: Annotated[int | None, Meta(description="Number of the game in its set at that time, from 1.")] = None


class Change(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One change by an operator, in the form in which it is stored."""

    id: int
    """Counted from 1; later changes have greater ids."""
    at_ms: int
    """Unix time in milliseconds."""
    by: str = ""
    undoes: int | None = None
    """The id of the change that this one undoes."""
    values: tuple[ChangedValue, ...] = ()
    replaced: tuple[Replaced, ...] = ()


class Ledger(msgspec.Struct, frozen=True):
    """The corrections of one station, together with the changes that have led to them, beginning with the oldest."""

    corrections: Corrections = Corrections()
    changes: tuple[Change, ...] = ()

    @property
    def last_change(self) -> int:
        """The id of the newest change, or 0 if there aren't any."""
        return self.changes[-1].id if self.changes else 0


@prepared
class _Document(Corrections, frozen=True, rename="camel", omit_defaults=True):
    """The form in which a ledger is stored.

    It is the same as in old documents that don't have a list, plus the list.
    """

    changes: tuple[Change, ...] = ()


def decode(document: bytes) -> Ledger:
    """Decode a stored ledger. Raises `StoreError` if it is damaged."""
    stored = read_json(document, _Document, StoreError)
    return Ledger(Corrections(*(getattr(stored, name) for name in Corrections.__struct_fields__)), stored.changes)


def encode(ledger: Ledger) -> bytes:
    """Encode a ledger so that it can be stored."""
    corrections = ledger.corrections
    values = {name: getattr(corrections, name) for name in Corrections.__struct_fields__}
    return msgspec.json.encode(_Document(**values, changes=ledger.changes))


def changed(
    ledger: Ledger, patch: SetPatch, newest: Callable[[Corrections], Set], *, at_ms: int, by: str = ""
) -> Ledger:
    """Return the ledger after an operator has changed something. If this doesn't change any correction, you get the
    same ledger.

    You have to pass a function `newest` that returns the newest set, given some corrections. `at_ms` is the time of the
    change, and `by` is the name of the operator. If a part of the change isn't possible, this raises
    `ImpossibleCorrection`, and nothing is changed.
    """
    before = ledger.corrections
    middle = regrouped(before, patch, newest)
    after = corrected_set(middle, patch, newest)
    replaced = _replaced(before, after)
    if not replaced:
        return ledger
    values = [*_changed_games(before, middle, newest(before), patch), *_changed_set(middle, after, newest, patch)]
    return _with(ledger, after, Change(id=0, at_ms=at_ms, by=_operator(by), values=tuple(values), replaced=replaced))


def undone(ledger: Ledger, change_id: int, *, at_ms: int, by: str = "") -> Ledger:
    """Return the ledger after a change was undone.

    If the change can't be undone, this raises an `ImpossibleCorrection` that explains why.
    """
    change = next((each for each in ledger.changes if each.id == change_id), None)
    if change is None:
        raise ImpossibleCorrection(f"there is no change {change_id}; the last {MAX_CHANGES} changes are kept")
    already = undone_by(ledger.changes).get(change_id)
    if already is not None:
        raise ImpossibleCorrection(f"change {change_id} has already been undone by change {already}")
    later = blocked_by(ledger.changes).get(change_id)
    if later is not None:
        raise ImpossibleCorrection(
            f"change {change_id} cannot be undone, because change {later} has changed the same value since: "
            f"undo change {later} first"
        )
    values = _flat(ledger.corrections)
    if any(values.get(each.path) != each.after for each in change.replaced):
        raise ImpossibleCorrection(f"change {change_id} cannot be undone, because its values are others by now")
    for each in change.replaced:
        if each.before is None:
            del values[each.path]
        else:
            values[each.path] = each.before
    begun = {path[1] for path in values if path[0] == _AFTER and path[-1] == _BEGINS}
    if any(path[0] == _AFTER and path[1] and path[1] not in begun for path in values):
        raise ImpossibleCorrection(f"change {change_id} cannot be undone: it is about a set that does not begin there")
    swapped = tuple(Replaced(each.path, each.after, each.before) for each in change.replaced)
    told = tuple(msgspec.structs.replace(each, before=each.after, after=each.before) for each in change.values)
    undoing = Change(id=0, at_ms=at_ms, by=_operator(by), undoes=change_id, values=told, replaced=swapped)
    return _with(ledger, _nested(values), undoing)


def undone_by(changes: Sequence[Change]) -> Mapping[int, int]:
    """For each change that was undone, return the id of the change that did this."""
    found: dict[int, int] = {}
    for change in reversed(changes):
        if change.undoes is not None and change.id not in found:
            found[change.undoes] = change.id
    return found


def blocked_by(changes: Sequence[Change]) -> Mapping[int, int]:
    """For each change that can't be undone yet, return the id of the newest change that you have to undo first."""
    undone = undone_by(changes)
    latest: dict[Path, int] = {}
    found: dict[int, int] = {}
    for change in reversed(changes):
        later = [latest[each.path] for each in change.replaced if each.path in latest]
        if later:
            found[change.id] = max(later)
        if change.undoes is None and change.id not in undone:
            for each in change.replaced:
                latest.setdefault(each.path, change.id)
                if each.path[0] == _AFTER and each.path[1]:  # a new set stays while it has corrections
                    latest.setdefault((_AFTER, each.path[1], _BEGINS), change.id)
    return found


def _with(ledger: Ledger, corrections: Corrections, change: Change) -> Ledger:
    numbered = msgspec.structs.replace(change, id=ledger.last_change + 1)
    changes = (*ledger.changes, numbered)
    of_seats = [each.id for each in changes if all(_SEATS & {*value.path} for value in each.replaced)]
    dropped = of_seats[:-MAX_SEAT_CHANGES]
    return Ledger(corrections, tuple(each for each in changes if each.id not in dropped)[-MAX_CHANGES:])


def _operator(name: str) -> str:
    return " ".join(name.split())[:MAX_OPERATOR]


def _replaced(before: Corrections, after: Corrections) -> tuple[Replaced, ...]:
    old, new = _flat(before), _flat(after)
    paths = [*old, *(path for path in new if path not in old)]
    return tuple(Replaced(path, old.get(path), new.get(path)) for path in paths if old.get(path) != new.get(path))


def _flat(corrections: Corrections) -> dict[Path, Any]:
    """Return all values in the corrections by their paths.

    If it was decided that a set begins after a certain game, this decision counts as a value too.
    """
    values: dict[Path, Any] = {}

    def collect(path: Path, value: Any) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                collect((*path, str(key)), each)
        else:
            values[path] = value

    collect((), msgspec.json.decode(msgspec.json.encode(corrections)))
    values |= {(_AFTER, game_id, _BEGINS): True for game_id in corrections.after if game_id}
    return values


def _nested(values: Mapping[Path, Any]) -> Corrections:
    """Return the corrections that have these values."""
    document: dict[str, Any] = {}
    for path, value in values.items():
        *parents, last = path
        place = document
        for key in parents:
            place = place.setdefault(key, {})
        if (path[0], last) != (_AFTER, _BEGINS):
            place[last] = value
    return msgspec.convert(document, Corrections, str_keys=True)


def _changed_games(before: Corrections, after: Corrections, shown: Set, patch: SetPatch) -> list[ChangedValue]:
    """Return the values that are changed by the first half of a change.

    These are the decisions about games, and whether a new set begins.
    """
    numbers = {game.game_id: number for number, game in enumerate(shown.games, 1)}
    values = [
        ChangedValue(
            field=field,
            before=_listed(getattr(before.games.get(game_id, NOTHING), name)),
            after=_listed(getattr(after.games.get(game_id, NOTHING), name)),
            game_id=game_id,
            game=numbers.get(game_id),
        )
        for game_id in dict.fromkeys((*before.games, *after.games))
        for field, name in _GAME_FIELDS
        if getattr(before.games.get(game_id, NOTHING), name) != getattr(after.games.get(game_id, NOTHING), name)
    ]
    if not patch.new_set:
        return values
    return [*(value for value in values if value.field != "beginsSet"), ChangedValue(field="newSet", after=True)]


_GAME_FIELDS: Sequence[tuple[ChangedField, str]] = (
    ("counts", "counts"),
    ("winner", "winner"),
    ("beginsSet", "begins_set"),
    ("sides", "sides"),
    ("stocks", "stocks"),
)


def _listed(value: Any) -> Value:
    if isinstance(value, dict):
        return ", ".join(f"P{index + 1}: {stocks}" for index, stocks in sorted(value.items())) or None
    return list(value) if isinstance(value, tuple) else value


def _crews(crew_battle: CrewBattle | None) -> Value:
    """Return a crew battle in the form in which the list shows it to people."""
    return (
        None if crew_battle is None else " – ".join(f"{each.name} {each.stocks}".strip() for each in crew_battle.crews)
    )


def _changed_set(
    before: Corrections, after: Corrections, newest: Callable[[Corrections], Set], patch: SetPatch
) -> list[ChangedValue]:
    """Return the values that are changed by the second half of a change: names, details, the score and the set
    itself.
    """
    old, new = newest(before), newest(after)
    values: list[ChangedValue] = []

    def compare(field: ChangedField, was: Value, is_now: Value, member: Member | None = None) -> None:
        if was != is_now:
            player, port = (None, None) if member is None else (member.shown_name, member.port)
            values.append(ChangedValue(field=field, before=was, after=is_now, player=player, port=port))

    for index in dict.fromkeys(member.index for member in (*old.members, *new.members)):
        member = old.member(index) or Member(index)
        now = new.member(index) or member
        if patch.names is not UNSET:
            compare("name", member.name or None, now.name or None, member)
        if patch.seats is not UNSET:
            compare("name", member.seat.name if member.seat else None, now.seat.name if now.seat else None, member)
        if patch.players is not UNSET:
            compare("sponsor", member.details.sponsor, now.details.sponsor, now)
            compare("pronouns", member.details.pronouns, now.details.pronouns, now)
            compare("seed", member.details.seed, now.details.seed, now)
    if patch.score is not UNSET:
        for side in old.sides:
            same = new.side(side.members[0].index) or side
            compare("score", side.score, same.score, side.members[0])
    if patch.best_of is not UNSET:
        compare("bestOf", old.best_of, new.best_of)
    if patch.crew_battle is not UNSET:
        compare("crewBattle", _crews(old.crew_battle), _crews(new.crew_battle))
    if patch.round is not UNSET:
        compare("round", old.round, new.round)
    if patch.swapped is not UNSET:
        compare("swapped", old.swapped, new.swapped)
    compare("event", before.event, after.event)
    compare("casters", list(before.casters) or None, list(after.casters) or None)
    return values
