"""Simplifies a condition with the help of the terms and lines of all games in the index."""

from __future__ import annotations

from typing import Protocol

from slpstream.model.game_facts import CODE, fold
from slpstream.parts.find.queries.conditions import AllOf, AnyOf, Condition, Has, Not, Says

_NO_GAME, _EVERY_GAME = AnyOf(()), AllOf(())
_MOST_LINES = 32
"""How many codes and names may contain a text. If there are more of them, we search the games for the text instead."""


class Known(Protocol):
    """The terms and lines that any game has or used to have, in the form in which `slpstream.store.KnownFacts` returns
    them.
    """

    def has_term(self, beginning: str) -> bool:
        """Whether there is a term with this beginning."""

    def is_in_file_names(self, text: str) -> bool:
        """Whether a file name may contain this text."""

    def player_lines(self, text: str, limit: int) -> list[str]:
        """Return those codes and names of players that contain the text. There are at most `limit` of them."""


def simplified(condition: Condition, known: Known) -> Condition:
    """Return the condition without those parts that no game fulfils."""
    match condition:
        case Has(term):
            return condition if known.has_term(term) else _NO_GAME
        case Says(text, scope):
            exists = known.player_lines(text, 1) or (scope == "all" and known.is_in_file_names(text))
            return condition if exists else _NO_GAME
        case Not(part):
            return _opposite(simplified(part, known))
        case AllOf(parts):
            return _all_of([simplified(part, known) for part in parts])
        case AnyOf(parts):
            return _any_of([simplified(part, known) for part in parts])
    return condition


def _is_no_game(condition: Condition) -> bool:
    return isinstance(condition, AnyOf) and not condition.parts


def _is_every_game(condition: Condition) -> bool:
    return isinstance(condition, AllOf) and not condition.parts


def _opposite(condition: Condition) -> Condition:
    if _is_no_game(condition):
        return _EVERY_GAME
    return _NO_GAME if _is_every_game(condition) else Not(condition)


def _all_of(parts: list[Condition]) -> Condition:
    if any(map(_is_no_game, parts)):
        return _NO_GAME
    return AllOf(tuple(part for part in parts if not _is_every_game(part)))


def _any_of(parts: list[Condition]) -> Condition:
    if any(map(_is_every_game, parts)):
        return _EVERY_GAME
    return AnyOf(tuple(part for part in parts if not _is_no_game(part)))


def needed_lines(condition: Condition, known: Known) -> frozenset[str] | None:
    """Return codes and names of which each game that fulfils the condition has at least one, or `None` if they aren't
    known.
    """
    match condition:
        case Has(term):
            code, end, _ = term[2:].partition("\n")
            return frozenset({fold(code)}) if end and term.startswith(f"\n{CODE}") else None
        case Says(text, scope):
            if scope == "all" and known.is_in_file_names(text):
                return None
            found = known.player_lines(text, _MOST_LINES + 1)
            return frozenset(found) if len(found) <= _MOST_LINES else None
        case AllOf(parts):
            of_parts = [lines for part in parts if (lines := needed_lines(part, known)) is not None]
            return min(of_parts, key=len, default=None)
        case AnyOf(parts):
            all_lines: frozenset[str] = frozenset()
            for part in parts:
                lines = needed_lines(part, known)
                if lines is None:
                    return None
                all_lines |= lines
            return all_lines
    return None
