"""Turns conditions into SQL over the table `search` of the index."""

from __future__ import annotations

from typing import Any

from slpstream.model.game_facts import LOST_BEGIN, NAMES_BEGIN, WON_BEGIN
from slpstream.parts.find.queries.conditions import AllOf, AnyOf, Between, Condition, Flagged, Has, Not, Says, Scope
from slpstream.parts.find.queries.known import Known, needed_lines, simplified

_TABLE = "s"
_COSTS: dict[type, int] = {Flagged: 0, Between: 0, Has: 1, Says: 2}
"""The order in which parts are checked, with the cheapest first."""
_MAX_COST = 3
_WORDS: dict[Scope, str] = {
    "all": f"{_TABLE}.words",
    "names": f"substr({_TABLE}.words, instr({_TABLE}.words, '{NAMES_BEGIN}'))",
    # The length of a missing part would be negative or 0, but all parts are always present.
    "lost": f"substr({_TABLE}.words, instr({_TABLE}.words, '{LOST_BEGIN}'),"
    f" instr({_TABLE}.words, '{WON_BEGIN}') - instr({_TABLE}.words, '{LOST_BEGIN}'))",
    "won": f"substr({_TABLE}.words, instr({_TABLE}.words, '{WON_BEGIN}'))",
}


def to_sql(condition: Condition, known: Known) -> tuple[str, list[Any], frozenset[str] | None]:
    """Return the condition as an SQL expression over the table alias `s`, which is never NULL, and its values.

    The third item contains codes and names. Each game that fulfils the condition has at least one of them. It is `None`
    if they aren't known.
    """
    condition = simplified(condition, known)
    values: list[Any] = []
    return _sql(condition, values), values, needed_lines(condition, known)


def _sql(condition: Condition, values: list[Any]) -> str:
    match condition:
        case Has(term):
            values.append(term)
            return f"instr({_TABLE}.terms, ?) > 0"
        case Says(text, scope, whole):
            # Hardly any game has the text anywhere, and finding its scope takes longer.
            values.append(text)
            anywhere = f"instr({_TABLE}.words, ?) > 0"
            if scope == "all" and not whole:
                return anywhere
            values.append(f"\n{text}\n" if whole else text)
            return f"({anywhere} AND instr({_WORDS[scope]}, ?) > 0)"
        case Between(column, low, high):
            bounds = []
            for comparison, bound in ((">=", low), ("<=", high)):
                if bound is not None:
                    bounds.append(f"{_TABLE}.{column} {comparison} ?")
                    values.append(bound)
            return f"({_TABLE}.{column} IS NULL OR ({' AND '.join(bounds) or 'TRUE'}))"
        case Flagged(flags):
            values.append(flags)
            return f"({_TABLE}.flags & ?) != 0"
        case Not(part):
            return f"NOT ({_sql(part, values)})"
        case AllOf(parts):
            ordered = sorted(parts, key=lambda part: _COSTS.get(type(part), _MAX_COST))
            return f"({' AND '.join([_sql(part, values) for part in ordered]) or 'TRUE'})"
        case AnyOf(parts):
            return f"({' OR '.join([_sql(part, values) for part in parts]) or 'FALSE'})"
