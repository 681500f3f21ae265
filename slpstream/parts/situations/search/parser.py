"""Parses queries for situations. You can find the grammar in `docs/data/situations.md`.

This is a recursive descent over the words of a query, with one word of lookahead. The words before the first colon name
the players.
"""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterable
from typing import NoReturn

from slpstream.formats.slippi.action_states import StateSet, states_called
from slpstream.model.query_problem import QueryProblem
from slpstream.parts.situations.search.query import (
    DEFAULT_WITHIN_FRAMES,
    FRAMES_PER_SECOND,
    About,
    AllOf,
    AnyOf,
    Bound,
    Condition,
    InStates,
    Name,
    Names,
    Not,
    Query,
    Starts,
    Step,
    Whose,
)
from slpstream.parts.situations.search.tokens import Token, tokens_of
from slpstream.parts.situations.search.vocabulary import key_of, names, starts, terms

MAX_STEPS = 16
MAX_DEPTH = 32
"""How deep parentheses and exclamation marks can be nested."""
MAX_HELD_FRAMES = 28_800
"""This is eight minutes, the length of a game."""
_NAME_KINDS = ("word", "code", "text")
_OPERATORS = ("<", "<=", ">", ">=")
_MEASURES = ("percent", "stocks", "x", "y", "frame", "time")
_WITH_PERCENT_SIGN = ("percent", "swing")


def parse(text: str) -> Query | QueryProblem:
    """Parse a query. Returns either the query, or the problem with its place."""
    found = tokens_of(text)
    if isinstance(found, QueryProblem):
        return found
    try:
        return _Parser(found).query()
    except _Invalid as error:
        return error.problem


@functools.lru_cache(maxsize=64)  # a command parses the same query for each replay
def parsed(text: str) -> Query:
    """Parse a query that should be valid. If it isn't, this raises `ValueError` with the place of the problem."""
    query = parse(text)
    if isinstance(query, QueryProblem):
        raise ValueError(described(query, text))
    return query


def described(problem: QueryProblem, text: str) -> str:
    """Return the problem in one line, with its place."""
    wrong = text[problem.position : problem.position + problem.length]
    place = f"at character {problem.position + 1}" + (f", {wrong!r}" if wrong else "")
    return f"{place}: {problem.message}"


def shown(problem: QueryProblem, text: str) -> str:
    """Return the problem in three lines, with its place marked below the query."""
    line = "".join(" " if character.isspace() else character for character in text)
    return f"{problem.message}\n  {line}\n  {' ' * problem.position}{'^' * max(1, problem.length)}"


