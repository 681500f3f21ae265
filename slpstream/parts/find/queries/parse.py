"""Parses queries into conditions.

The syntax is that of the Slippi Launcher. Some queries mean something else here, and `docs/data/search.md` lists these.
We have added `>=` and `<=` for lengths, ranges `a..b` of lengths and dates, and the keys `station`, `format` and `end`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, tzinfo
from fractions import Fraction
from typing import Literal, NamedTuple, TypeVar

from slpstream.model.game_facts import (
    CODE,
    FINISHED,
    FORMAT,
    LOST,
    PLACE,
    PLAYS,
    QUIT,
    RANKED,
    STATION,
    TEAMS,
    TIMED_OUT,
    WON,
    fold,
    term,
)
from slpstream.model.query_problem import QueryProblem
from slpstream.parts.find.queries.conditions import AllOf, Between, Condition, Flagged, Has, Not, Says, any_of
from slpstream.parts.find.queries.vocabulary import condition_of

INVALID_KEY, INVALID_VALUE = "INVALID_KEY", "INVALID_VALUE"

_TOKENS = re.compile(
    r"""
    (?P<space> \s+ )
    | (?P<no> -(?=["@A-Za-z0-9_>]|[^\s:]) )?
      (?: "(?P<quoted> [^"]* )"
        | (?P<matchup> (?P<won> [A-Za-z][A-Za-z0-9]* )? > (?P<lost> [A-Za-z][A-Za-z0-9]* )? )
        | (?P<key> [A-Za-z0-9_]+ ) : (?P<value> "[^"]*" | \S* )
        | (?P<me> (?ai:@me) (?![A-Za-z0-9_]) )
        | (?P<word> [^\s:]+ )
      )
    """,
    re.VERBOSE,
)
_LENGTH = re.compile(r"(?=[0-9])(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)f)?")
_LENGTH_UNITS = (216_000, 3600, 60, 1)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_SIGN = re.compile(r"(>=|<=|>|<|)(.*)", re.DOTALL)
_MAX_NUMBER = (1 << 62) - 1
"""The integers of SQLite end a little above this."""
_MAX_LENGTH_CHARACTERS = 100
"""How many digits a length can have. Python refuses to read numbers with thousands of digits."""
MAX_VALUES = 64
"""How many values a filter can have. Each of them costs a test of every game."""
_UNTIMED = (Has(term(PLACE, "home-run_contest")), Has(f"\n{PLACE}target_test_("))
"""Home-Run Contest and Target Test. Their games pass any filter by length."""
_ME = "@me"
_DAY_MS = 86_400_000
_Chosen = TypeVar("_Chosen")


class Context(NamedTuple):
    """Everything that the meaning of a query depends on, except for its text."""

    me: Sequence[str] = ()
    """The connect codes that `@me` stands for."""
    zone: tzinfo | None = None
    """The time zone of dates. `None` stands for the zone of this machine."""


_NO_CONTEXT = Context()


class Query(NamedTuple):
    """A parsed query. Its condition leaves out the filters that contain mistakes."""

    condition: Condition
    problems: Sequence[QueryProblem]


class _Value(NamedTuple):
    text: str
    position: int
    quoted: bool


class _Bounds(NamedTuple):
    """The bounds of lengths or dates. `low` and `high` are included, and `before` is excluded."""

    low: int | None = None
    before: int | None = None
    high: int | None = None

    def replaced_by(self, later: _Bounds) -> _Bounds:
        """Return these bounds, updated by the later ones."""
        return _Bounds(*(old if new is None else new for old, new in zip(self, later, strict=True)))


class _Wrong(Exception):
    """A key doesn't accept a value."""

    def __init__(self, message: str, value: _Value) -> None:
        super().__init__(message)
        self.value = value


def parse(text: str, context: Context = _NO_CONTEXT) -> Query:
    """Parse a query. This never fails. You can find mistakes in `problems`, and the other filters still apply."""
    return _Parser(context).parse(text)


class _Parser:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._problems: list[QueryProblem] = []
        self._all: list[Condition] = []
        self._words: list[str] = []
        self._stages: list[Condition] = []
        self._bounds: dict[tuple[str, bool], _Bounds] = {}
        """The bounds of lengths and dates, by their key and whether they are negated."""
        self._kinds: dict[tuple[frozenset[int], bool], Condition] = {}
        """The filters of `is`, by their flags and whether they are negated. The last one counts."""

    def parse(self, text: str) -> Query:
        position = 0
        while position < len(text):
            token = _TOKENS.match(text, position)
            if token is None:  # a character without a meaning, such as a lone colon
                position += 1
                continue
            position = token.end()
            if token["space"] is None:
                try:
                    self._take(token)
                except _Wrong as wrong:
                    where = wrong.value
                    self._problem(INVALID_VALUE, str(wrong), where.position, len(where.text) + 2 * where.quoted)
        parts = [*self._all, *self._kinds.values()]
        parts += [_bounded(key, bounds, negated=negated) for (key, negated), bounds in self._bounds.items()]
        if self._stages:
            parts.append(any_of(self._stages))
        sought = " ".join(self._words)
        if sought:
            parts.append(Says(sought))
        return Query(
            AllOf(tuple(dict.fromkeys(parts))), tuple(sorted(self._problems, key=lambda problem: problem.position))
        )

    def _problem(self, kind: str, message: str, position: int, length: int) -> None:
        self._problems.append(QueryProblem(kind, message, position, length))

    def _take(self, token: re.Match[str]) -> None:
        negated = token["no"] is not None
        said = token["quoted"] if token["quoted"] is not None else token["word"]
        if said is not None:
            if said and negated:
                self._add(Says(fold(said)), negated=True)
            elif said:
                self._words.append(fold(said))
        elif token["me"] is not None:
            self._add(self._me(_Value(_ME, token.start("me"), False)), negated=negated)
        elif token["matchup"] is not None:
            self._take_matchup(token, negated=negated)
        else:
            self._take_filter(token, negated=negated)

    def _add(self, condition: Condition, *, negated: bool) -> None:
        self._all.append(Not(condition) if negated else condition)

    def _take_matchup(self, token: re.Match[str], *, negated: bool) -> None:
        sides = [
            _character(_Value(token[name], token.start(name), False), role)
            for name, role in (("won", WON), ("lost", LOST))
            if token[name] is not None
        ]
        if sides:
            self._add(AllOf(tuple(sides)), negated=negated)

    def _take_filter(self, token: re.Match[str], *, negated: bool) -> None:
        key, value, position = token["key"].lower(), token["value"], token.start("value")
        key = ALIASES.get(key, key)
        if key not in KEYS:
            known = ", ".join(KEYS)
            self._problem(
                INVALID_KEY, f"there is no key {token['key']}; the keys are {known}", token.start("key"), len(key)
            )
            return
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        by_text: dict[str, _Value] = {}
        for each in [_Value(value[1:-1], position, True)] if quoted else _split(value, position, key):
            if each.text:
                by_text.setdefault(each.text, each)
        values = list(by_text.values())
        if not values:
            return
        if len(values) > MAX_VALUES:
            raise _Wrong(f"a filter has at most {MAX_VALUES} values", values[MAX_VALUES])
        if key in _BOUNDED:
            bounds = _BOUNDED[key](self, values[0])
            self._bounds[key, negated] = self._bounds.get((key, negated), bounds).replaced_by(bounds)
            return
        condition = any_of([_CONDITIONS[key](self, each) for each in values])
        if key == "is":
            flags = frozenset(_KINDS[each.text.lower()].flag for each in values)
            self._kinds[flags, negated] = Not(condition) if negated else condition
        elif key == "stage" and not negated:
            self._stages.append(condition)
        else:
            self._add(condition, negated=negated)

    def _me(self, value: _Value, role: str = "") -> Condition:
        if not self._context.me:
            raise _Wrong("@me needs your connect codes, in `me` of the section [search]", value)
        return any_of([Has(term(CODE, code, role)) for code in self._context.me])

    def character(self, value: _Value) -> Condition:
        return _character(value)

    def stage(self, value: _Value) -> Condition:
        return _named(PLACE, "stage", value)

    def duration(self, value: _Value) -> _Bounds:
        low, separator, high = value.text.partition("..")
        if separator:
            return _Bounds(low=_frames(low, value), high=_frames(high, value))
        sign, number = _signed(value)
        frames = _frames(number, value)
        return _Bounds(high=frames) if sign.startswith("<") else _Bounds(low=frames)

    def date(self, value: _Value) -> _Bounds:
        first, separator, last = value.text.partition("..")
        if separator:
            return _Bounds(low=self._span(first, value)[0], before=self._span(last, value)[1])
        sign, day = _signed(value)
        begin, end = self._span(day, value)
        if sign.startswith(">"):
            return _Bounds(low=begin)
        if sign.startswith("<"):
            return _Bounds(high=begin) if sign == "<=" else _Bounds(before=begin)
        return _Bounds(low=begin, before=end)

    def _span(self, text: str, value: _Value) -> tuple[int, int]:
        """Return when a year, month or day begins and when the next one begins, in Unix milliseconds."""
        found = _DATE.fullmatch(text)
        try:
            if found is None:
                raise ValueError
            year, month, day = (None if part is None else int(part) for part in found.groups())
            first = date(year or 0, month or 1, day or 1)
            if day is not None:
                after = first.toordinal() + 1
            elif month is None or month == 12:
                after = first.replace(month=12, day=31).toordinal() + 1
            else:
                after = first.replace(month=month + 1).toordinal()
            return self._midnight_ms(first.toordinal()), self._midnight_ms(after)
        except (ValueError, OverflowError, OSError):
            raise _Wrong("expected a year, month or day, like 2024-03 or >=2024-03-01", value) from None

    def _midnight_ms(self, day: int) -> int:
        """Return when a day begins, in Unix milliseconds.

        `day` is its ordinal, and can be as late as the day after `date.max`.
        """
        known = min(day, date.max.toordinal())
        begin = datetime.fromordinal(known).replace(tzinfo=self._context.zone)
        return round(1000 * begin.timestamp()) + (day - known) * _DAY_MS

    def kind(self, value: _Value) -> Condition:
        kind = _one_of(_KINDS, value)
        return Flagged(kind.flag) if kind.is_set else Not(Flagged(kind.flag))

    def ending(self, value: _Value) -> Condition:
        return _one_of(_ENDINGS, value)

    def winner(self, value: _Value) -> Condition:
        return self._player(value, WON)

    def loser(self, value: _Value) -> Condition:
        return self._player(value, LOST)

    def _player(self, value: _Value, role: str) -> Condition:
        if value.text.lower() == _ME and not value.quoted:
            return self._me(value, role)
        if "#" in value.text:
            return Has(term(CODE, value.text, role))
        return Says(fold(value.text), "won" if role == WON else "lost", value.quoted)

    def code(self, value: _Value) -> Condition:
        return self._me(value) if value.text.lower() == _ME else Has(term(CODE, value.text))

    def tag(self, value: _Value) -> Condition:
        return Says(fold(value.text), "names")

    def station(self, value: _Value) -> Condition:
        return Has(term(STATION, value.text))

    def format(self, value: _Value) -> Condition:
        return Has(term(FORMAT, value.text.lower()))


class _Kind(NamedTuple):
    """A value of `is`. It consists of a flag, and of whether the games have this flag."""

    flag: int
    is_set: bool


_KINDS: Mapping[str, _Kind] = {
    "ranked": _Kind(RANKED, True),
    "unranked": _Kind(RANKED, False),
    "singles": _Kind(TEAMS, False),
    "doubles": _Kind(TEAMS, True),
    "teams": _Kind(TEAMS, True),
}
_ENDINGS: Mapping[str, Condition] = {
    "finished": Flagged(FINISHED),
    "time": Flagged(TIMED_OUT),
    "quit": Flagged(QUIT),
}
_BOUNDED: Mapping[str, Callable[[_Parser, _Value], _Bounds]] = {"duration": _Parser.duration, "date": _Parser.date}
"""The keys that only take one value. A comma in this value is a mistake."""
_CONDITIONS: Mapping[str, Callable[[_Parser, _Value], Condition]] = {
    "char": _Parser.character,
    "stage": _Parser.stage,
    "is": _Parser.kind,
    "winner": _Parser.winner,
    "loser": _Parser.loser,
    "code": _Parser.code,
    "tag": _Parser.tag,
    "station": _Parser.station,
    "format": _Parser.format,
    "end": _Parser.ending,
}
KEYS = ("char", "stage", "duration", "date", "is", "winner", "loser", "code", "tag", "station", "format", "end")
ALIASES = {"character": "char", "length": "duration", "name": "tag"}
CHOICES: Mapping[str, tuple[str, ...]] = {"is": tuple(_KINDS), "end": tuple(_ENDINGS)}
"""The values of those keys that only have a few."""


def _split(text: str, position: int, key: str) -> list[_Value]:
    if key in _BOUNDED:
        return [_Value(text, position, False)]
    values = []
    for part in text.split(","):
        values.append(_Value(part, position, False))
        position += len(part) + 1
    return values


def _character(value: _Value, role: str = "") -> Condition:
    return _named(PLAYS, "character", value, role)


def _named(kind: str, thing: str, value: _Value, role: str = "") -> Condition:
    """Return the condition that a game has the thing that a value names.

    In quotes, a comma is either part of a name or separates names.
    """
    found = [condition_of(kind, value.text, role, exact=value.quoted)]
    if found == [None] and value.quoted:
        found = [condition_of(kind, name, role, exact=True) for name in dict.fromkeys(value.text.split(","))]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        raise _Wrong(f"there is no {thing} {value.text}", value)
    return any_of(parts)


def _one_of(choices: Mapping[str, _Chosen], value: _Value) -> _Chosen:
    found = choices.get(value.text.lower())
    if found is None:
        raise _Wrong(f"expected one of {', '.join(choices)}", value)
    return found


def _signed(value: _Value) -> tuple[str, str]:
    found = _SIGN.fullmatch(value.text)
    return ("", value.text) if found is None else (found[1], found[2])


def _frames(text: str, value: _Value) -> int:
    found = _LENGTH.fullmatch(text.lower()) if len(text) <= _MAX_LENGTH_CHARACTERS else None
    if found is None:
        raise _Wrong("expected a length with units, like 90s, >2m30s or 1m..3m", value)
    total = sum((Fraction(part) * unit for part, unit in zip(found.groups(), _LENGTH_UNITS, strict=True) if part))
    return min(int(total), _MAX_NUMBER)


def _bounded(key: str, bounds: _Bounds, *, negated: bool) -> Condition:
    """Return the condition that a length or date is within bounds, or outside of them. Unknown values fulfil both."""
    column: Literal["frames", "began_ms"] = "frames" if key == "duration" else "began_ms"
    low, before, high = bounds
    if before is not None:
        high = before - 1 if high is None else min(high, before - 1)
    allowed: list[Condition] = [Between(column, low, high)]
    if negated:
        allowed = [] if low is None else [Between(column, None, low - 1)]
        allowed += [] if high is None else [Between(column, high + 1)]
    return any_of([*allowed, *_UNTIMED] if key == "duration" else allowed)
