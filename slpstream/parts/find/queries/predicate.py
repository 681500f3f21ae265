"""Tests a single game against a condition."""

from __future__ import annotations

from slpstream.model.game_facts import LOST_BEGIN, NAMES_BEGIN, WON_BEGIN, GameFacts
from slpstream.parts.find.queries.conditions import AllOf, AnyOf, Between, Condition, Flagged, Has, Not, Says, Scope


def matches(condition: Condition, game: GameFacts) -> bool:
    """Whether the condition holds for a game."""
    match condition:
        case Has(term):
            return term in game.terms
        case Says(text, scope, whole):
            return (f"\n{text}\n" if whole else text) in _words(game.words, scope)
        case Between(column, low, high):
            number = game.frames if column == "frames" else game.began_ms
            return number is None or ((low is None or number >= low) and (high is None or number <= high))
        case Flagged(flags):
            return game.flags & flags != 0
        case Not(part):
            return not matches(part, game)
        case AllOf(parts):
            return all(matches(part, game) for part in parts)
        case AnyOf(parts):
            return any(matches(part, game) for part in parts)


def _words(words: str, scope: Scope) -> str:
    if scope == "all":
        return words
    if scope == "names":
        return words[words.index(NAMES_BEGIN) :]
    if scope == "lost":
        return words[words.index(LOST_BEGIN) : words.index(WON_BEGIN)]
    return words[words.index(WON_BEGIN) :]