class _Invalid(Exception):
    """Ends the parsing of an invalid query."""

    def __init__(self, problem: QueryProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Parser:
    """The words of one query, and how far we have read them."""

    def __init__(self, words: list[Token]) -> None:
        self._words = words
        self._next = 0
        self._depth = 0
        self._swing: tuple[Token, Bound] | None = None

    def query(self) -> Query:
        """Read the whole query."""
        player, opponent = self._who()
        steps = [self._step(first=True)]
        while self._takes("->"):
            if self._swing is not None:
                _fail(
                    self._swing[0], "unexpected", "`swing:` is about the whole situation; it belongs to the last step"
                )
            if len(steps) == MAX_STEPS:
                _fail(self._word, "too_many_steps", f"a situation has at most {MAX_STEPS} steps")
            steps.append(self._step(first=False))
        if self._word.kind != "end":
            self._fail_unexpected("`,`, `|` or `->`")
        return Query(player, opponent, tuple(steps), None if self._swing is None else self._swing[1])

    @property
    def _word(self) -> Token:
        return self._words[self._next]

    def _take(self) -> Token:
        word = self._word
        if word.kind != "end":
            self._next += 1
        return word

    def _takes(self, mark: str) -> bool:
        """Take a mark if it is the next word. Returns whether it was."""
        if self._word.kind == "mark" and self._word.value == mark:
            self._next += 1
            return True
        return False

    def _fail_unexpected(self, expected: str) -> NoReturn:
        word = self._word
        if word.kind == "end":
            _fail(word, "unexpected_end", f"the query ends here; expected {expected}")
        _fail(word, "unexpected", f"expected {expected}")

    def _who(self) -> tuple[Names, Names]:
        """Read the names of the player and of the opponent. These are the words before a colon, if there is one."""
        for word in self._words:
            if word.kind == "mark" and word.value == ":":
                break
            if word.kind not in _NAME_KINDS and (word.kind, word.value) != ("mark", "|"):
                return (), ()
        else:
            return (), ()
        player = self._names()
        opponent: Names = ()
        if self._word.kind == "word" and self._word.value == "vs":
            self._take()
            opponent = self._names()
        if not self._takes(":"):
            self._fail_unexpected("a character, a port, a code, a name in quotes, `|`, `vs` or `:`")
        return player, opponent

    def _names(self) -> Names:
        found: list[tuple[Name, ...]] = [self._all_names()]
        while self._takes("|"):
            found.append(self._all_names())
        return () if () in found else tuple(found)

    def _all_names(self) -> tuple[Name, ...]:
        """Read names that all have to match. For `any`, the result is empty."""
        found: list[Name] = []
        first = self._word
        is_any = False
        while self._word.kind in _NAME_KINDS and self._word.value != "vs":
            word = self._take()
            if word.kind == "code":
                found.append(Name(code=word.value.casefold()))
            elif word.kind == "text":
                if not word.value:
                    _fail(word, "empty_name", "the quotes are empty; `any` stands for all players")
                found.append(Name(text=word.value.casefold()))
            elif word.value == "any":
                is_any = True
            else:
                known = names().get(key_of(word.value))
                if known is None:
                    _fail(word, "unknown_name", f"there is no such character or port{_similar(word, names())}")
                found.append(known)
        if not found and not is_any:
            self._next = self._words.index(first)
            self._fail_unexpected("a character, a port, a code or a name in quotes")
        return tuple(found)

    def _step(self, *, first: bool) -> Step:
        parts: list[Condition] = []
        held: int | None = None
        within: float | None = None
        begin = self._word
        while True:
            word = self._word
            if word.kind == "key" and word.value == "for":
                self._take()
                if held is not None:
                    _fail(word, "twice", "a step has one `for:`")
                held = round(min(self._duration(), MAX_HELD_FRAMES + 1))
                if not 1 <= held <= MAX_HELD_FRAMES:
                    _fail(self._words[self._next - 1], "bad_duration", f"expected 1 to {MAX_HELD_FRAMES} frames")
            elif word.kind == "key" and word.value == "within":
                self._take()
                if first:
                    _fail(word, "no_step_before", "the first step has none before it, so it has no `within:`")
                if within is not None:
                    _fail(word, "twice", "a step has one `within:`")
                within = self._limit()
            elif word.kind == "key" and word.value == "swing":
                self._take()
                if self._swing is not None:
                    _fail(word, "twice", "a situation has one `swing:`")
                self._swing = word, Bound("swing", *self._bounds("swing"))
            else:
                parts.append(self._condition())
            if not self._takes(","):
                break
        if not parts:
            _fail(begin, "no_condition", "the step has no condition")
        condition = parts[0] if len(parts) == 1 else AllOf(tuple(parts))
        return Step(condition, held or 1, DEFAULT_WITHIN_FRAMES if within is None else within)

    def _limit(self) -> float:
        """Read the time limit between the previous step and a step, in frames."""
        if self._word.kind == "word" and self._word.value == "any":
            self._take()
            return math.inf
        return self._duration()

    def _duration(self) -> float:
        """Read a duration, and return it in frames."""
        word = self._word
        if word.kind != "duration":
            self._fail_unexpected("a duration such as `60f` or `1.5s`")
        self._take()
        number = float(word.value[:-1])
        # 2.05 seconds are 123 frames, but 2.05 * 60 is a little less.
        return number if word.value.endswith("f") else round(number * FRAMES_PER_SECOND, 6)

    def _condition(self) -> Condition:
        """Read alternatives."""
        parts = [self._factor()]
        while self._takes("|"):
            parts.append(self._factor())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _factor(self) -> Condition:
        """Read a term, a negated term, or an expression in parentheses."""
        word = self._word
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _fail(word, "too_deep", f"more than {MAX_DEPTH} parentheses or exclamation marks within each other")
        found: Condition
        if self._takes("!"):
            found = Not(self._factor())
        elif self._takes("("):
            parts = [self._condition()]
            while self._takes(","):
                parts.append(self._condition())
            if not self._takes(")"):
                self._fail_unexpected("`,`, `|` or `)`")
            found = parts[0] if len(parts) == 1 else AllOf(tuple(parts))
        else:
            found = self._term()
        self._depth -= 1
        return found

    def _term(self) -> About:
        whose: Whose | None = None
        if self._word.kind == "subject":
            whose = "own" if self._take().value == "own" else "opponent"
        word = self._word
        if word.kind == "word":
            self._take()
            term = terms().get(key_of(word.value))
            if term is None:
                _fail(word, "unknown_word", f"there is no such move, state or place{_similar(word, terms())}")
            return About(whose or "own", term)
        if word.kind != "key":
            self._fail_unexpected("a move, a state, a place or a bound")
        self._take()
        if word.value in ("for", "within", "swing"):
            _fail(word, "unexpected", f"`{word.value}:` belongs to a whole step, after a comma")
        if word.value == "starts":
            return About(whose or "own", Starts(self._states(starts())))
        if word.value == "state":
            return About(whose or "own", InStates(self._states(None)))
        measure = next(name for name in _MEASURES if name == word.value)
        if whose is not None and measure in ("frame", "time"):
            _fail(word, "no_subject", f"`{measure}:` is about the game, not about a player")
        low, high, low_included, high_included = self._bounds(measure)
        # The relevant percent is nearly always that of the player who is hit.
        return About(
            whose or ("opponent" if measure == "percent" else "own"),
            Bound(measure, low, high, low_included, high_included),  # type: ignore[arg-type]
        )

    def _states(self, known: object) -> StateSet:
        word = self._word
        if word.kind != "word":
            self._fail_unexpected("a move" if known is not None else "the name or the number of an action state")
        self._take()
        if known is not None:
            found = starts().get(key_of(word.value))
            if found is None:
                _fail(word, "unknown_word", f"there is no such move to start{_similar(word, starts())}")
            return found
        if word.value.startswith("0x"):
            number = int(word.value, 16)
            if number > 0xFFFF:
                _fail(word, "unknown_word", "action states have numbers up to 0xffff")
            return state_numbered(number)
        states = states_called(rf"{word.value}(_\d+)?")
        if not states:
            _fail(word, "unknown_word", "no action state has this name")
        return states

    def _bounds(self, measure: str) -> tuple[float | None, float | None, bool, bool]:
        """Read the low and the high bound, and return them together with whether they are included."""
        if self._word.kind == "mark" and self._word.value in _OPERATORS:
            operator = self._take().value
            number = self._number(measure)
            included = operator.endswith("=")
            return (None, number, True, included) if operator[0] == "<" else (number, None, included, True)
        low = self._number(measure)
        if not self._takes(".."):
            return low, low, True, True
        begin = self._word
        high = self._number(measure)
        if high < low:
            _fail(begin, "empty_range", "the end of the range is below its beginning")
        return low, high, True, True

    def _number(self, measure: str) -> float:
        word = self._word
        if word.kind != "number" or (word.value.endswith("%") and measure not in _WITH_PERCENT_SIGN):
            self._fail_unexpected("a number")
        self._take()
        return float(word.value.rstrip("%"))


@functools.cache
def state_numbered(number: int) -> StateSet:
    """Return the state set that only contains the action state with this id, for any fighter."""
    return StateSet(frozenset({number}), {})


def _fail(word: Token, kind: str, message: str) -> NoReturn:
    raise _Invalid(word.problem(kind, message))


def _similar(word: Token, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(key_of(word.value), known, n=1)
    return f"; did you mean `{found[0]}`?" if found else ""
